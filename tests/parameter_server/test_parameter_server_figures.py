"""The pictures, measurements and oracles of lesson 09, against values that are known otherwise."""

import itertools
import math
import runpy
from pathlib import Path

import numpy as np
import pytest

from labs.kit.exercise import Question
from labs.kit.hardware import costs
from labs.parameter_server import exercises, figures
from labs.parameter_server.exercises_best import fewest
from labs.parameter_server.exercises_bounded import ideal
from labs.parameter_server.exercises_shard import largest_first, loads_of, transformer
from labs.parameter_server.loads import bars
from labs.parameter_server.placement import how_many_servers_picture
from labs.parameter_server.races import asynchronous, race_picture, staleness_picture

RIGHT = runpy.run_path(str(Path(__file__).with_name("right_answers.py")))
SCOPE: dict = {}
exec(RIGHT["SYNCHRONOUS"] + RIGHT["SHARD"], SCOPE)
server, worker, shard_by_size = SCOPE["server"], SCOPE["worker"], SCOPE["shard_by_size"]


def unsolved(*args):
    raise NotImplementedError


# ---------------------------------------------------------------- pictures


def test_the_clock_and_the_formulas_are_in_one_picture():
    alt = how_many_servers_picture(4).alt
    assert "push, then pull: 8 S/B at 1" in alt
    assert "all-reduce: 1.5 S/B at 0" in alt
    assert "on the virtual clock: 8 S/B at 1" in alt


def test_with_equally_quick_workers_a_bound_of_3_changes_nothing():
    alt = race_picture(1.0, 4.0).alt
    bounded, free = (alt.split(f"{name}: ")[1].split(". ")[0].rstrip(".") for name in ("bound 3", "asynchronous"))
    assert bounded == free
    assert "in step" in alt


def test_stale_gradients_do_no_harm_in_small_steps_and_much_in_large_ones():
    fresh, stale = (asynchronous(workers, 0.0625).losses[-1] for workers in (1, 16))
    assert stale == pytest.approx(fresh, rel=0.1)
    fresh, stale = (max(asynchronous(workers, 1.0).losses) for workers in (1, 16))
    assert stale > 5 * fresh
    assert "16 workers: 14.8 stale" in staleness_picture(1.0).alt


@pytest.mark.parametrize("explorer", [figures.how_many_servers, figures.race, figures.staleness])
def test_explorers_of_lesson_09_draw_every_static_frame(explorer):
    assert explorer().static.html.count("<svg") >= 3


def test_bars_say_what_would_do():
    assert "would do" in bars({"yours": [3, 1]}, fair=2, name="Bytes").alt


# ---------------------------------------------------------------- balance


def test_taking_turns_is_slower_than_the_largest_first(capsys):
    picture = figures.balance(shard_by_size)
    turns, yours = (int(line.split()[-2]) for line in capsys.readouterr().out.strip().splitlines())
    assert yours < 0.6 * turns
    assert "in turn: 972 kB" in picture.alt


@pytest.mark.parametrize(
    ("answer", "said"),
    [(unsolved, "Solve shard_by_size first"), (lambda sizes, servers: [9] * len(sizes), "does not name a server")],
)
def test_without_an_assignment_the_comparison_says_what_is_missing(answer, said, capsys):
    assert figures.balance(answer) is None
    assert said in capsys.readouterr().out


# ---------------------------------------------------------------- measuring


def test_measuring_times_server_and_all_reduce_at_every_size():
    seconds = figures.measure(server, worker, sizes=(400, 4000), workers=2, repeats=2)
    assert {name: {size: len(times) for size, times in found.items()} for name, found in seconds.items()} == {
        "server": {400: 2, 4000: 2},
        "all-reduce": {400: 2, 4000: 2},
    }
    assert "your server" in figures.measured(seconds).alt
    assert figures.measured(None) is None


def test_measuring_an_unsolved_server_says_so(capsys):
    assert figures.measure(unsolved, unsolved, sizes=(400,), workers=2, repeats=1) is None
    assert "Solve synchronous first" in capsys.readouterr().out


# ---------------------------------------------------------------- predictions and questions


def test_the_reveal_of_lesson_09_gives_both_answers(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("LABS_STATE", str(tmp_path))
    one, many = figures.predict_one_server(), figures.predict_many_servers()
    figures.reveal(one, many)
    assert "128" not in capsys.readouterr().out  # nothing is given away before the learner commits
    one.set(64)
    many.set(9)
    figures.reveal(one, many)
    said = capsys.readouterr().out
    assert "it is 128 ms or 64 ms" in said
    assert "it is 8 ms" in said
    assert "All-reduce takes 14 ms" in said


def test_questions_of_lesson_09_are_answered_as_formulas_and_training_say():
    assert len([value for value in vars(exercises).values() if isinstance(value, Question)]) == 4
    times = [costs.parameter_server(8, 1e9, 0.0, 1e9, servers=k, overlapped=True) for k in (7, 8, 9)]
    assert times[0] > times[1] == times[2]
    in_step, free = (
        min(figures.trained(1.0, rate, bound).reaches(0.4)[0] for rate in (2.0, 4.0, 8.0)) for bound in (0, None)
    )
    assert free > in_step


# ---------------------------------------------------------------- oracles against other oracles


def test_the_largest_first_stays_within_grahams_bound_of_the_best():
    rng = np.random.default_rng(0)
    for _ in range(40):
        servers, sizes = int(rng.integers(1, 4)), rng.integers(0, 20, size=int(rng.integers(0, 7))).tolist()
        best = min(
            max(loads_of(sizes, owner, servers)) for owner in itertools.product(range(servers), repeat=len(sizes))
        )
        assert max(loads_of(sizes, largest_first(sizes, servers), servers)) <= best * (4 / 3 - 1 / (3 * servers))


def test_sizes_of_the_transformer_add_up_to_those_of_gpt2():
    sizes = transformer(12, 768, 50_257)
    assert len(sizes) == 148
    assert sum(sizes) == 4 * 124_439_808


@pytest.mark.parametrize("workers", [1, 2, 7, 8])
@pytest.mark.parametrize(("own", "theirs"), [(10, 10), (10, 25), (25, 10), (1, 400)])
def test_counting_servers_up_gives_the_rounded_ratio(workers, own, theirs):
    assert fewest(workers, own, theirs) == math.ceil(workers * own / theirs)


def test_the_ideal_schedule_is_known_at_both_ends():
    seconds = np.random.default_rng(0).integers(1, 9, size=(4, 6)).astype(float)
    assert ideal(seconds, 99).tolist() == seconds.sum(axis=1).tolist()
    in_step = seconds.max(axis=0)[:-1].sum() + seconds[:, -1]
    assert ideal(seconds, 0).tolist() == in_step.tolist()
    assert (ideal(seconds, 1) <= ideal(seconds, 0)).all()
