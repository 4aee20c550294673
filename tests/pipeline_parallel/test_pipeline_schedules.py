"""The schedules are the published ones: written out by hand, with the published bubbles and numbers of activations."""

import os
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from labs.pipeline_parallel import actions, activations, formulas
from labs.pipeline_parallel.actions import Action, BadSchedule, schedule_from
from labs.pipeline_parallel.checking import check
from labs.pipeline_parallel.durations import Durations
from labs.pipeline_parallel.interleaving import interleaved, rounds_of
from labs.pipeline_parallel.schedules import gpipe, one_f_one_b
from labs.pipeline_parallel.simulation import simulate
from labs.pipeline_parallel.zero_bubble import zb_h1, zbv

RANKS = range(1, 17) if os.environ.get("LABS_SOAK") == "1" else (1, 2, 3, 4, 7, 16)
MICRO_BATCHES = (1, 2, 3, 4, 8, 16)
SIZES = list(product(RANKS, MICRO_BATCHES))


def every_schedule(ranks, micro_batches):
    yield "GPipe", gpipe(ranks, micro_batches)
    yield "1F1B", one_f_one_b(ranks, micro_batches)
    yield "ZB-H1", zb_h1(ranks, micro_batches)
    yield "ZBV", zbv(ranks, micro_batches)
    for pieces in (1, 2, 3, 4):
        yield f"interleaved {pieces}", interleaved(pieces, ranks, micro_batches)


def lines(schedule):
    """One line of text for each rank."""
    return [" ".join(map(str, actions)) for actions in schedule]


def test_gpipe_is_that_of_the_paper():
    assert lines(gpipe(2, 3)) == ["0F0 0F1 0F2 0B0 0B1 0B2", "1F0 1F1 1F2 1B0 1B1 1B2"]


def test_1f1b_is_that_of_megatron():
    assert lines(one_f_one_b(4, 5)) == [
        "0F0 0F1 0F2 0F3 0B0 0F4 0B1 0B2 0B3 0B4",
        "1F0 1F1 1F2 1B0 1F3 1B1 1F4 1B2 1B3 1B4",
        "2F0 2F1 2B0 2F2 2B1 2F3 2B2 2F4 2B3 2B4",
        "3F0 3B0 3F1 3B1 3F2 3B2 3F3 3B3 3F4 3B4",
    ]
    assert lines(one_f_one_b(3, 1)) == ["0F0 0B0", "1F0 1B0", "2F0 2B0"], "fewer micro-batches than stages"


def test_interleaving_goes_by_rounds():
    assert lines(interleaved(2, 2, 4)) == [
        "0F0 0F1 2F0 2F1 0F2 2B0 0F3 2B1 2F2 0B0 2F3 0B1 2B2 2B3 0B2 0B3",
        "1F0 1F1 3F0 3B0 3F1 3B1 1F2 1B0 1F3 1B1 3F2 3B2 3F3 3B3 1B2 1B3",
    ]
    assert [len(group) for group in rounds_of(3, 16)] == [4, 3, 3, 3, 3]
    assert [k for group in rounds_of(3, 16) for k in group] == list(range(16))


def test_zb_h1_puts_weight_gradients_off_by_the_rank():
    assert lines(zb_h1(3, 3)) == [
        "0F0 0F1 0F2 0I0 0W0 0I1 0W1 0I2 0W2",
        "1F0 1F1 1I0 1F2 1I1 1W0 1I2 1W1 1W2",
        "2F0 2I0 2F1 2I1 2F2 2I2 2W0 2W1 2W2",
    ]


@pytest.mark.parametrize(("ranks", "micro_batches"), SIZES)
def test_every_schedule_is_complete_and_comes_to_its_end(ranks, micro_batches):
    for name, schedule in every_schedule(ranks, micro_batches):
        stages = ranks * {"ZBV": 2}.get(name, int(name.split()[-1]) if " " in name else 1)
        assert check(schedule, stages=stages, micro_batches=micro_batches) == (), name
        assert simulate(schedule).stuck == {}, name


@pytest.mark.parametrize(("forward", "backward"), [(1, 1), (1, 2), (3, 5)])
@pytest.mark.parametrize("ranks", RANKS)
def test_bubbles_of_gpipe_and_1f1b_are_equal_and_as_published(ranks, forward, backward):
    for micro_batches in MICRO_BATCHES:
        wanted = Fraction(ranks - 1, micro_batches + ranks - 1)
        for make in (gpipe, one_f_one_b):
            found = simulate(make(ranks, micro_batches), Durations.of(forward, backward))
            assert found.share == pytest.approx(float(wanted), abs=1e-12)
            assert found.over_useful == pytest.approx((ranks - 1) / micro_batches, abs=1e-12)
            assert found.idle == pytest.approx([(ranks - 1) * (forward + backward)] * ranks, abs=1e-9)
        assert formulas.bubble_share(ranks, micro_batches) == pytest.approx(float(wanted))


@pytest.mark.parametrize("make", [gpipe, one_f_one_b])
def test_a_slower_backward_changes_only_times(make):
    """Twice forward instead of once: neither the order, nor the share, nor the memory changes; the step does."""
    quick, slow = (simulate(make(4, 6), Durations.of(1, backward)) for backward in (1, 2))
    assert quick.share == pytest.approx(slow.share, abs=1e-12)
    assert quick.peaks == slow.peaks
    assert [span[:3] for span in quick.spans] == [span[:3] for span in slow.spans]
    assert slow.makespan == pytest.approx(1.5 * quick.makespan, abs=1e-12)
    assert sum(s.end - s.start for s in quick.spans if s.action.kind == "F") == 24
    assert sum(s.end - s.start for s in slow.spans if s.action.kind == "F") == 24


@pytest.mark.parametrize(("ranks", "micro_batches"), SIZES)
def test_activations_gpipe_holds_all_and_1f1b_at_most_its_distance_from_the_end(ranks, micro_batches):
    assert activations.peaks(gpipe(ranks, micro_batches)) == (micro_batches,) * ranks
    wanted = tuple(min(ranks - rank, micro_batches) for rank in range(ranks))
    assert activations.peaks(one_f_one_b(ranks, micro_batches)) == wanted
    assert max(activations.peaks(zb_h1(ranks, micro_batches))) == min(ranks, micro_batches)
    assert max(activations.peaks(zbv(ranks, micro_batches))) <= 2 * ranks, "of half a rank's share each"
    for schedule in (gpipe(ranks, micro_batches), zb_h1(ranks, micro_batches), zbv(ranks, micro_batches)):
        assert all(counts[-1] == 0 for counts in activations.live(schedule)), "all is let go in the end"


def test_activations_in_bytes_weigh_each_stage():
    schedule = interleaved(2, 2, 2)
    found = activations.live(schedule, sizes=[10, 20, 30, 40])
    assert found[0] == (10, 20, 50, 80, 50, 20, 10, 0) and activations.peaks(schedule, [10, 20, 30, 40])[0] == 80


@pytest.mark.parametrize("pieces", [1, 2, 3, 4])
@pytest.mark.parametrize("ranks", RANKS)
def test_interleaving_divides_the_bubble(ranks, pieces):
    for rounds in (1, 2, 4):
        micro_batches = rounds * ranks
        thin = Durations.of(1 / pieces, 2 / pieces)  # a stage is a v-th of what a rank computes
        found = simulate(interleaved(pieces, ranks, micro_batches), thin)
        assert found.idle[0] == pytest.approx(3 * (ranks - 1) / pieces, abs=1e-9)
        assert found.share == pytest.approx((ranks - 1) / (pieces * micro_batches + ranks - 1), abs=1e-12)
        assert found.share == pytest.approx(formulas.bubble_share(ranks, micro_batches, pieces), abs=1e-12)


def test_published_percentages():
    shares = [simulate(interleaved(pieces, 4, 4)).share for pieces in (1, 2, 4)]
    assert [round(100 * share) for share in shares] == [43, 27, 16]
    assert round(100 * simulate(zb_h1(4, 4)).share) == 20
    assert simulate(interleaved(1, 4, 4)).share == simulate(one_f_one_b(4, 4)).share == simulate(gpipe(4, 4)).share


@pytest.mark.parametrize("weight", [0.0, 0.25, 1.0])
def test_zb_h1_waits_for_forward_and_input_less_the_weights(weight):
    for ranks in (1, 2, 4, 8):
        for micro_batches in (ranks, ranks + 3, 4 * ranks):
            found = simulate(zb_h1(ranks, micro_batches), Durations(1.0, 1.0, weight))
            assert found.idle[0] == pytest.approx((ranks - 1) * (2 - weight), abs=1e-9)
            wanted = formulas.bubble_time("ZB-H1", ranks, Durations(1.0, 1.0, weight))
            assert found.idle[0] == pytest.approx(wanted, abs=1e-9)


def test_zbv_has_no_gap_within_a_rank_once_the_pipeline_is_full():
    for ranks in (1, 2, 3, 4, 8):
        for micro_batches in (2 * ranks - 1, 2 * ranks, 4 * ranks):
            assert simulate(zbv(ranks, micro_batches)).gaps == pytest.approx([0.0] * ranks, abs=1e-9)
    assert max(simulate(zbv(4, 4)).gaps) > 0
    assert max(simulate(one_f_one_b(4, 16)).gaps) > 0, "which an ordinary schedule has"


def test_placements():
    assert actions.round_robin(6, 3) == (0, 1, 2, 0, 1, 2) == actions.placement_of(interleaved(2, 3, 2))
    assert actions.v_shape(3) == (0, 1, 2, 2, 1, 0) == actions.placement_of(zbv(3, 2))
    with pytest.raises(BadSchedule, match="Ranks 0 and 1 both compute stage 0") as caught:
        actions.placement_of(((Action("F", 0, 0),), (Action("F", 0, 0),)))
    assert (caught.value.rank, caught.value.position) == (1, 0)


def test_a_learners_lists_become_a_schedule_in_both_forms():
    short = [[("F", 0), ["F", np.int64(1)], ("B", 0), ("B", 1)], iter([("F", 0), ("B", 0), ("F", 1), ("B", 1)])]
    assert schedule_from(short) == one_f_one_b(2, 2)
    assert schedule_from(interleaved(2, 2, 2)) == interleaved(2, 2, 2)
    assert all(type(number) is int for row in schedule_from([[("F", np.int32(0))]]) for number in row[0][1:])


@pytest.mark.parametrize(
    ("lists", "rank", "position", "words"),
    [
        ([[("F", 0)], [("F", 0), ("X", 0)]], 1, 1, "begins with 'X'"),
        ([[("F", 0)], [("F", 0), ("FB", 0)]], 1, 1, "begins with 'FB'"),
        ([[("F", -1)]], 0, 0, "whole numbers from 0 up"),
        ([[("F", 0.0)]], 0, 0, "whole numbers from 0 up"),
        ([[("F", True)]], 0, 0, "whole numbers from 0 up"),
        ([[("F", 0), "F1"]], 0, 1, "an action is a tuple"),
        ([[("F", 0, 0, 0)]], 0, 0, "an action is a tuple"),
        ([[("F",)]], 0, 0, "an action is a tuple"),
        ([[("F", 0)], None], 1, None, "Rank 1 needs a list of actions, but has None"),
        ([[("F", 0)], "F0"], 1, None, "Rank 1 needs a list"),
        (None, None, None, "one list of actions for each rank"),
        ([[], []], None, None, "no action at all"),
    ],
)
def test_what_cannot_be_read_is_named_with_its_place(lists, rank, position, words):
    with pytest.raises(BadSchedule) as caught:
        schedule_from(lists)
    assert words in str(caught.value)
    assert (caught.value.rank, caught.value.position) == (rank, position)


def test_sizes_that_make_no_pipeline_are_refused():
    for make in (gpipe, one_f_one_b, zb_h1, zbv):
        with pytest.raises(ValueError, match="at least one"):
            make(0, 1)
        with pytest.raises(ValueError, match="at least one"):
            make(2, 0)
    with pytest.raises(ValueError, match="at least one"):
        interleaved(0, 2, 2)
