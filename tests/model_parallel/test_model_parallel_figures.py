"""The pictures of lesson 11: they draw, say what they show, and wait politely for an answer that is not there yet."""

import runpy
from pathlib import Path

import pytest
import torch

from labs.kit.exercise import Question
from labs.model_parallel import exercises, figures, finetune, memory, networks, offers, plans, predictions, real

SCOPE: dict = {"__name__": "__main__"}  # as in a notebook, so that its functions travel by value
for name in ("IDLE", "PLACE", "STEP", "BYTES", "SERVE"):
    exec(runpy.run_path(str(Path(__file__).with_name("right_answers.py")))[name], SCOPE)
COSTS = memory.costs(networks.vision(), torch.rand(64, 64, dtype=torch.float64))


def stub(*arguments):
    raise NotImplementedError


def test_one_batch_shows_six_messages():
    picture = figures.one_batch()
    assert "6 messages arrived" in picture.alt
    assert "<svg" in picture.svg()
    assert figures.one_batch(SCOPE["train_step"], 3).alt.count("4 messages") == 1


def test_without_answers_the_figures_say_what_to_do(capsys):
    assert figures.one_batch(stub) is None
    assert figures.depth(stub) is None
    assert capsys.readouterr().out.count("Solve train_step first") == 2
    assert figures.explore_plans(stub, COSTS) is None
    assert "Solve place first" in capsys.readouterr().out
    assert "Solve serve_stream first" in figures.stream_table(stub)
    assert "your prediction" not in figures.early_and_late(stub).alt
    assert figures.measure(stub, torch.ones(4, 64).double(), torch.zeros(4).long(), sizes=(2,)) is None
    assert "Solve train_step first" in capsys.readouterr().out
    assert figures.table(None) == "Nothing was measured."


def test_a_broken_step_is_told(capsys):
    def broken(stage, optimiser, loss, images, labels, shape, dist):
        dist.recv(torch.zeros(1), src=(dist.get_rank() + 1) % dist.get_world_size())

    assert figures.one_batch(broken) is None
    assert "did not get to its end" in capsys.readouterr().out


def test_plans_say_what_does_not_fit():
    explorer = figures.explore_plans(SCOPE["place"], COSTS)
    assert "does not fit on device 2; fullest 17.9 MB of 12 MB" in explorer.picture.alt
    assert "Your place: 3, 2, 1, 2 layers, fits" in explorer.picture.alt
    assert "refuses: wide3 needs 4595712 bytes" in explorer.set(devices=3).alt
    for frame in explorer.frames:
        assert "<svg" in explorer.set(**frame).svg()


def test_a_plan_of_many_devices_is_drawn():
    picture = plans.plan_picture({"one each": [1] * 20}, [f"l{k}" for k in range(20)], [1] * 20, [1] * 20, [2] * 20)
    assert "<svg" in picture.svg()


def test_the_depth_explorer_draws_each_frame():
    explorer = figures.depth(SCOPE["train_step"])
    assert "your step: 48 ms at 1" in explorer.picture.alt
    assert "<svg" in explorer.picture.svg()


def test_the_idle_table_agrees_with_the_formula():
    rows = [line.split() for line in figures.idle_table(SCOPE["train_step"], SCOPE["idle"], (2, 4)).splitlines()[1:]]
    assert [row[1] for row in rows] == [row[2] for row in rows]
    assert [row[3] for row in rows] == ["50.00%", "75.00%"]


def test_the_offers():
    text = figures.compare(
        SCOPE["place"],
        SCOPE["idle"],
        {
            "one": (COSTS, [28], None),
            "equal": (COSTS, [12] * 4, offers.count_layers),
            "filled": (COSTS, [12] * 4, offers.filled_up),
            "yours": (COSTS, [12] * 4, None),
            "three": (COSTS, [12] * 3, None),
        },
    )
    _, one, equal, filled, yours, three = text.splitlines()
    assert "100%" in one
    assert "does not fit: device 2 would hold 17.9 MB" in equal
    assert "25%" in filled
    assert "25%" in yours
    assert int(filled.split()[-1]) < int(yours.split()[-1])
    assert "refused: wide3" in three


def test_early_and_late_shows_the_prediction():
    picture = figures.early_and_late(SCOPE["bytes_needed"], layers=4)
    counted, predicted = (
        part.split(": ")[1] for part in picture.alt.split(". ") if part.startswith(("the first k", "your prediction"))
    )
    assert counted.rstrip(".") == predicted.rstrip(".")


def test_stream_table_and_latencies():
    rows = [line.split() for line in figures.stream_table(SCOPE["serve_stream"]).splitlines()[1:]]
    assert [int(row[-1]) for row in rows] == [125, 244, 463, 843]
    assert "<svg" in figures.latency_picture({"even": [1e-3] * 4, "uneven": [2e-3, 1e-3, 0.5e-3, 0.5e-3]}, 4e-3).svg()


def test_predictions(monkeypatch, tmp_path):
    monkeypatch.setenv("LABS_STATE", str(tmp_path))
    assert predictions.adam_bytes() == 16
    figures.reveal(figures.predict_faster(), figures.predict_memory())


def test_fine_tuning_uses_what_was_learned_before():
    scratch, _ = finetune.fine_tune("from scratch", 20)
    head, kept = finetune.fine_tune("only the head", 20)
    _, all_kept = finetune.fine_tune("all layers", 20)
    assert finetune.pre_trained()[1] > 0.9
    assert head > scratch
    assert kept < 0.2 * all_kept


def test_measuring_and_torchs_own_stages():
    from labs.data_parallel import digits
    from labs.kit import ranks
    from labs.model_parallel import proof, stages

    images, labels = digits.training()
    seconds = figures.measure(SCOPE["train_step"], images[:8], labels[:8], sizes=(1, 2), repeats=2)
    assert set(seconds) == {1, 2}
    assert "times as fast as one" in figures.table(seconds)
    run = ranks.run(real.torchs_step, 2, args=(["wide1"], images[:8], labels[:8], 0.1), on="gloo", check=False)
    one = stages.alone(networks.vision(), images, labels, [range(8)], proof.mean_loss)
    theirs = torch.cat([result["weights"] for result in run.results])
    assert (theirs - one["weights"]).abs().max() < 1e-12
    assert run.results[1]["names"] == ["head", "wide1", "wide2", "wide3"]


@pytest.mark.parametrize("name", [name for name, value in vars(exercises).items() if isinstance(value, Question)])
def test_questions_of_lesson_11_explain_every_choice(name, capsys):
    question = getattr(exercises, name)
    for letter in question.choices:
        question(letter)
        assert question.why[letter] in capsys.readouterr().out
