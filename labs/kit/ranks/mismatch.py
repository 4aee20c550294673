"""Readable words for the ways in which gloo says that two ranks do not mean the same call."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from labs.kit.ranks.stacks import place

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
    kinds = [
        what
        for what, key in (("operation", "operation"), ("size", "shape"), ("dtype", "dtype"), ("turn", "number"))
        if len({call[key] for call in calls.values()}) > 1
    ]
    differ = f"{' and '.join(kinds)} differ{'s' if len(kinds) == 1 else ''}" if kinds else "its arguments differ"
    lines = [f"The ranks do not agree about a collective: {differ}."]
    for rank, call in sorted(calls.items()):
        where = f" at {places[rank]}" if rank in places else ""
        lines.append(f"  Rank {rank}: {_describe(call)}{where}")
    lines.append("Every rank must make the same collective calls, in the same order, on tensors of one size and dtype.")
    return "\n".join(lines)


def _describe(call: dict[str, str]) -> str:
    operation = _OPERATIONS.get(call["operation"], call["operation"].lower())
    if call["shape"] is None:
        return operation
    dtype = _DTYPES.get(call["dtype"] or "", call["dtype"] or "")
    return f"{operation} of shape [{call['shape']}] {dtype}".rstrip()


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
    lines = ["The ranks do not agree about a collective: root differs."]
    for rank, doing in standing:
        where = f" at {place(doing['lines'][0])}" if doing["lines"] else ""
        lines.append(f"  Rank {rank}: {doing['operation']} with root {', '.join(map(str, doing['peers']))}{where}")
    return "\n".join([*lines, "All ranks of a collective must name the same root."])


def message_too_long(rank: int, last_words: Sequence[str], where: Any) -> str | None:
    """Return words for a message that does not fit where it is received (gloo ends the process); else None."""
    for line in last_words:
        if match := _TOO_LONG.search(line):
            at = f" at {where}" if where else ""
            return (
                f"Rank {rank} receives into a tensor of {match['room']} bytes{at}, "
                f"but the message that arrives has {match['sent']} bytes.\n"
                "Sender and receiver must use tensors of the same size and dtype."
            )
    return None
