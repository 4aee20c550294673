"""The checker lets every schedule pass that can run and names what is wrong with the others; ranks on the virtual
machine stand still exactly where it says."""

import runpy
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from labs.kit import ranks
from labs.pipeline_parallel.actions import Action, BadSchedule, placement_of, schedule_from, shape_of
from labs.pipeline_parallel.checking import check, demand
from labs.pipeline_parallel.interleaving import interleaved
from labs.pipeline_parallel.order import channels_of, steps_of
from labs.pipeline_parallel.schedules import gpipe, one_f_one_b
from labs.pipeline_parallel.simulation import simulate
from labs.pipeline_parallel.waiting import cycle_in, stuck_ranks
from labs.pipeline_parallel.zero_bubble import zb_h1, zbv

CASES = runpy.run_path(str(Path(__file__).with_name("pipeline_cases.py")))
SCHEDULES = CASES["schedules"]


def kinds(schedule, **options):
    return [finding.kind for finding in check(schedule, **options)]


@given(SCHEDULES())
def test_any_order_that_can_run_passes(schedule):
    assert check(schedule) == ()


@given(SCHEDULES(), st.randoms(use_true_random=False))
def test_a_lost_action_is_missed(schedule, random):
    rank = random.choice([rank for rank, actions in enumerate(schedule) if actions])
    at = random.randrange(len(schedule[rank]))
    lost = schedule[rank][at]
    rest = tuple(actions[:at] + actions[at + 1 :] if r == rank else actions for r, actions in enumerate(schedule))
    shape = shape_of(schedule)
    found = check(rest, stages=shape.stages, micro_batches=shape.micro_batches)
    missing = [finding for finding in found if finding.kind == "missing"]
    assert any(finding.action == lost for finding in missing) or lost.kind in "IW", (
        "a missing half may look like a missing whole"
    )
    assert missing and all(finding.text for finding in found)


@given(SCHEDULES(), st.randoms(use_true_random=False))
def test_an_action_done_twice_is_found_where_it_comes_again(schedule, random):
    rank = random.choice([rank for rank, actions in enumerate(schedule) if actions])
    again = random.choice(schedule[rank])
    longer = tuple((*actions, again) if r == rank else actions for r, actions in enumerate(schedule))
    found = [finding for finding in check(longer) if finding.kind == "twice"]
    assert [(f.rank, f.position, f.action) for f in found] == [(rank, len(schedule[rank]), again)]


@given(SCHEDULES(), st.randoms(use_true_random=False))
def test_shuffled_ranks_are_judged_as_a_plain_simulation_judges_them(schedule, random):
    """Backward before its forward on the same rank is a finding of its own; else the two must agree."""
    mixed = tuple(tuple(random.sample(actions, len(actions))) for actions in schedule)
    found = kinds(mixed)
    done = sum(map(len, CASES["times_by_hand"](mixed, lambda action: 1)))
    runs = done == sum(map(len, mixed))
    assert found == [] if runs else found and set(found) <= {"order", "deadlock"}
    assert (simulate(mixed).stuck == {}) == runs
    if found and found[0] == "deadlock":
        assert {f.rank: f.position for f in check(mixed)} == simulate(mixed).stuck


@pytest.mark.parametrize(
    ("lists", "kind", "rank", "position", "words"),
    [
        ([[("F", 0), ("B", 0), ("F", 0)]], "twice", 0, 2, "forward of micro-batch 0 on stage 0 has been computed"),
        ([[("F", 0)]], "missing", 0, None, "Rank 0 never computes the backward of micro-batch 0 on stage 0"),
        (
            [[("F", 1, 0), ("B", 1, 0)]],
            "missing",
            None,
            None,
            "No rank computes the forward of micro-batch 0 on stage 0",
        ),
        ([[("F", 0), ("I", 0)]], "missing", 0, None, "gradient of the weights of micro-batch 0"),
        (
            [[("F", 0), ("B", 0), ("W", 0)]],
            "split",
            0,
            None,
            "whole backward of micro-batch 0 on stage 0 (B) and a half",
        ),
        ([[("B", 0), ("F", 0)]], "order", 0, 0, "backward of micro-batch 0 on stage 0 stands before the forward"),
        ([[("F", 0), ("W", 0), ("I", 0)]], "order", 0, 1, "gradient of the weights"),
        ([[("F", 0, 0), ("B", 0, 0)], [("F", 0, 1), ("B", 0, 1)]], "placement", 1, 0, "both compute stage 0"),
    ],
)
def test_each_kind_of_mistake(lists, kind, rank, position, words):
    found = [finding for finding in check(schedule_from(lists)) if finding.kind == kind]
    assert found and (found[0].rank, found[0].position) == (rank, position)
    assert words in found[0].text and str(found[0]) == found[0].text and found[0].text.endswith(".")


def test_stages_and_micro_batches_that_do_not_exist():
    found = check(gpipe(3, 4), stages=2, micro_batches=4)
    assert {f.kind for f in found} == {"unknown"} and "the last is stage 1" in found[0].text and found[0].rank == 2
    found = check(gpipe(2, 4), stages=2, micro_batches=3)
    assert [f.position for f in found] == [3, 7, 3, 7] and "the last is 2" in found[0].text
    assert kinds(gpipe(2, 3), stages=2, micro_batches=4) == ["missing"] * 4
    assert kinds(((),), stages=1, micro_batches=1) == ["missing", "missing"]


def test_a_limit_of_memory_is_named_where_it_is_passed():
    assert kinds(one_f_one_b(4, 8), limit=4) == []
    assert kinds(gpipe(4, 8), limit=4) == ["memory"] * 4
    found = check(one_f_one_b(4, 8), limit=3)
    assert [(f.rank, f.position, str(f.action)) for f in found] == [(0, 3, "0F3")]
    assert "it holds 4 micro-batches' activations, and the limit is 3" in found[0].text
    assert [f.rank for f in check(gpipe(2, 2), limit=25, sizes=[10, 20])] == [1]


def test_a_circle_of_waiting_is_explained():
    lists = [[("F", 0), ("B", 0), ("F", 1), ("B", 1)], [("F", 1), ("F", 0), ("B", 0), ("B", 1)]]
    first, second = check(schedule_from(lists))
    assert first.kind == second.kind == "deadlock" and first.cycle == second.cycle == (0, 1)
    assert (first.rank, first.position, first.waits_for) == (0, 1, (1, 2))
    assert first.text == (
        "Rank 0, before entry 1 (0B0): it waits for the gradient of micro-batch 0 from rank 1, which is computed by "
        "entry 2 (1B0) there, but rank 1 stands still at entry 0 (1F1)."
    )
    assert second.waits_for == (0, 2)


def test_a_rank_can_wait_for_itself():
    schedule = schedule_from([[("F", 1, 0), ("F", 0, 0), ("B", 1, 0), ("B", 0, 0)]])
    (finding,) = check(schedule)
    assert finding.kind == "deadlock" and finding.cycle == (0,) and "from itself" in finding.text


def test_demand_raises_with_the_first_findings():
    with pytest.raises(BadSchedule, match=r"(?s)cannot run:.*never computes.*and 1 more") as caught:
        demand(schedule_from([[("F", 0)], [("F", 0)], [("F", 0)], [("F", 0)]]))
    assert caught.value.rank == 0
    demand(gpipe(2, 2))


# ---- sends that wait for their receiver


def with_plain_sends(schedule, dist):
    """Rank program: an executor that takes what it needs just before an action, and sends the result just after it."""
    for step in steps_of(schedule)[dist.get_rank()]:
        if step.source_place and step.source_place.rank != dist.get_rank():
            dist.recv(torch.empty(1), step.source_place.rank, tag=number_of(step.source))
        if step.target_place and step.target_place.rank != dist.get_rank():
            dist.send(torch.zeros(1), step.target_place.rank, tag=number_of(step.action))


def number_of(action):
    return ("FBIW".index(action.kind) * 100 + action.stage) * 100 + action.micro_batch


@pytest.mark.parametrize(
    "schedule",
    [
        gpipe(3, 4),
        one_f_one_b(2, 4),
        one_f_one_b(4, 4),
        one_f_one_b(4, 1),
        one_f_one_b(1, 3),
        interleaved(2, 2, 2),
        zb_h1(3, 3),
        zbv(2, 3),
    ],
)
def test_blocking_sends_deadlock_where_the_virtual_machine_deadlocks(schedule):
    try:
        ranks.run(with_plain_sends, len(schedule), (schedule,))
        waiting = {}
    except ranks.Deadlock as deadlock:
        waiting = {place.rank: place.operation for place in deadlock.waiting}
    stuck = stuck_ranks(schedule, "blocking")
    words = {"send": "send to", "receive": "recv from"}
    assert waiting == {
        rank: f"{words[still.verb]} rank {still.peer.rank} (4 B, tag {number_of(still.message)})"
        for rank, still in stuck.items()
    }
    assert {f.rank for f in check(schedule, sends="blocking")} == set(waiting)


def test_1f1b_deadlocks_with_blocking_sends_and_gpipe_does_not():
    assert kinds(gpipe(4, 8), sends="blocking") == []
    found = check(one_f_one_b(4, 8), sends="blocking")
    assert {f.kind for f in found} == {"deadlock"} and len(found[0].cycle) == 2
    assert "wants to send the activation" in found[0].text and "wants to send the gradient" in found[1].text
    assert kinds(one_f_one_b(4, 8)) == []


@given(SCHEDULES(), st.randoms(use_true_random=False))
def test_any_order_stands_still_as_the_virtual_machine_does(schedule, random):
    stuck = stuck_ranks(schedule, "blocking")
    try:
        ranks.run(with_plain_sends, len(schedule), (schedule,))
        waiting = set()
    except ranks.Deadlock as deadlock:
        waiting = {place.rank for place in deadlock.waiting}
    assert set(stuck) == waiting
    assert set(cycle_in(stuck)) <= waiting


def test_messages_taken_in_another_order_are_crossed():
    lists = [[("F", 0), ("F", 1), ("B", 0), ("B", 1)], [("F", 1), ("F", 0), ("B", 0), ("B", 1)]]
    schedule = schedule_from(lists)
    assert kinds(schedule) == [], "the executor posts its receives in the order of the sends"
    assert kinds(schedule, sends="blocking")[0] == "crossed"
    assert "mixed up" in check(schedule, sends="blocking")[0].text
    with pytest.raises(ValueError, match="sends is one of"):
        stuck_ranks(schedule, "eager")


def test_channels_are_the_messages_in_the_order_of_sending():
    assert channels_of(one_f_one_b(2, 3)) == {
        (0, 1): [Action("F", 0, k) for k in range(3)],
        (1, 0): [Action("B", 1, k) for k in range(3)],
    }
    assert channels_of(zbv(1, 2)) == {}, "one rank sends nothing"
    assert placement_of(zbv(2, 1)) == (0, 1, 1, 0)
    assert {pair: len(found) for pair, found in channels_of(zbv(2, 3)).items()} == {(0, 1): 6, (1, 0): 6}
