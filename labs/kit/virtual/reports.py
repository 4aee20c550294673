"""Explanations: from the state of a run that failed to a sentence for the learner."""

from __future__ import annotations

import sys

from labs.kit.virtual import wording
from labs.kit.virtual.failures import (
    Deadlock,
    Mismatch,
    Misuse,
    RankFailed,
    RunFailure,
    TimedOut,
    Waiting,
)
from labs.kit.virtual.places import (
    Place,
    call_of_frame,
    learner_lines,
    place_of_frame,
    place_of_instruction,
)
from labs.kit.virtual.watchdog import OutOfTime

_OWN_PROCESS_GROUP = "Default process group has not been initialized"


# ---- an exception


def failure(engine, rank: int | None, error: BaseException) -> BaseException:
    """The exception that the caller of a run gets for what was raised in a rank (None: between two ranks)."""
    lines = learner_lines(error.__traceback__)
    last = lines[-1] if lines else None
    if isinstance(error, OutOfTime):
        return timed_out(engine, rank, last)
    if isinstance(error, KeyboardInterrupt):
        who = "between two ranks" if rank is None else f"while rank {rank} was running"
        error.add_note(
            f"Interrupted {who}, after {wording.seconds(engine.clock.now)} of virtual time"
            + (f", at {last}" if last else "")
        )
        return error.with_traceback(None)
    if isinstance(error, RunFailure):
        if error.__traceback__ is not None and last is not None and str(last) not in str(error):
            error.add_note(f"  at {last}")
        return error.with_traceback(None)
    name, message = type(error).__name__, str(error)
    if _OWN_PROCESS_GROUP in message:
        misuse = Misuse(
            f"Rank {rank} uses torch.distributed itself (at {last}), not the `dist` that your function was given.\n"
            "On virtual ranks only that argument is connected. Code inside PyTorch that talks to torch.distributed on "
            "its own (DistributedDataParallel, FSDP, DTensor, pipelining) runs on real ranks only: "
            'choose on="gloo" for it.',
            rank,
        )
        misuse.__cause__ = error
        return misuse
    if isinstance(error, AttributeError) and hasattr(error.obj, "_missing"):
        message = error.obj._missing(error.name)
    failed = RankFailed(rank, name, message, lines, engine.clock.now)
    failed.__cause__ = error
    return failed


def timed_out(engine, rank: int | None, last: Place | None) -> TimedOut:
    """The watchdog's exception, with what every rank was doing."""
    limit = wording.seconds(engine.timeout)
    others = tuple(w for w in _waiting(engine) if w.rank != rank)
    if rank is None:
        text = [f"The run was stopped after {limit}: its ranks keep exchanging messages and never return."]
    else:
        text = [f"The run was stopped after {limit}: rank {rank} was still computing, at {last or 'an unknown place'}"]
        text.append("Does that loop ever end?")
        if engine.watchdog.raised > 1:
            text.append(_catches_everything(rank))
    return TimedOut("\n  ".join(text + wording.head([str(w) for w in others])), engine.timeout, rank, others)


def stubborn(task) -> str:
    """About a rank that cannot be ended."""
    return f"{_catches_everything(task.rank)}\n  It stands at {place_of_frame(task.gr_frame)}"


def _catches_everything(rank: int) -> str:
    return (
        f"Rank {rank} catches every exception, also the one that was to end it. "
        "Write `except Exception:` where it says `except:` or `except BaseException:`."
    )


# ---- a deadlock


def deadlock(engine) -> Deadlock:
    """Who waits where, in what, for whom, in which circles; and what nobody received."""
    waiting = _waiting(engine)
    edges: dict[int, list[int]] = {}
    for w in waiting:
        edges.setdefault(w.rank, []).extend(w.peers)
    cycles = find_cycles(edges)
    ended = {task.rank for task in engine.tasks if task.end is not None and task.work is None}
    gone = [(rank, peer) for rank, peers in edges.items() for peer in dict.fromkeys(peers) if peer in ended]
    left = unreceived(engine)
    text = [f"Deadlock after {wording.seconds(engine.clock.now)} of virtual time: {_summary(edges, cycles, gone)}"]
    text += wording.head([str(w) for w in waiting])
    text += [_circle(cycle) for cycle in cycles[:8] if len(cycle) > 2]
    if cycles:  # otherwise the first line has said it
        text += wording.head([f"rank {rank} waits for rank {peer}, which has returned" for rank, peer in gone])
    text += wording.head(left)
    return Deadlock("\n  ".join(text), waiting, cycles, left)


def _summary(edges, cycles, gone) -> str:
    if cycles:
        if len(cycles) == 1 and len(cycles[0]) == 2:
            return f"{wording.ranks(cycles[0])} wait for each other."
        if len(cycles) == 1:
            return f"{wording.ranks(cycles[0])} wait for one another in a circle."
        return f"{len(edges)} ranks wait in {len(cycles)} circles."
    if gone:
        waits, peers = sorted({rank for rank, _ in gone}), sorted({peer for _, peer in gone})
        has = "which has" if len(peers) == 1 else "which have"
        wait = "waits" if len(waits) == 1 else "wait"
        return f"{wording.ranks(waits)} {wait} for {wording.ranks(peers)}, {has} returned."
    waits = sorted(edges)
    return f"{wording.ranks(waits)} {'waits' if len(waits) == 1 else 'wait'} for something that never happens."


def _circle(cycle) -> str:
    return "in a circle: " + " → ".join(map(str, (*cycle, cycle[0])))


def _waiting(engine) -> tuple[Waiting, ...]:
    found = []
    for task in engine.tasks:
        if task.end is None and task.on is not None and not task.dead:
            if task.work is not None:  # an asynchronous collective at work for a rank
                found.append(Waiting(task.rank, f"{task.work} (started earlier): {task.on}", task.on.peers(), None))
                continue
            call, place = call_of_frame(task.gr_frame), place_of_frame(task.gr_frame)
            text, peers = str(task.on), task.on.peers()
            if call == "is_completed":
                text = f"a loop that asks is_completed() of its {text}"
            elif call == "wait":
                text = f"wait() for its {text}"
            elif call and call != text.split(" ", 1)[0]:
                text = f"{call}: {text}"  # a message inside a collective
            if peers and " rank" not in text:
                text += f" for {wording.ranks(peers)}"
            found.append(Waiting(task.rank, text, tuple(peers), place))
    return tuple(sorted(found, key=lambda w: w.rank))


def find_cycles(edges: dict[int, list[int]]) -> list[list[int]]:
    """One circle for each set of ranks that wait for each other (following the first peer that waits, too)."""
    seen, found = set(), []
    for first in edges:
        path, position, rank = [], {}, first
        while rank in edges and rank not in seen and rank not in position:
            position[rank] = len(path)
            path.append(rank)
            rank = next((peer for peer in edges[rank] if peer in edges), None)
        if rank in position:
            cycle = path[position[rank] :]
            k = cycle.index(min(cycle))
            found.append(cycle[k:] + cycle[:k])
        seen.update(path)
    return found


def unreceived(engine) -> list[str]:
    """A sentence for each message or receive that nobody matched and no rank waits in."""
    blocked = {id(task.on) for task in engine.tasks}
    lines = []
    for work in engine.mail.unmatched():
        if id(work) in blocked or work.tag < 0:
            continue
        at = f", at {place_of_instruction(*work.place)}" if work.place else ""
        when, what = (
            wording.seconds(work.posted),
            str(work).split(" ", 1)[1],
        )  # "to rank 1 (40 B)", "from rank 0 (40 B)"
        if work.is_receive:
            lines.append(f"nobody sent what rank {work.rank} began to receive {what} after {when}{at}")
        else:
            lines.append(f"nobody received what rank {work.rank} sent {what} after {when}{at}")
    return lines


# ---- disagreement


def sizes_differ(engine, send, receive) -> Mismatch:
    """A send and a receive that do not fit each other."""
    return Mismatch(
        f"Ranks {send.rank} and {receive.rank} disagree about a message:\n"
        f"  rank {send.rank} sends {wording.shape(send.tensor)}{_posted_at(engine, send)}\n"
        f"  rank {receive.rank} receives into {wording.shape(receive.tensor)}{_posted_at(engine, receive)}"
    )


def _posted_at(engine, work) -> str:
    if work.tag < 0:
        return f" inside {engine.calls[-1 - work.tag].label}"
    if work.place:
        return f" at {place_of_instruction(*work.place)}"
    blocked = next((task for task in engine.tasks if task.on is work), None)
    place = place_of_frame(blocked.gr_frame if blocked else sys._getframe())  # else it is being posted at this moment
    return f" at {place}" if place else ""


def calls_differ(call, rank: int, label: str, name: str, signature: dict, place) -> Mismatch:
    """Two ranks whose next collectives do not fit each other."""
    other, other_place = call.first
    here, there = place_of_instruction(*place), place_of_instruction(*other_place)
    if call.name != name:
        first = f"Ranks {other} and {rank} are in different collectives"
    else:
        first = f"Ranks {other} and {rank} disagree about one {label}"
    which = f"the {_ordinal(call.index + 1)} collective of {call.group}"
    text = (
        f"{first} ({which}):\n"
        f"  rank {other} calls {call.label}{_described(call.signature)} at {there}\n"
        f"  rank {rank} calls {label}{_described(signature)} at {here}"
    )
    if call.name == name and {**call.signature, "layout": signature.get("layout")} == {"layout": None, **signature}:
        text += (
            "\nTheir elements lie in memory in different orders, and real ranks would mix them up silently. "
            "Use tensor.contiguous() on all ranks."
        )
    return Mismatch(text)


def _ordinal(n: int) -> str:
    ending = "th" if n % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(n % 10, "th")
    return f"{n}{ending}"


def _described(signature: dict) -> str:
    parts = []
    if signature.get("dtype") is not None:
        kind = str(signature["dtype"]).removeprefix("torch.")
        numel = signature.get("numel")
        parts.append(kind if numel is None else f"{numel} x {kind}")
    if signature.get("layout") is not None:
        parts.append(f"strides {signature['layout'][1]}")
    if signature.get("op") is not None:
        parts.append(signature["op"])
    if signature.get("root") is not None:
        parts.append(f"root {signature['root']}")
    return f" ({', '.join(parts)})" if parts else ""
