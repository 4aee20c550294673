"""Check a schedule before it runs: complete, in order, able to end, within a limit of memory."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from labs.pipeline_parallel.actions import KINDS, Action, BadSchedule, Schedule, placement_of, shape_of
from labs.pipeline_parallel.activations import live
from labs.pipeline_parallel.order import Place, channels_of, steps_of
from labs.pipeline_parallel.waiting import cycle_in, stuck_ranks


@dataclass(frozen=True)
class Finding:
    """Something wrong with a schedule.

    Parameters
    ----------
    kind : str
        "missing" or "twice" (an action), "unknown" (a stage or micro-batch that does not exist), "placement" (a stage
        on two ranks), "split" (a backward that is both whole and in halves), "order" (a backward before its forward, a
        weight gradient before its input gradient), "crossed" (only with blocking sends: a rank takes messages in
        another order than they are sent in), "deadlock" or "memory".
    text : str
        A sentence for people.
    rank, position : int or None
        Where; positions count from 0.
    action : Action or None
        What stands there, or what is missing.
    waits_for : Place or None
        For a deadlock: the action on the other rank that this one needs, or that should take its result.
    cycle : tuple of int
        For a deadlock: the ranks that wait for each other in a circle.
    """

    kind: str
    text: str
    rank: int | None = None
    position: int | None = None
    action: Action | None = None
    waits_for: Place | None = None
    cycle: tuple[int, ...] = ()

    def __str__(self) -> str:
        return self.text


def check(
    schedule: Schedule,
    *,
    stages: int | None = None,
    micro_batches: int | None = None,
    sends: str = "async",
    limit: float | None = None,
    sizes=None,
) -> tuple[Finding, ...]:
    """Say everything that is wrong with a schedule.

    Parameters
    ----------
    schedule : tuple of tuple of Action
    stages, micro_batches : int, optional
        How many there should be. By default the highest numbers in the schedule count.
    sends : {"async", "blocking"}
        How results go to other ranks, see `waiting.stuck_ranks`.
    limit : float, optional
        The most that a rank can hold, see `activations.live`.
    sizes : sequence of float, optional
        What a micro-batch takes on each stage; 1 by default.

    Returns
    -------
    tuple of Finding
        Empty for a good schedule. Deadlocks and memory are looked for once all actions are there and in order.
    """
    shape = shape_of(schedule)
    stages = shape.stages if stages is None else stages
    micro_batches = shape.micro_batches if micro_batches is None else micro_batches
    found = [*_strangers(schedule, stages, micro_batches), *_placement(schedule)]
    found += _completeness(schedule, stages, micro_batches)
    found += _order(schedule)
    if not found:
        found += _crossed(schedule) if sends == "blocking" else []
        found += _deadlocks(schedule, sends)
        found += [] if limit is None else _memory(schedule, limit, sizes)
    return tuple(found)


def demand(schedule: Schedule, **options) -> None:
    """Raise `BadSchedule` with the first findings of `check`, if there are any."""
    found = check(schedule, **options)
    if found:
        more = f"\n... and {len(found) - 3} more." if len(found) > 3 else ""
        text = "This schedule cannot run:\n" + "\n".join(map(str, found[:3])) + more
        raise BadSchedule(text, found[0].rank, found[0].position)


def _entries(schedule):
    for rank, actions in enumerate(schedule):
        for position, action in enumerate(actions):
            yield rank, position, action


def _strangers(schedule, stages, micro_batches):
    for rank, position, action in _entries(schedule):
        what = None
        if action.stage >= stages:
            what = f"there are {stages} stages, and the last is stage {stages - 1}"
        elif action.micro_batch >= micro_batches:
            what = f"there are {micro_batches} micro-batches, and the last is {micro_batches - 1}"
        if what:
            yield Finding("unknown", f"Rank {rank}, entry {position} is {action}, but {what}.", rank, position, action)


def _placement(schedule):
    try:
        placement_of(schedule)
    except BadSchedule as bad:
        if bad.rank is not None:  # a stage that nobody computes is missing: the next check says so
            yield Finding("placement", str(bad), bad.rank, bad.position, schedule[bad.rank][bad.position])


def _completeness(schedule, stages, micro_batches):
    counts: Counter[Action] = Counter()
    homes = {}
    for rank, position, action in _entries(schedule):
        counts[action] += 1
        homes.setdefault(action.stage, rank)
        if counts[action] == 2:
            text = f"Rank {rank}, entry {position}: the {action.words} has been computed before."
            yield Finding("twice", text, rank, position, action)
    for stage in range(stages):
        for micro_batch in range(micro_batches):
            have = {kind: counts[Action(kind, stage, micro_batch)] > 0 for kind in KINDS}
            rank = homes.get(stage)
            where = "No rank computes" if rank is None else f"Rank {rank} never computes"
            if have["B"] and (have["I"] or have["W"]):
                half = "I" if have["I"] else "W"
                text = (
                    f"Rank {rank} computes the whole backward of micro-batch {micro_batch} on stage {stage} (B) and a "
                    f"half of it ({half}) as well; use B alone, or I and W."
                )
                yield Finding("split", text, rank, None, Action(half, stage, micro_batch))
            needed = "F" if have["B"] else "FIW" if have["I"] or have["W"] else "FB"
            for kind in needed:
                if not have[kind]:
                    missing = Action(kind, stage, micro_batch)
                    yield Finding("missing", f"{where} the {missing.words}.", rank, None, missing)


def _order(schedule):
    """On a rank, a backward comes after its forward, and a weight gradient after its input gradient."""
    before = {"B": "F", "I": "F", "W": "I"}
    for rank, actions in enumerate(schedule):
        first = {}
        for position, action in enumerate(actions):
            first.setdefault(action, position)
        for position, action in enumerate(actions):
            if action.kind == "F":
                continue
            needed = action._replace(kind=before[action.kind])
            if first.get(needed, -1) > position:
                text = (
                    f"Rank {rank}, entry {position}: the {action.words} stands before the {needed.words}, which is "
                    f"entry {first[needed]}."
                )
                yield Finding("order", text, rank, position, action, Place(rank, first[needed]))


def _crossed(schedule):
    steps = steps_of(schedule)
    for (sender, receiver), sent in channels_of(schedule).items():
        messages = set(sent)
        taken = [step.source for step in steps[receiver] if step.source_place and step.source in messages]
        for number, (first, second) in enumerate(zip(sent, taken)):
            if first != second:
                text = (
                    f"Rank {receiver} takes the result of {second} as message {number} from rank {sender}, which sends "
                    f"that of {first} first: without tags the two are mixed up."
                )
                yield Finding("crossed", text, receiver, None, second)
                break


def _deadlocks(schedule, sends):
    stuck = stuck_ranks(schedule, sends)
    cycle = cycle_in(stuck)
    for rank, still in sorted(stuck.items(), key=lambda item: (item[0] not in cycle, item[0])):
        action = schedule[rank][still.position]
        what = "activation" if still.message.kind == "F" else "gradient"
        peer, at = still.peer
        other = schedule[peer][at]
        if still.verb == "receive":
            text = f"waits for the {what} of micro-batch {still.message.micro_batch} from"
            text += " itself" if peer == rank else f" rank {peer}"
            text += f", which is computed by entry {at} ({other}) there"
        else:
            text = f"wants to send the {what} of micro-batch {still.message.micro_batch} to rank {peer}"
            text += f", which takes it at entry {at} ({other})"
        if peer in stuck and peer != rank:
            there = stuck[peer].position
            text += f", but rank {peer} stands still at entry {there} ({schedule[peer][there]})"
        when = "before" if still.verb == "receive" else "after"
        text = f"Rank {rank}, {when} entry {still.position} ({action}): it {text}."
        yield Finding("deadlock", text, rank, still.position, action, still.peer, cycle)


def _memory(schedule, limit, sizes):
    for rank, counts in enumerate(live(schedule, sizes)):
        for position, held in enumerate(counts):
            if held > limit:
                action = schedule[rank][position]
                what = "micro-batches' activations" if sizes is None else "of activations"
                text = (
                    f"Rank {rank}, entry {position} ({action}): it holds {held:g} {what}, and the limit is {limit:g}."
                )
                yield Finding("memory", text, rank, position, action)
                break
