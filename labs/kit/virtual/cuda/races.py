"""Races: two threads touch one element, at least one of them writes, and nothing orders the two.

Within a block, ``syncthreads`` orders everything before it before everything after it, and ``syncwarp`` does so for one
warp. It is enough to remember, for each element and each interval between barriers, one writer: whoever else touches
the element in the same interval races with it. So the check takes linear time. Between blocks nothing orders two
accesses, but the pair of a fence and an atomic after the one and an atomic before the other.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from labs.kit.virtual.cuda.memory import ATOMIC, READ, WARP, WRITE, Allocation

_SITES, _THREADS = 1 << 12, 1 << 10
_DOES = {READ: "reads", WRITE: "writes", ATOMIC: "updates"}


@dataclass(frozen=True, slots=True)
class Accesses:
    """Accesses of one block to one allocation: vectors of one length.

    Parameters
    ----------
    block : int
        Number of the block.
    site, thread, element, kind : numpy.ndarray
        Line, thread of the block, flat element, READ or WRITE or ATOMIC.
    row : numpy.ndarray
        Which warp's request an access belongs to.
    epoch, warp_epoch : numpy.ndarray
        How many ``syncthreads`` the block had passed, and how many ``syncwarp`` the thread's warp.
    released, acquired : numpy.ndarray of bool
        Whether a fence and an atomic came later in this block, and whether an atomic came before.
    """

    block: int
    site: np.ndarray
    thread: np.ndarray
    element: np.ndarray
    kind: np.ndarray
    row: np.ndarray
    epoch: np.ndarray
    warp_epoch: np.ndarray
    released: np.ndarray
    acquired: np.ndarray


def within_block(recorder, memory: Allocation, seen: Accesses) -> None:
    """Report the races of a block's threads among themselves."""
    if not (seen.kind == WRITE).any():
        return
    key = seen.epoch * (memory.data.size + 1) + seen.element
    if not seen.warp_epoch.any():
        pairs = [_conflicts(key, seen.thread, seen.kind)]
    else:  # syncwarp orders the threads of one warp only
        warp = seen.thread // WARP
        own = (key * (int(seen.warp_epoch.max()) + 1) + seen.warp_epoch) * WARP + warp
        pairs = [_conflicts(key, warp, seen.kind), _conflicts(own, seen.thread, seen.kind)]
    for first, second in pairs:
        for i, j in _one_for_each_pair_of_lines(seen.site, first, second):
            a, b = ((seen.block, seen.thread[k], seen.kind[k], seen.site[k]) for k in (i, j))
            _report(recorder, memory, seen.element[i], a, b)


def between_blocks(recorder, memory: Allocation, seen: Accesses) -> None:
    """Report races with the blocks that ran before, and remember this block's accesses."""
    tables = recorder.history.get(memory)
    if tables is None:
        tables = recorder.history[memory] = [np.full(memory.data.size, -1, np.int64) for _ in range(3)]
    for mine in (READ, WRITE, ATOMIC):
        chosen = np.flatnonzero(seen.kind == mine)
        if not len(chosen):
            continue
        for theirs in (READ, WRITE, ATOMIC):
            if WRITE not in (mine, theirs):
                continue
            old = tables[theirs][seen.element[chosen]]
            ordered = (old & 1).astype(bool) & seen.acquired[chosen]
            hit = np.flatnonzero((old >= 0) & ~ordered & (old // (2 * _SITES * _THREADS) != seen.block))
            if len(hit):
                i, code = chosen[hit[0]], int(old[hit[0]]) // 2
                other = (code // (_SITES * _THREADS), code // _SITES % _THREADS, theirs, code % _SITES)
                _report(recorder, memory, seen.element[i], other, (seen.block, seen.thread[i], mine, seen.site[i]))
    code = ((seen.block * _THREADS + seen.thread) * _SITES + seen.site) * 2 + seen.released
    for mine in (READ, WRITE, ATOMIC):
        chosen = seen.kind == mine
        tables[mine][seen.element[chosen]] = code[chosen]


def _conflicts(key, who, kind):
    """Pairs of accesses with one key by different threads, the first of which is a plain write."""
    writes = np.flatnonzero(kind == WRITE)
    key = key - key.min()
    span = int(key.max()) + 1
    if span > 8 * len(key) + 65536:
        key = np.unique(key, return_inverse=True)[1]
        span = int(key.max()) + 1
    writer = np.full(span, -1, np.int64)
    writer[key[writes]] = writes
    other = writer[key]
    hit = np.flatnonzero((other >= 0) & (who[other] != who))
    return other[hit], hit


def _one_for_each_pair_of_lines(site, first, second):
    if len(first):
        low, high = np.minimum(site[first], site[second]), np.maximum(site[first], site[second])
        for k in np.unique(low * _SITES + high, return_index=True)[1]:
            yield first[k], second[k]


def _report(recorder, memory, element, a, b):
    """`a`, `b`: (block, thread, kind, site)."""
    a, b = sorted((a, b), key=lambda one: (recorder.line(int(one[3])), one[2] != WRITE, one[1]))
    first, second = (recorder.access(int(n), int(t), int(kind), int(site)) for n, t, kind, site in (a, b))
    index = memory.where(element)
    name = f"{memory.name}[{', '.join(map(str, index))}]"
    between = a[0] != b[0]
    lines = [
        f"Two threads touch {name} in {memory.space} memory, and nothing says which comes first:",
        f"  thread {first.thread} of block {first.block} {_DOES[int(a[2])]} it at {first.place}",
        f"  thread {second.thread} of block {second.block} {_DOES[int(b[2])]} it at {second.place}",
        "  " + _advice(between, memory, first, second),
    ]
    recorder.find(
        "race_between_blocks" if between else "race",
        recorder.place(int(a[3])),
        "\n".join(lines),
        array=memory.name,
        space=memory.space,
        index=index,
        first=first,
        second=second,
    )


def _advice(between, memory, first, second):
    same = first.line == second.line
    if between:
        return "Blocks run in any order. Could each block write elements of its own, or cuda.atomic do the update?"
    if same and memory.space == "global":
        return "Could each thread write an element of its own, or cuda.atomic do the update?"
    return "A barrier, cuda.syncthreads(), that all threads pass between the two accesses would order them."
