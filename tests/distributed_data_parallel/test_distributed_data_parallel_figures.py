"""The pictures of lesson 10: they draw, say what they show, and wait politely for an answer that is not there yet."""

import runpy
from pathlib import Path

import pytest

from labs.distributed_data_parallel import exercises, figures, lanes, predictions, real, serving
from labs.kit.exercise import Question

SCOPE: dict = {"__name__": "__main__"}  # as in a notebook, so that its class travels by value
for name in ("DDP", "SERVE"):
    exec(runpy.run_path(str(Path(__file__).with_name("right_answers.py")))[name], SCOPE)
DDP, serve = SCOPE["DDP"], SCOPE["serve"]


def stub(*arguments):
    raise NotImplementedError


class Stub(DDP):
    def ready(self, index):
        raise NotImplementedError()


def test_overlap_shows_both_runs():
    picture = figures.overlap(DDP)
    assert "Averaged after backward: done after 1.74 ms; 6 all-reduces take 540 µs, of which 0 s" in picture.alt
    assert "Your DDP: done after 1.29 ms; 6 all-reduces take 540 µs, of which 450 µs" in picture.alt
    assert "<svg" in picture.svg()


@pytest.mark.parametrize("answer", [stub, Stub])
def test_without_a_ddp_the_figures_say_so(answer, capsys):
    for show in (figures.overlap, figures.bucket_size, figures.measure, figures.profile):
        assert show(answer) is None
        assert "Solve assign_buckets and DDP first" in capsys.readouterr().out


def test_bucket_size_marks_the_best():
    picture = figures.bucket_size(DDP).picture
    assert "Marked: best: 200 kB" in picture.alt
    assert "<svg" in picture.svg()


def test_every_frame_of_the_explorers_can_be_set():
    for explorer in (figures.bucket_size(DDP), figures.serving(serve)):
        for frame in explorer.frames:
            assert "<svg" in explorer.set(**frame).svg()


def test_lanes_count_what_is_hidden():
    assert lanes.hidden([(0, 2), (3, 4)], [(1, 3.5)]) == pytest.approx(1.5)
    assert lanes.hidden([], [(0, 1)]) == 0
    assert "<svg" in lanes.lanes({"nothing": ([], [])}, "Empty").svg()


def test_predicted_each_is_the_formula_by_hand():
    each, together = predictions.each_and_together()
    assert each == pytest.approx(150 * (126 * 5e-6 + 126 / 64 * 4e5 / 50e9))
    assert together == pytest.approx(126 * 5e-6 + 126 / 64 * 6e7 / 50e9)
    assert 31 < each / together < 33


def test_serving_says_when_there_is_nothing_to_serve(capsys):
    assert figures.serving(stub) is None
    assert "Solve serve first" in capsys.readouterr().out


def test_batches_lower_the_latency_under_load_and_not_otherwise():
    def worst(rate, most):
        return max(serving.latencies(serve, rate, 2, most))

    assert worst(1600, 16) < worst(1600, 1) / 10
    assert worst(10, 16) == pytest.approx(worst(10, 1), rel=0.5)


def test_a_measurement_counts_the_slowest_rank(monkeypatch):
    from types import SimpleNamespace

    from labs.kit import ranks

    results = [{"yours": [1.0, 5.0], "PyTorch's": [2.0, 2.0]}, {"yours": [3.0, 1.0], "PyTorch's": [1.0, 4.0]}]
    real_run = ranks.run

    def run(program, *arguments, **options):
        return SimpleNamespace(results=results) if program is real.timed else real_run(program, *arguments, **options)

    monkeypatch.setattr(ranks, "run", run)
    found = figures.measure(DDP, sizes=(2,))
    assert found == {2: {"yours": [3.0, 5.0], "PyTorch's": [2.0, 4.0]}}
    assert "ratio 1.33" in figures.table(found)
    assert figures.table(None) == "Nothing was measured."


def test_the_profile_finds_layers_and_collectives_of_both():
    picture = figures.profile(DDP, width=32, layers=3)
    assert "PyTorch's DDP: done after" in picture.alt and "Your DDP: done after" in picture.alt
    assert "0 all-reduces" not in picture.alt


def test_workers_are_watched_as_threads_and_as_processes():
    found = figures.workers(seconds=0.02)
    assert list(found) == ["one worker", "two threads", "two processes"]
    assert all(steps > 0 for steps in found.values())


def test_questions_explain_every_choice():
    questions = [value for value in vars(exercises).values() if isinstance(value, Question)]
    assert len(questions) == 4
    for question in questions:
        assert set(question.why) == set(question.choices) and question.right in question.choices
