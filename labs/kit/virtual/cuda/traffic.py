"""What a warp's accesses cost: 32-byte sectors of global memory, and passes over the 32 banks of shared memory.

Source: CUDA C++ Best Practices Guide, "Coalesced Access to Global Memory" and "Shared Memory and Memory Banks".
"""

from __future__ import annotations

import numpy as np

from labs.kit.virtual.cuda.findings import Sample
from labs.kit.virtual.cuda.memory import WARP, Allocation
from labs.kit.virtual.cuda.races import Accesses

SECTOR, BANKS, BANK = 32, 32, 4


def measure(recorder, memory: Allocation, seen: Accesses) -> dict:
    """Cost of a block's requests: for each (space, array, itemsize, site, kind) the sums that `Recorder.add` takes."""
    size = memory.dtype.itemsize
    rows = np.full((int(seen.row.max()) + 1, WARP), -1, np.int64)
    rows[seen.row, seen.thread % WARP] = seen.element
    site, kind = np.zeros(len(rows), np.int64), np.zeros(len(rows), np.int64)
    site[seen.row], kind[seen.row] = seen.site, seen.kind
    used = rows.max(1) >= 0
    address = np.where(rows >= 0, memory.base + rows * size, -1)
    if memory.space == "global":
        cost, ideal, useful = _sectors(rows, address, size)
    else:
        cost, ideal, useful = _wavefronts(address, size)
    accesses = (rows >= 0).sum(1)
    code, out = site * 4 + kind, {}
    for c in np.unique(code[used]):
        mine = np.flatnonzero(used & (code == c))
        key = (memory.space, memory.name, size, int(c) >> 2, int(c) & 3)
        out[key] = (len(mine), *(int(column[mine].sum()) for column in (accesses, cost, ideal, useful)))
        if key not in recorder.samples:
            best = mine[np.argmax(accesses[mine])]
            warp = int(seen.thread[np.flatnonzero(seen.row == best)[0]]) // WARP
            addresses = tuple(int(a) if a >= 0 else None for a in address[best])
            recorder.samples[key] = Sample(recorder.block_index(seen.block), warp, addresses, size)
    return out


def _distinct(rows):
    """Number of distinct values in each row; negative ones do not count."""
    ordered = np.sort(rows, axis=1)
    return ((ordered[:, 1:] != ordered[:, :-1]) & (ordered[:, 1:] >= 0)).sum(1) + (ordered[:, 0] >= 0)


def _sectors(rows, address, size):
    used = _distinct(rows) * size
    return _distinct(np.where(address >= 0, address // SECTOR, -1)), -(-used // SECTOR), used


def _wavefronts(address, size):
    phases = max(1, size // BANK)  # 8-byte elements go half a warp at a time
    word = np.where(address >= 0, address // BANK, -1).reshape(-1, WARP // phases)
    ordered = np.sort(np.where(word >= 0, (word % BANKS << 40) + word, -1), axis=1)
    new = ordered >= 0
    new[:, 1:] &= ordered[:, 1:] != ordered[:, :-1]
    row, column = np.nonzero(new)
    bank = ordered[row, column] >> 40
    words = np.bincount(row * BANKS + bank, minlength=len(ordered) * BANKS).reshape(-1, BANKS)
    cost = words.max(1).reshape(-1, phases).sum(1)
    ideal = (words.max(1) > 0).reshape(-1, phases).sum(1)
    return cost, ideal, words.sum(1).reshape(-1, phases).sum(1) * max(BANK, size)
