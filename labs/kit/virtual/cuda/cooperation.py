"""Threads that work together: barriers, votes, shuffles, atomics and fences."""

from __future__ import annotations

import numpy as np

from labs.kit.virtual.cuda import arithmetic
from labs.kit.virtual.cuda.failures import DivergentBarrier, WrongType
from labs.kit.virtual.cuda.masks import truth
from labs.kit.virtual.cuda.memory import ATOMIC, WARP, View

# ---- barriers of a block


def syncthreads(lanes):
    """Wait for all threads of the block."""
    _barrier(lanes, True)


def _count(lanes, predicate, name):
    dtype = arithmetic.typed(predicate).dtype
    if dtype.kind not in "iu":
        raise WrongType(f"cuda.{name} takes a whole number here and in Numba: write int(...) around the condition")
    return _barrier(lanes, truth(predicate))


def syncthreads_count(lanes, predicate):
    """A barrier; returns for how many threads `predicate` holds."""
    votes = _count(lanes, predicate, "syncthreads_count")
    return None if votes is None else np.int32(votes.sum())


def syncthreads_and(lanes, predicate):
    """A barrier; returns 1 when `predicate` holds for all threads."""
    votes = _count(lanes, predicate, "syncthreads_and")
    return None if votes is None else np.int32(votes.all())


def syncthreads_or(lanes, predicate):
    """A barrier; returns 1 when `predicate` holds for a thread."""
    votes = _count(lanes, predicate, "syncthreads_or")
    return None if votes is None else np.int32(votes.any())


def _barrier(lanes, votes):
    if not lanes.live:
        return None
    if lanes.mask is not None:
        lanes.block.divergence(lanes)
    return lanes.block.barrier(lanes, np.broadcast_to(votes, lanes.n)[lanes.lanes()])


# ---- warps


def _mask(lanes, mask) -> np.ndarray:
    """Which lanes a mask names, as a vector; reports lanes that are named and not there."""
    active = lanes.full(lanes.mask)
    mask = arithmetic.convert(mask, np.int64)
    named = (np.right_shift(mask, lanes.lane) & 1).astype(bool)
    if not np.array_equal(named, active):
        warp = lanes.ids // WARP - lanes.ids[0] // WARP
        busy = np.bincount(warp, active) > 0  # a warp none of whose lanes is here is simply elsewhere
        absent = named & ~active & busy[warp]
        if absent.any():
            _absent(lanes, int(np.flatnonzero(absent)[0]))
    return active


def _absent(lanes, lane):
    text = (
        f"A warp operation names {lanes.thread_in_words(lane)} in its mask, but that thread does not come here: it took"
        f" another branch, or has returned.\n  at {lanes.place()}\n  Move the operation out of the `if`, or name only"
        " the lanes that reach it."
    )
    lanes.block.fault(DivergentBarrier, lanes, lanes.site, text, lane=lane)


def syncwarp(lanes, mask=0xFFFFFFFF):
    """Wait for the lanes of the warp that `mask` names."""
    if lanes.live:
        lanes.block.warp_barrier(lanes.ids[_mask(lanes, mask)])


def _shuffle(source):
    def run(lanes, mask, value, other):
        if not lanes.live:
            return None
        active = _mask(lanes, mask)
        dtype = arithmetic.typed(value).dtype
        if dtype.kind not in "if" or dtype.itemsize < 4:
            raise WrongType(f"a shuffle takes int32, int64, float32 or float64 here and in Numba, not {dtype.name}")
        value, at = lanes.vector(value), np.arange(lanes.n)
        lane = source(lanes.lane, lanes.vector(other))
        target = at - lanes.lane + lane
        inside = (lane >= 0) & (lane < WARP)
        there = inside & (target < lanes.n)
        target = np.where(there, target, 0)
        lost = active & inside & ~(there & active[target])
        if lost.any():
            _inactive(lanes, int(np.flatnonzero(lost)[0]), lane)
        return np.where(there & active[target], value[target], value)

    return run


def _inactive(lanes, i, source):
    text = (
        f"{lanes.thread_in_words(i)}, lane {int(lanes.lane[i])}, reads the value of lane {int(source[i])}, which does"
        f" not take part: on a GPU the result is undefined.\n  at {lanes.place()}"
    )
    lanes.block.finding("inactive_lane", lanes, lanes.site, text, lane=i)


shfl_sync = _shuffle(lambda lane, other: other % WARP)
shfl_up_sync = _shuffle(lambda lane, other: lane - other)
shfl_down_sync = _shuffle(lambda lane, other: lane + other)
shfl_xor_sync = _shuffle(lambda lane, other: lane ^ other)


def _vote(count):
    def run(lanes, mask, predicate):
        if not lanes.live:
            return None
        active = _mask(lanes, mask)
        holds = np.broadcast_to(truth(predicate), lanes.n)
        warp = np.arange(lanes.n) // WARP
        return count(lanes, warp, int(warp[-1]) + 1, active, holds)[warp]

    return run


def _ballot(lanes, warp, warps, active, holds):
    bits = np.bincount(warp, np.where(holds & active, 1 << lanes.lane, 0), warps)
    return bits.astype(np.int64).astype(np.int32)  # int32, as Numba has it


ballot_sync = _vote(_ballot)
any_sync = _vote(lambda lanes, warp, warps, active, holds: np.bincount(warp, holds & active, warps) > 0)
all_sync = _vote(lambda lanes, warp, warps, active, holds: np.bincount(warp, ~holds & active, warps) == 0)


def activemask(lanes):
    """Bits of the warp's lanes that are here."""
    warp = np.arange(lanes.n) // WARP
    bits = np.bincount(warp, np.where(lanes.full(lanes.mask), 1 << lanes.lane, 0), int(warp[-1]) + 1)
    return bits.astype(np.int64).astype(np.uint32)[warp]


def lanemask_lt(lanes):
    """Bits of the lanes below the thread's own."""
    return ((1 << lanes.lane) - 1).astype(np.uint32)


# ---- fences and atomics


def threadfence(lanes):
    """What this thread has written is seen before what it writes from now on."""
    lanes.block.fence()


_UPDATES = {
    "add": np.add,
    "sub": np.subtract,
    "max": np.fmax,
    "min": np.fmin,
    "nanmax": np.fmax,
    "nanmin": np.fmin,
    "and_": np.bitwise_and,
    "or_": np.bitwise_or,
    "xor": np.bitwise_xor,
}
_SERIAL = {
    "exch": lambda old, value: value,
    "inc": lambda old, value: old.dtype.type(0) if old >= value else old + old.dtype.type(1),
    "dec": lambda old, value: value if old == 0 or old > value else old - old.dtype.type(1),
}


def atomic(operation):
    """An intrinsic ``cuda.atomic.<operation>(array, index, value)``; returns what was there before."""

    def run(lanes, array, index, value):
        return _atomic(lanes, operation, array, index, value)

    return run


def compare_and_swap_at(lanes, array, index, old, value):
    """``cuda.atomic.cas(array, index, old, value)``."""
    return _atomic(lanes, "cas", array, index, value, old)


def compare_and_swap(lanes, array, old, value):
    """``cuda.atomic.compare_and_swap(array, old, value)`` on the first element."""
    return _atomic(lanes, "cas", array, 0, value, old)


def _atomic(lanes, operation, array, index, value, compare=None):
    site, wanted = lanes.site, lanes.wanted
    lanes.wanted = True
    if type(array) is not View:
        raise WrongType(f"cuda.atomic.{operation} takes an array, an index and a value")
    if operation in ("and_", "or_", "xor", "inc", "dec") and array.dtype.kind not in "iu":
        raise WrongType(f"cuda.atomic.{operation} takes an array of whole numbers, not of {array.dtype.name}")
    flat, chosen = lanes.address(array, index, site, ATOMIC)
    memory, who = array.memory, lanes.lanes() if chosen is None else chosen
    if not len(who):
        return array.dtype.type(0)
    if lanes.watching:
        lanes.observe(memory, site, ATOMIC, flat, chosen)
    lanes.block.note_atomic(memory)
    if memory.written is not None:
        memory.written[flat] = True
    flat = np.broadcast_to(flat, len(who))
    values = arithmetic.convert(lanes.vector(value)[who], array.dtype)
    update = _UPDATES.get(operation)
    if update is not None and not wanted:
        update.at(memory.data, flat, values)
        return None
    step = update or _SERIAL.get(operation)
    expected = None if compare is None else arithmetic.convert(lanes.vector(compare)[who], array.dtype)
    old = np.empty(len(who), array.dtype)
    for k, element in enumerate(flat):  # one lane after another, as the hardware serialises them
        old[k] = was = memory.data[element]
        if step is not None:
            memory.data[element] = step(was, values[k])
        elif was == expected[k]:
            memory.data[element] = values[k]
    out = np.zeros(lanes.n, array.dtype)
    out[who] = old
    return out
