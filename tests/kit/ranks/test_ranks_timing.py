"""Measuring on real ranks: turns, the slowest rank, and answers that are not there yet."""

import pytest

from labs.kit import ranks
from labs.kit.ranks import timing


def tired(dist):
    """Rank program: rank 1 is slower at everything; what is measured is the order of calls, and who was slower."""
    import time

    order = []

    def call(name, seconds):
        order.append(name)
        time.sleep(seconds * (1 + 9 * dist.get_rank()))

    calls = {"a": lambda _: call("a", 0.002), "b": lambda _: call("b", 0.004)}
    prepared = []
    seconds = timing.by_turns(calls, 3, dist, prepare=lambda: prepared.append(1), warm_up=2)
    return seconds, "".join(order), len(prepared)


def test_calls_take_turns_and_the_warm_up_is_not_counted():
    run = ranks.run(tired, 2, on="gloo", check=False)
    for seconds, order, prepared in run.results:
        assert order == "ab" * 5 and prepared == 10
        assert set(seconds) == {"a", "b"} and all(len(times) == 3 for times in seconds.values())
    together = timing.slowest([seconds for seconds, _, _ in run.results])
    assert together["a"] == sorted(run.results[1][0]["a"])  # ten times the sleep: rank 1 is the slowest each time


def test_the_slowest_rank_counts_turn_by_turn_and_keeps_the_form():
    results = [{4: {"x": [1.0, 5.0, 2.0]}}, {4: {"x": [3.0, 1.0, 1.0]}}]
    assert timing.slowest(results) == {4: {"x": [2.0, 3.0, 5.0]}}
    assert timing.slowest([[2.0, 1.0]]) == [1.0, 2.0]


def test_a_line_has_medians_and_the_range():
    assert timing.line({10: [3.0, 1.0, 2.0], 20: [4.0]}) == ([10, 20], [2.0, 4.0], [1.0, 4.0], [3.0, 4.0])


def test_times_are_told_with_their_range():
    assert timing.told([0.012, 0.010, 0.020]) == "12.0 ms (10.0 to 20.0)"


def unsolved(dist):
    raise NotImplementedError


def broken(dist):
    raise ValueError("the fault is here")


@pytest.mark.parametrize(
    ("program", "sentence"),
    [(unsolved, "Solve ring first: then this cell measures your own ring."), (broken, "Your ring did not get")],
)
def test_an_answer_that_does_not_run_is_told_in_a_sentence(program, sentence, capsys):
    assert timing.measure(program, 2, solve="ring", subject="your own ring") is None
    out = capsys.readouterr().out
    assert sentence in out
    assert ("the fault is here" in out) == (program is broken)
