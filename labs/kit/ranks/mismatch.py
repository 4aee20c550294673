"""Readable words for the ways in which gloo says that two ranks do not mean the same call."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from labs.kit.ranks.stacks import place
from labs.kit.virtual import wording

if TYPE_CHECKING:
    from labs.kit.ranks.crew import Member

_START = "Detected mismatch between collectives"
_CALL = re.compile(
    r"[Rr]ank (?P<rank>\d+) is running collective: CollectiveFingerPrint\((?:SequenceNumber=(?P<number>\d+), )?"
    r"OpType=(?P<operation>\w+)(?:, TensorShape=\[(?P<shape>[^\]]*)\], TensorDtypes=(?P<dtype>\w+))?"
)
_TOO_LONG = re.compile(r"op\.preamble\.length <= op\.nbytes\. (?P<sent>\d+) vs (?P<room>\d+)")
_OPERATIONS = {
    "ALLREDUCE": "all_reduce",
    "ALLGATHER": "all_gather",
    "_ALLGATHER_BASE": "all_gather_single",
    "ALLGATHER_COALESCED": "all_gather",
    "REDUCE_SCATTER": "reduce_scatter",
    "_REDUCE_SCATTER_BASE": "reduce_scatter_single",
    "ALLTOALL": "all_to_all",
    "ALLTOALL_BASE": "all_to_all_single",
}
_DTYPES = {
    "Float": "float32", "Double": "float64", "Half": "float16", "BFloat16": "bfloat16", "Long": "int64",
    "Int": "int32", "Short": "int16", "Char": "int8", "Byte": "uint8", "Bool": "bool",
}  # fmt: skip


def recognised(error: dict[str, Any]) -> bool:
    """Whether this is the error that torch raises with TORCH_DISTRIBUTED_DEBUG=DETAIL when calls differ."""
    return error["message"].startswith(_START)


def collectives(members: Sequence[Member]) -> str | None:
    """Return which rank is in which collective, on which tensor, at which line; None without such an error."""
    calls: dict[int, dict[str, str]] = {}
    places: dict[int, Any] = {}
    for member in members:
        error = member.report[1]
        for match in _CALL.finditer(error["message"]):
            calls.setdefault(int(match["rank"]), match.groupdict())
        if error["lines"]:
            places[member.rank] = place(error["lines"][-1])
    if not calls:
        return None
    first, second = _two_that_differ(calls)
    if calls[first]["operation"] != calls[second]["operation"]:
        title = f"Ranks {first} and {second} are in different collectives:"
    elif _key(calls[first]) == _key(calls[second]):
        title = f"Ranks {first} and {second} are not at the same collective in turn:"
    else:
        title = f"Ranks {first} and {second} disagree about one {_operation(calls[first])}:"
    lines = [title]
    for rank, call in sorted(calls.items()):
        where = f" at {places[rank]}" if rank in places else ""
        lines.append(f"  rank {rank} calls {_operation(call)}{_tensor(call)}{where}")
    return "\n".join(lines)


def _key(call: dict[str, str]) -> tuple:
    return call["operation"], call["shape"], call["dtype"]


def _two_that_differ(calls: dict[int, dict[str, str]]) -> tuple[int, int]:
    ranks = sorted(calls)
    other = next((rank for rank in ranks if _key(calls[rank]) != _key(calls[ranks[0]])), ranks[-1])
    return ranks[0], other


def _operation(call: dict[str, str]) -> str:
    return _OPERATIONS.get(call["operation"], call["operation"].lower())


def _tensor(call: dict[str, str]) -> str:
    if call["shape"] is None:
        return ""
    shape = call["shape"] if "," not in call["shape"] else f"({call['shape']})"
    return f" ({shape} x {_DTYPES.get(call['dtype'], call['dtype'])})"


def roots(standing: Sequence[tuple[int, dict[str, Any]]]) -> str | None:
    """Return words for ranks that wait in one collective because each has named another root; else None.

    Parameters
    ----------
    standing : sequence of (rank, what it is doing)
        As `stacks.now` describes it.
    """
    operations = {doing["operation"] for _, doing in standing}
    named = {tuple(doing["peers"]) for _, doing in standing}
    if len(operations) != 1 or operations & {"send", "recv", "wait"} or len(named) < 2:
        return None
    ranks = sorted(rank for rank, _ in standing)
    lines = [f"{wording.ranks(ranks).capitalize()} disagree about one {operations.pop()}:"]
    for rank, doing in standing:
        where = f" at {place(doing['lines'][0])}" if doing["lines"] else ""
        lines.append(f"  rank {rank} calls {doing['operation']} (root {', '.join(map(str, doing['peers']))}){where}")
    return "\n".join(lines)


def message_too_long(rank: int, last_words: Sequence[str], where: Any) -> str | None:
    """Return words for a message that does not fit where it is received (gloo ends the process); else None."""
    for line in last_words:
        if match := _TOO_LONG.search(line):
            at = f" at {where}" if where else ""
            return (
                f"Rank {rank} and the sender disagree about a message:\n"
                f"  rank {rank} receives into {match['room']} bytes{at}\n"
                f"  the message that arrives there has {match['sent']} bytes"
            )
    return None
