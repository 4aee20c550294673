"""A run as plain data, for exercises: what came out, what it cost, or how it failed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from labs.kit.ranks.run import run
from labs.kit.virtual.failures import RunFailure

MAX_RANKS_WITH_EVENTS = 64


def outcome(program: Callable, world_size: int, args: tuple | Callable[[int], tuple] = (), **options: Any) -> dict:
    """Run a rank program and return plain data that can cross to another process; a failed run is data, too.

    Parameters
    ----------
    program, world_size, args, **options
        As for `run`; virtual ranks unless ``on`` says otherwise.

    Returns
    -------
    dict
        ``results`` (list by rank; tensors as NumPy arrays, bfloat16 as float32), ``time`` (s; None on real
        ranks) and, on virtual ranks, ``bytes`` and ``messages`` (lists: sent by each rank) and, up to 64 ranks,
        ``events`` (lists of rank, kind, peer, bytes, start, end, label). After a failure only ``failure``:
        its ``as_data()``, with at least ``kind`` and ``text``.
    """
    try:
        done = run(program, world_size, args, **options)
    except RunFailure as failure:
        return {"failure": failure.as_data()}
    summary = {"results": [plain(value) for value in done.results], "time": done.time}
    if done.time is not None:  # nobody counts on real ranks
        summary["bytes"] = [done.bytes_sent(rank) for rank in range(world_size)]
        summary["messages"] = [done.messages_sent(rank) for rank in range(world_size)]
        if world_size <= MAX_RANKS_WITH_EVENTS:
            summary["events"] = [list(event) for event in done.trace]
    return summary


def plain(value: Any) -> Any:
    """Return `value` with every tensor in it, at any depth of tuples, lists and dicts, as a NumPy array."""
    import torch

    if isinstance(value, torch.Tensor):
        value = value.detach().cpu()
        return (value.float() if value.dtype is torch.bfloat16 else value).numpy().copy()
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(plain, value))
    if isinstance(value, tuple | list):
        return type(value)(map(plain, value))
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return value
