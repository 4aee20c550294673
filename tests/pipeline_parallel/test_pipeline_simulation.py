"""The fast simulator against a plain one that works from the definition, exactly; and what a timeline tells."""

import os
import runpy
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labs.pipeline_parallel import activations
from labs.pipeline_parallel.actions import schedule_from
from labs.pipeline_parallel.compact import Compact
from labs.pipeline_parallel.durations import Durations
from labs.pipeline_parallel.interleaving import interleaved
from labs.pipeline_parallel.schedules import gpipe, gpipe_of, one_f_one_b, one_f_one_b_of
from labs.pipeline_parallel.simulation import simulate
from labs.pipeline_parallel.zero_bubble import zb_h1, zbv

CASES = runpy.run_path(str(Path(__file__).with_name("pipeline_cases.py")))
SCHEDULES = CASES["schedules"]
EIGHTHS = st.integers(0, 24).map(lambda n: Fraction(n, 8))  # exact as floats, too


def compare(schedule, durations, communication):
    def exactly(action):
        return Fraction(durations.seconds(action.kind, action.stage))

    found = simulate(schedule, durations, float(communication))
    times = CASES["times_by_hand"](schedule, exactly, Fraction(communication))
    by_rank = [[(s.start, s.end) for s in found.spans if s.rank == rank] for rank in range(len(schedule))]
    assert by_rank == times
    assert found.makespan == max((end for row in times for _, end in row), default=0)
    assert found.busy == tuple(float(sum(end - start for start, end in row)) for row in times)
    return found


@given(SCHEDULES(), st.data())
def test_times_of_any_order_are_exact(schedule, data):
    stages = 1 + max(action.stage for row in schedule for action in row)
    each = st.lists(EIGHTHS.map(float), min_size=stages, max_size=stages)
    durations = Durations(data.draw(each), data.draw(each), data.draw(each))
    found = compare(schedule, durations, data.draw(EIGHTHS))
    assert found.stuck == {} and found.peaks == activations.peaks(schedule)
    assert min(found.idle) >= 0 and min(found.gaps) >= 0 and 0 <= found.share < 1


@given(SCHEDULES(), st.randoms(use_true_random=False), EIGHTHS)
def test_times_until_a_schedule_gets_stuck(schedule, random, communication):
    mixed = tuple(tuple(random.sample(actions, len(actions))) for actions in schedule)
    found = compare(mixed, Durations(), communication)
    ran = [sum(span.rank == rank for span in found.spans) for rank in range(len(mixed))]
    assert found.stuck == {r: n for r, n in enumerate(ran) if n < len(mixed[r])}
    assert len(found.gaps) == len(found.peaks) == len(mixed)


@pytest.mark.parametrize("communication", [0, Fraction(1, 4), 1, 3])
@pytest.mark.parametrize(
    "schedule", [gpipe(3, 5), one_f_one_b(4, 6), interleaved(2, 2, 4), interleaved(3, 3, 4), zb_h1(4, 4), zbv(3, 5)]
)
def test_known_schedules_are_exact(schedule, communication):
    compare(schedule, Durations(1.0, 1.5, 0.5), communication)


def test_a_step_counted_by_hand():
    """1F1B with two ranks and two micro-batches; F = 1, B = 2, a message takes 1/2."""
    found = simulate(one_f_one_b(2, 2), Durations.of(1, 2), communication=0.5)
    assert [(str(s.action), s.start, s.end) for s in found.spans] == [
        ("0F0", 0.0, 1.0),
        ("0F1", 1.0, 2.0),
        ("0B0", 5.0, 7.0),
        ("0B1", 8.0, 10.0),
        ("1F0", 1.5, 2.5),
        ("1B0", 2.5, 4.5),
        ("1F1", 4.5, 5.5),
        ("1B1", 5.5, 7.5),
    ]
    assert found.makespan == 10 and found.busy == (6, 6) and found.idle == (4, 4) and found.gaps == (4, 0)
    assert found.share == pytest.approx(0.4) and found.over_useful == pytest.approx(8 / 12)
    assert found.live(0) == [(0.0, 0), (0.0, 1), (1.0, 2), (7.0, 1), (10.0, 0)]
    assert found.live(1) == [(0.0, 0), (1.5, 1), (4.5, 0), (4.5, 1), (7.5, 0)]


def test_a_weight_gradient_lets_go_and_an_input_gradient_does_not():
    found = simulate(zb_h1(2, 2))
    assert [held for _, held in found.live(1)] == [0, 1, 2, 1, 0]
    assert found.peaks == (2, 2)


def test_a_stuck_schedule_shows_how_far_it_came():
    lists = [[("F", 0), ("B", 0), ("F", 1), ("B", 1)], [("F", 1), ("F", 0), ("B", 0), ("B", 1)]]
    found = simulate(schedule_from(lists))
    assert found.stuck == {0: 1, 1: 0} and [str(s.action) for s in found.spans] == ["0F0"]
    assert found.makespan == 1 and found.peaks == (1, 0) and found.live(1) == [(0.0, 0)] and found.gaps == (0, 0)


def test_a_slow_stage_sets_the_pace():
    found = simulate(one_f_one_b(3, 12), Durations((1.0, 2.0, 1.0), (1.0, 2.0, 1.0), (1.0, 2.0, 1.0)))
    assert found.busy == (36, 72, 36) and found.idle[1] < found.idle[0] == found.idle[2]


def test_durations_that_make_no_sense_are_refused():
    for bad in (-1.0, float("nan"), float("inf"), [1.0, -1.0], []):
        with pytest.raises(ValueError, match="forward must be a number from 0 up"):
            Durations(bad)
    with pytest.raises(ValueError, match="durations for 2 stages only"):
        simulate(gpipe(3, 1), Durations([1.0, 1.0]))
    with pytest.raises(ValueError, match="communication must be"):
        simulate(gpipe(2, 1), communication=-1)
    assert Durations.of([1, 2], [2, 4]).seconds("B", 1) == 4
    assert Durations([1, 2]).scaled(2) == Durations((2.0, 4.0), 2.0, 2.0)


def test_arrays_hold_the_same_actions():
    schedule = interleaved(2, 3, 4)
    plan = Compact.of(iter(row) for row in schedule)
    assert plan.shape == (16, 3) and plan.counts.tolist() == [16] * 3
    assert all(plan.action(i, r) == action for r, row in enumerate(schedule) for i, action in enumerate(row))
    ragged = Compact.of(schedule_from([[("F", 0, 0), ("B", 0, 0), ("F", 1, 0), ("B", 1, 0)], []]))
    assert ragged.counts.tolist() == [4, 0]
    assert Compact.of([]).shape == (0, 0) and simulate(Compact.of([[]])).makespan == 0


SIZES = [(64, 256)] + ([(1024, 4096)] if os.environ.get("LABS_SOAK") == "1" else [])


@pytest.mark.parametrize(("ranks", "micro_batches"), SIZES)
@pytest.mark.parametrize("of", [gpipe_of, one_f_one_b_of])
def test_large_pipelines_keep_the_formula(of, ranks, micro_batches):
    found = simulate(Compact.of(of(rank, ranks, micro_batches) for rank in range(ranks)))
    assert found.share == pytest.approx((ranks - 1) / (micro_batches + ranks - 1), rel=1e-12)
    assert found.makespan == 3 * (micro_batches + ranks - 1)
    assert max(found.peaks) == (micro_batches if of is gpipe_of else ranks)
    assert not np.isnan(found.ends).any()
