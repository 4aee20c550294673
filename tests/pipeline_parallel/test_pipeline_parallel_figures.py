"""The pictures of lesson 12: they draw, say what they show, count rightly, and wait politely for missing answers."""

import runpy
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from labs.kit.exercise import Question
from labs.pipeline_parallel import bugs, calculator_picture, exercises, figures, predictions, real
from labs.pipeline_parallel.actions import schedule_from
from labs.pipeline_parallel.boxes import boxes_of, held, idle_share, most_held
from labs.pipeline_parallel.durations import Durations
from labs.pipeline_parallel.exercises_choose import best, cases, table
from labs.pipeline_parallel.interleaving import interleaved
from labs.pipeline_parallel.schedules import gpipe, one_f_one_b
from labs.pipeline_parallel.simulation import simulate
from labs.pipeline_parallel.zero_bubble import zb_h1

SCOPE: dict = {"__name__": "__main__"}  # as in a notebook, so that its functions travel by value
for name in ("GPIPE", "ONE_F_ONE_B", "CHOOSE"):
    exec(runpy.run_path(str(Path(__file__).with_name("right_answers.py")))[name], SCOPE)

STUCK = [
    [("F", 0), ("B", 0), ("F", 1), ("B", 1)],
    [("F", 0), ("F", 1), ("B", 0), ("B", 1)],
]


def stub(*arguments):
    raise NotImplementedError


@pytest.mark.parametrize("plan", [gpipe(4, 6), one_f_one_b(4, 6), interleaved(2, 3, 6), zb_h1(4, 5)])
def test_a_picture_counts_as_the_simulation_does(plan):
    run, ranks = simulate(plan), len(plan)
    boxes = boxes_of(run.spans)
    assert idle_share(boxes, ranks) == pytest.approx(run.share)
    assert [most_held(boxes, rank) for rank in range(ranks)] == list(run.peaks)
    for rank in range(ranks):
        for at in (0.5, run.makespan / 2 + 0.25, run.makespan - 0.25):
            live = [count for time, count in run.live(rank) if time <= at][-1]
            assert len(held(boxes, rank, at)) == live


def test_the_unsplit_batch_idles_three_quarters():
    assert "done after 12, 75% idle" in figures.unsplit().alt


def test_compare_shows_the_same_end_and_less_memory():
    picture = figures.compare({"GPipe": SCOPE["gpipe"], "1F1B": SCOPE["one_f_one_b"]})
    assert picture.alt.count("done after 33, 27% idle") == 2  # once for each
    assert "by rank: 8, 8, 8, 8" in picture.alt and "by rank: 4, 3, 2, 1" in picture.alt
    assert "<svg" in picture.svg()


def test_the_player_steps_through_and_says_who_idles():
    player = figures.play(SCOPE["gpipe"])
    assert len(player.frames) <= 12
    assert player.captions[0].startswith("Up to time 1: rank 0 forward 0. Idle: 1, 2, 3.")
    assert "Idle: 1, 2, 3" in player.captions[-1]
    assert player.captions[-1].endswith("rank 0 0, rank 1 0, rank 2 0, rank 3 0.")


def test_a_stuck_schedule_is_drawn_with_what_is_never_reached():
    picture = figures.show(STUCK)
    assert "stuck: ranks 0, 1 wait for ever" in picture.alt
    assert picture.alt.endswith("In red: B0 of rank 0, F1 of rank 1.")
    assert "<svg" in picture.svg()
    assert simulate(schedule_from(STUCK)).stuck == {0: 1, 1: 1}


def test_without_answers_the_figures_say_so(capsys):
    for show, solve in (
        (lambda: figures.play(stub), "Solve stub first"),
        (lambda: figures.compare({"GPipe": stub}), "Solve stub first"),
        (lambda: figures.plan(stub), "Solve choose_m first"),
        (lambda: figures.measure(stub), "Solve stub first"),
        (lambda: figures.schedule_of(lambda rank, *_: STUCK[rank], 2, 2, solve="gpipe"), "Solve gpipe first"),
    ):
        assert show() is None
        assert solve in capsys.readouterr().out
    assert figures.measured(None) is None and figures.real_step(None) is None
    assert figures.table(None) == "Nothing was measured."


def test_thin_stages_divide_the_bubble():
    alt = figures.thin_stages().alt
    assert "1 stage on each rank: 43% idle" in alt
    assert "2 stages on each rank: 27% idle" in alt
    assert "4 stages on each rank: 16% idle" in alt


def test_the_picture_to_read_holds_the_answer_for_those_who_hear_it():
    alt = figures.to_read().alt
    assert "20% idle" in alt
    assert "Rank 3: F0 I0 F1 I1 F2 I2 F3 I3 W0 W1 W2 W3." in alt


@pytest.mark.parametrize(("p", "m", "v"), [(2, 1, 2), (4, 4, 2), (4, 8, 4), (8, 32, 3), (5, 3, 2), (16, 64, 8)])
def test_the_calculators_formulas_agree_with_its_simulation(p, m, v):
    for row in calculator_picture.rows(p, m, v):
        if row.formula is not None:
            assert row.simulated == pytest.approx(row.formula, rel=1e-9), row.title
    by_title = {row.title: row.nbytes / calculator_picture.BATCH_BYTES for row in calculator_picture.rows(p, m, v)}
    assert by_title["GPipe"] == 1
    assert by_title["1F1B"] == by_title["zero bubble (ZB-H1)"] == min(p, m) / m


def test_every_frame_of_the_explorers_can_be_set():
    for explorer in (figures.calculator(), figures.plan(SCOPE["choose_m"])):
        for frame in explorer.frames:
            assert "<svg" in explorer.set(**frame).svg()
    assert "1F1B: 27.3% idle (formula 27.3%), 16 GB, fits" in figures.calculator().set(micro_batches=8).alt


def test_the_plan_marks_the_learners_choice():
    assert "Marked: best at 37. Marked: yours at 37" in figures.plan(SCOPE["choose_m"]).picture.alt


@pytest.mark.parametrize("case", [case for seed in (1, 2) for case in cases(seed)], ids=lambda case: case.title)
def test_the_exercise_on_m_agrees_with_simulated_schedules(case):
    inputs = case.inputs
    for m, size, nbytes, time in table(inputs)[:12]:
        forward = inputs["fixed"] + size * inputs["each"]
        run = simulate(one_f_one_b(inputs["stages"], m), Durations.of(forward, 2 * forward))
        assert run.makespan == pytest.approx(time)
        assert max(run.peaks) * size * inputs["sample_bytes"] == nbytes
    answer = best(inputs)
    assert answer is None or 1 <= answer <= inputs["samples"]


def test_predictions_compare_with_the_formula():
    guess = predictions.predict_idle()
    guess._value = 43.0
    assert "it is 42.86 %" in guess.compare(100 * 3 / 7)
    assert predictions.predict_after_1f1b().name == "pipeline_parallel.after_1f1b"


@pytest.mark.parametrize("micro_batches", [1, 2, 8])
def test_the_right_sum_is_the_gradient_of_the_whole_batch_and_the_bugs_are_not(micro_batches):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(5, 7), torch.nn.Tanh(), torch.nn.Linear(7, 3)).double()
    inputs, targets = torch.randn(16, 5, dtype=torch.float64), torch.randint(3, (16,))
    torch.nn.functional.cross_entropy(model(inputs), targets).backward()
    wanted = [parameter.grad.clone() for parameter in model.parameters()]
    length = bugs.norm(model)
    for variant in bugs.VARIANTS:
        logged = bugs.step(variant, model, inputs, targets, micro_batches)
        close = all(torch.allclose(p.grad, w, rtol=1e-12, atol=1e-14) for p, w in zip(model.parameters(), wanted))
        assert close == (variant == "right" or micro_batches == 1), variant
        assert logged == pytest.approx(torch.nn.functional.cross_entropy(model(inputs), targets).item())
        if variant == "summed":
            assert bugs.norm(model) == pytest.approx(micro_batches * length)


def test_adam_hides_the_sum():
    losses = {variant: bugs.train(variant, torch.optim.Adam, steps=6)[0][-1] for variant in ("right", "summed")}
    assert losses["summed"] == pytest.approx(losses["right"], rel=0.01)


def test_a_measurement_counts_the_slowest_rank(monkeypatch):
    from labs.kit.ranks import timing

    spans = [[(1.0 + k, 1.5 + k) for k in range(2 * real.SHOWN)]] * 2
    results = [({1: [4.0, 2.0], 8: [1.0, 1.0]}, spans[0]), ({1: [3.0, 3.0], 8: [1.5, 0.5]}, spans[1])]
    monkeypatch.setattr(timing, "measure", lambda *_, **__: SimpleNamespace(results=results))
    found = figures.measure(SCOPE["one_f_one_b"], stages=2)
    assert found["seconds"] == {1: [3.0, 4.0], 8: [1.0, 1.5]}
    assert "2.80 times as fast as m = 1; the bubble alone would give 1.78" in figures.table(found)
    assert "Measured: 48% idle" in figures.real_step(found).alt  # 16 half seconds of 15.5 s
    assert "bubble alone" in figures.measured(found).alt


def test_stages_that_sleep_follow_the_schedule_on_real_processes(monkeypatch):
    monkeypatch.setattr(real, "COUNTS", (1, 8))
    found = figures.measure(SCOPE["gpipe"], stages=2, repeats=1)
    assert set(found["seconds"]) == {1, 8}
    assert len(found["boxes"]) == 2 * 2 * real.SHOWN
    assert [most_held(found["boxes"], rank) for rank in (0, 1)] == [8, 8]
    assert found["seconds"][1][0] > 2 * 3 * real.PATIENCE * 0.99  # sleep never returns early


def test_questions_explain_every_choice():
    questions = [value for value in vars(exercises).values() if isinstance(value, Question)]
    assert len(questions) == 5
    for question in questions:
        assert set(question.why) == set(question.choices) and question.right in question.choices
