"""From what the ranks reported to a failure in words: which rank, which line, what, and what to do."""

from __future__ import annotations

import re
import signal
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

from labs.kit.ranks import mismatch, stacks
from labs.kit.ranks.stacks import place
from labs.kit.virtual import wording
from labs.kit.virtual.failures import Deadlock, Mismatch, RankDied, RankFailed, RunFailure, TimedOut, Waiting
from labs.kit.virtual.reports import find_cycles

if TYPE_CHECKING:
    from labs.kit.ranks.crew import Member
    from labs.kit.ranks.launch import Order

# What gloo says on a rank whose partner is gone; the partner's own end is the news then.
_PARTNER_GONE = re.compile(
    r"Connection (closed|reset|refused)|failed to pass monitoredBarrier|Broken pipe|Socket closed|Read error|"
    r"Application timeout|Timed out waiting",
    re.IGNORECASE,
)
_MANY = 8  # more ranks than this are counted, not listed


def failed(member: Member, expect_dead: Collection[int]) -> bool:
    """Whether this rank has failed: raised, or gone without a result, and not by plan."""
    if not member.settled or member.rank in expect_dead:
        return False
    return member.report is None or member.report[0] == "error"


def failure(members: Sequence[Member], order: Order) -> RunFailure:
    """Return the failure that came first, with a brief word on the other ranks."""
    bad = [m for m in members if failed(m, order.expect_dead)]
    dead = [m for m in bad if m.report is None]
    raised = [m for m in bad if m.report is not None]
    own = [m for m in raised if not _partner_gone(m)]
    if disagreement := mismatch.collectives([m for m in own if mismatch.recognised(m.report[1])]):
        return Mismatch(disagreement)
    if dead:
        first = min(dead, key=lambda m: m.ended_at)
        if not own or first.ended_at < min(m.report[1]["at"] for m in own):
            return _death(first, members)
    first = _first(own or raised)
    return _exception(first, members, order)


def _first(raised: Sequence[Member]) -> Member:
    """Return who raised first; among ranks that raised the same at the same line, the one with the lowest number."""
    first = min(raised, key=lambda m: m.report[1]["at"])
    return min((m for m in raised if _same(m.report[1], first.report[1])), key=lambda m: m.rank)


def _same(a: dict, b: dict) -> bool:
    return a["type"] == b["type"] and [f["line"] for f in a["lines"]] == [f["line"] for f in b["lines"]]


def _partner_gone(member: Member) -> bool:
    error = member.report[1]
    return error["operation"] is not None and bool(_PARTNER_GONE.search(error["message"]))


def _exception(member: Member, members: Sequence[Member], order: Order) -> RunFailure:
    error = member.report[1]
    notes = _others(member, members)
    if _partner_gone(member) and order.expect_dead:
        gone = ", ".join(map(str, sorted(order.expect_dead)))
        notes.append(f"The death of rank {gone} was planned: catch this error in the ranks that are to go on.")
    failure = RankFailed(member.rank, error["type"], error["message"], [place(frame) for frame in error["lines"]])
    for note in notes:
        failure.add_note(note)
    return failure


def _death(member: Member, members: Sequence[Member]) -> RunFailure:
    frames = stacks.learners(member.lines.held_stack())
    if words := mismatch.message_too_long(member.rank, member.lines.last_words, place(frames[0]) if frames else None):
        return Mismatch(words)
    word, _, number = member.end.partition(" ")
    if word == "signal":
        name = signal.Signals(int(number)).name
        what, advice = f"was killed by {name}", _ADVICE.get(name, "")
    elif word == "exit":
        what = f"ended with exit code {number} before its program returned"
        advice = "Something in it called os._exit, or a library ended the process. Let the program return instead."
    else:
        what, advice = "was ended together with the process that starts ranks", "Run it again: a new one is started."
    lines = [f"Rank {member.rank} {what}."]
    if frames:
        lines.append(f"It was at {place(frames[0])}.")
    lines += [line for line in member.lines.last_words if line.startswith("  what():")]
    if advice:
        lines.append(advice)
    return RankDied("\n".join(lines + _others(member, members)), rank=member.rank)


_ADVICE = {
    "SIGKILL": "Something outside the program did this; when memory runs out, the system does.",
    "SIGSEGV": "That is a crash in compiled code. On gloo, a rank number that does not exist does this, too.",
    "SIGABRT": "That is compiled code giving up; its own words, if any, stand above.",
}


def deadlock(members: Sequence[Member], order: Order) -> RunFailure:
    """Return the explanation of ranks that all wait and none of which moves."""
    standing = [m for m in members if not m.settled]
    if disagreement := mismatch.roots([(m.rank, m.doing[1]) for m in standing]):
        return Mismatch(disagreement)
    operations = {m.rank: m.doing[1]["operation"] for m in standing}
    waiting = [_waiting(m, _absent(m, operations, members)) for m in standing]
    lines = [str(w) for w in waiting]
    for member in members:
        if member.settled:
            lines.append(f"rank {member.rank} has {'returned' if member.report else 'died'}")
    edges = {w.rank: w.peers for w in waiting}
    cycles = find_cycles(edges)
    lines += ["in a circle: " + " → ".join(map(str, [*cycle, cycle[0]])) for cycle in cycles if len(cycle) > 2]
    text = f"Deadlock: {_summary(edges, cycles, {m.rank for m in members if m.settled})}"
    return Deadlock("\n  ".join([text, *wording.head(lines)]), waiting, cycles)


def _summary(edges: dict[int, Sequence[int]], cycles: list[list[int]], settled: set[int]) -> str:
    waits = wording.ranks(sorted(edges))
    verb = "waits" if len(edges) == 1 else "wait"
    if len(cycles) == 1:
        return f"{wording.ranks(cycles[0])} wait for {'each other' if len(cycles[0]) == 2 else 'one another'}."
    if gone := sorted({peer for peers in edges.values() for peer in peers if peer in settled}):
        return f"{waits} {verb} for {wording.ranks(gone)}, which {'has' if len(gone) == 1 else 'have'} returned."
    return f"{waits} {verb} for something that never happens."


def _absent(member: Member, operations: dict[int, str], members: Sequence[Member]) -> tuple[int, ...]:
    """Return for whom a rank waits: the partner of its message, or who is not in the same collective."""
    doing = member.doing[1]
    if doing["operation"] in _MESSAGES:
        return tuple(doing["peers"])
    if doing["operation"] == "wait":  # of what was started elsewhere: nobody can tell from here
        return ()
    return tuple(m.rank for m in members if operations.get(m.rank) != doing["operation"])


def _waiting(member: Member, peers: tuple[int, ...]) -> Waiting:
    doing = member.doing[1]
    at = place(doing["lines"][0]) if doing["lines"] else None
    return Waiting(member.rank, _phrase(doing), peers, at)


_MESSAGES = {"send": "to", "isend": "to", "recv": "from", "irecv": "from"}


def _phrase(doing: dict[str, Any]) -> str:
    operation, peers = doing["operation"], doing["peers"]
    if operation == "wait":
        return "wait() for something it has started"
    if operation in _MESSAGES and peers:
        return f"{operation} {_MESSAGES[operation]} rank {peers[0]}"
    return operation


def timed_out(members: Sequence[Member], order: Order) -> RunFailure:
    """Return what every rank was doing when time was up, the learner's innermost line first."""
    lines = [f"The run was stopped after {wording.seconds(order.timeout)}:"]
    waiting = []
    for member in members:
        lines += _doing(member)
        if member.report is None and member.doing is not None and member.doing[1]["operation"]:
            waiting.append(_waiting(member, tuple(member.doing[1]["peers"])))
    waits = {w.rank for w in waiting}
    running = next((m.rank for m in members if m.report is None and m.rank not in waits), None)
    return TimedOut("\n  ".join(lines), order.timeout, running, waiting)


def _doing(member: Member) -> list[str]:
    if member.report is not None:
        return [f"rank {member.rank} had returned"]
    if member.doing is not None and member.doing[0] == -1:
        doing = member.doing[1]
        frames, what = doing["lines"], _activity(doing)
    else:
        frames = stacks.learners(member.lines.held_stack())
        what = "was busy in compiled code"
    if not frames:
        return [f"rank {member.rank} had not reached a line of the program"]
    text = [f"rank {member.rank} {what} at {place(frames[0])}"]
    text += [f"    called from {place(frame)}" for frame in frames[1:]]
    return text


def _activity(doing: dict[str, Any]) -> str:
    if doing["operation"]:
        return f"was waiting in {_phrase(doing)}"
    return f"was in {doing['inside']}" if doing["inside"] else "was computing"


def _others(first: Member, members: Sequence[Member]) -> list[str]:
    """Return one line for each other rank that has something to say, and a count if they are many."""
    lines = []
    for member in members:
        if member is first:
            continue
        if member.report is not None and member.report[0] == "error":
            error = member.report[1]
            same = first.report is not None and first.report[0] == "error" and _same(error, first.report[1])
            lines.append(f"Rank {member.rank} failed {'in the same way' if same else 'in turn: ' + error['type']}.")
        elif member.report is None and member.end is None and member.doing is not None:
            doing = member.doing[1]
            where = f" at {place(doing['lines'][0])}" if doing["lines"] else ""
            lines.append(f"Rank {member.rank} {_activity(doing)}{where}.")
        elif member.report is None and member.end is not None:
            lines.append(f"Rank {member.rank} died as well.")
    if len(lines) > _MANY:
        lines = [*lines[:_MANY], f"... and {len(lines) - _MANY} more ranks."]
    return lines
