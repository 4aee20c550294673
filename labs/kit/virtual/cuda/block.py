"""One block in flight: its lanes, its shared memory, its barriers, and what it did to memory."""

from __future__ import annotations

import hashlib
import math

import numpy as np

from labs.kit.virtual.cuda import races, traffic
from labs.kit.virtual.cuda.failures import DivergentBarrier, LaunchFailed
from labs.kit.virtual.cuda.findings import Access
from labs.kit.virtual.cuda.lanes import Lanes
from labs.kit.virtual.cuda.memory import WARP, Allocation, View, poisoned
from labs.kit.virtual.cuda.turns import Cancelled, Turn

_FLUSH_AT_BARRIER, _FLUSH_ANYWAY = 2_000, 20_000
"""So many requests are kept before they are looked at. In a longer stretch without a barrier, a race may be missed."""


class BlockRun:
    """One block of a launch.

    Parameters
    ----------
    launch : labs.kit.virtual.cuda.launch.LaunchRun
        The launch in flight.
    number : int
        Which block of the grid.
    """

    def __init__(self, launch, number: int):
        self.launch, self.number = launch, number
        self.index3 = launch.block_index(number)
        self.size = math.prod(launch.block)
        self.epoch, self.clock, self._turns = 0, 0, {}
        self._shared: dict[tuple, View] = {}
        self._shared_bytes, self._dynamic = 0, None
        self._pending: dict[Allocation, list] = {}
        self._requests = 0
        self._warp_epochs = None
        self._fence_at, self._release_at, self._acquire_at = None, -1, None

    # ---- running

    def run(self, arguments) -> None:
        """Run all threads of the block."""
        groups = [Lanes(self, *who) for who in self.launch.groups()]
        try:
            if len(groups) == 1:
                self._start(groups[0], arguments)
            else:
                self._take_turns(groups, arguments)
        finally:
            self.flush()

    def _start(self, lanes, arguments):
        function, lanes.lines, lanes.numbers = self.launch.bound(self.launch.kernel)
        lanes.code = function.__code__
        self.launch.now_running(lanes)
        with np.errstate(all="ignore"):
            if function(lanes, *arguments) is not None:
                raise self.launch.returned()

    def _take_turns(self, groups, arguments):
        self._turns = {lanes: Turn(lambda lanes=lanes: self._start(lanes, arguments)) for lanes in groups}
        waiting = {}
        try:
            for lanes in groups:
                self._resume(lanes, None, waiting)
            while waiting:
                self._meet(groups, waiting)
        except BaseException:
            for turn in self._turns.values():
                turn.cancel()
            raise

    def _resume(self, lanes, answer, waiting):
        self.launch.now_running(lanes)
        state = self._turns[lanes].resume(answer)
        if state is not None:
            waiting[lanes] = state

    def _meet(self, groups, waiting):
        """All warps wait or have ended: let those that wait go on."""
        places = {site for site, _ in waiting.values()}
        if len(waiting) < len(groups) or len(places) > 1:
            first = next(iter(waiting))
            here = waiting[first][0]
            self.divergence(first, [t for lanes, (site, _) in waiting.items() if site == here for t in lanes.ids])
        votes = np.concatenate([votes for _, votes in waiting.values()])
        self._passed_barrier()
        for lanes in list(waiting):
            del waiting[lanes]
            self._resume(lanes, votes, waiting)

    def end_if_cancelled(self, lanes) -> None:
        """End this warp when the launch has failed elsewhere."""
        turn = self._turns.get(lanes)
        if turn is not None and turn.cancelled:
            raise Cancelled

    # ---- barriers and order

    def barrier(self, lanes, votes) -> np.ndarray:
        """Wait for the other warps; returns the votes of all threads."""
        if lanes in self._turns:
            return self._turns[lanes].wait(((lanes.code, lanes.site), votes))
        self._passed_barrier()
        return votes

    def _passed_barrier(self):
        self.epoch += 1
        if self._requests > _FLUSH_AT_BARRIER and self._acquire_at is None:
            self.flush()

    def warp_barrier(self, ids):
        """These threads have passed a ``syncwarp``."""
        if self._warp_epochs is None:
            self._warp_epochs = np.zeros(self.size, np.int64)
        self._warp_epochs[ids] += 1

    def fence(self):
        """A ``threadfence``."""
        self.clock += 1
        self._fence_at = self.clock

    def note_atomic(self, memory):
        """An atomic on global memory: with a fence before, it publishes what this block has written."""
        if memory.space == "global":
            if self._acquire_at is None:
                self._acquire_at = self.clock
            if self._fence_at is not None:
                self._release_at = self.clock

    # ---- memory

    def shared_array(self, lanes, shape, dtype) -> View:
        """The shared array that stands at this place of the kernel."""
        name = lanes.variable or "shared array"
        if math.prod(shape) == 0:  # dynamic: every such array starts at the same byte
            key = ("dynamic", dtype)
            if key not in self._shared:
                if self._dynamic is None:
                    self._dynamic = poisoned(self.launch.dynamic, np.dtype(np.uint8))
                    self._allot(self.launch.dynamic)
                length = self.launch.dynamic // dtype.itemsize
                data = self._dynamic[: length * dtype.itemsize].view(dtype)
                self._shared[key] = View(Allocation((length,), dtype, "shared", name, data), (length,))
            return self._shared[key]
        key = (lanes.code, lanes.site)
        if key not in self._shared:
            base = self._allot(math.prod(shape) * dtype.itemsize)
            self._shared[key] = View(Allocation(shape, dtype, "shared", name, base=base), shape)
        return self._shared[key]

    def _allot(self, nbytes) -> int:
        base = -(-self._shared_bytes // 16) * 16
        self._shared_bytes = base + nbytes
        limit = self.launch.device.shared_per_block
        if self._shared_bytes > limit:
            raise LaunchFailed(
                f"A block of {self.launch.kernel.__name__} asks for {self._shared_bytes:,} bytes of shared memory; this"
                f" device gives a block {limit:,}. Use a smaller tile."
            )
        return base

    def local_array(self, lanes, shape, dtype) -> View:
        """A fresh local array for each lane."""
        return View(Allocation(shape, dtype, "local", lanes.variable or "local array", lanes=lanes.n), shape)

    def record(self, lanes, memory, site, kind, ids, flat):
        """Keep one request for `flush`."""
        self.clock += 1
        self._requests += 1
        if self._requests > _FLUSH_ANYWAY:
            self.flush()
        number = lanes.numbers[site]
        order = None if self._warp_epochs is None else self._warp_epochs[ids]
        self._pending.setdefault(memory, []).append((number, kind, ids, flat, self.epoch, order, self.clock))

    def flush(self) -> None:
        """Look for races in what was recorded, count its traffic, and forget it."""
        recorder, patterns = self.launch.recorder, self.launch.patterns
        for memory, batches in self._pending.items():
            pattern = self._pattern(memory, batches)
            sums = patterns.get(pattern)
            if sums is None:
                seen, found = self._accesses(batches, -(-self.size // WARP)), recorder.found
                races.within_block(recorder, memory, seen)
                if memory.space == "global":
                    races.between_blocks(recorder, memory, seen)
                sums = traffic.measure(recorder, memory, seen)
                if pattern is not None and recorder.found == found:
                    patterns[pattern] = sums
            recorder.add(sums)
        self._pending, self._requests = {}, 0

    def _pattern(self, memory, batches) -> bytes | None:
        """What tells these accesses from others; blocks mostly use their shared memory in the same way."""
        if memory.space != "shared" or self._warp_epochs is not None:
            return None
        digest = hashlib.blake2b(f"{memory.name} {memory.dtype} {memory.base}".encode(), digest_size=16)
        for site, kind, ids, flat, epoch, _, _ in batches:
            everybody = len(ids) == self.size
            digest.update(b"%d %d %d %d %d;" % (site, kind, epoch, len(ids), everybody))
            digest.update(flat if type(flat) is np.ndarray and flat.flags.c_contiguous else np.array(flat).tobytes())
            if not everybody:
                digest.update(ids)
        return digest.digest()

    def _accesses(self, batches, warps) -> races.Accesses:
        site, kind, ids, flat, epoch, order, clock = zip(*batches)
        counts = np.array([len(one) for one in ids])
        thread = np.concatenate(ids)
        time = np.repeat(clock, counts)
        if any(one is not None for one in order):
            order = [np.zeros(n, np.int64) if one is None else one for one, n in zip(order, counts)]
            warp_epoch = np.concatenate(order)
        else:
            warp_epoch = np.zeros(len(thread), np.int64)
        never = np.zeros(len(thread), bool)
        return races.Accesses(
            block=self.number,
            site=np.repeat(site, counts),
            thread=thread,
            element=np.concatenate([f if type(f) is np.ndarray else np.full(n, f) for f, n in zip(flat, counts)]),
            kind=np.repeat(kind, counts),
            row=np.repeat(np.arange(len(batches)), counts) * warps + thread // WARP,
            epoch=np.repeat(epoch, counts),
            warp_epoch=warp_epoch,
            released=time < self._release_at,
            acquired=never if self._acquire_at is None else time > self._acquire_at,
        )

    # ---- what goes wrong

    def recorder_words(self, thread: int) -> str:
        """ "thread (3, 0, 0) of block (1, 0, 0)"."""
        return self.launch.words(self.number, thread)

    def finding(self, kind, lanes, site, text, array="", space="", index=(), lane=None, op=""):
        """Note something that does not stop the launch."""
        first, place = None, lanes.place(site)
        if lane is not None:
            thread = self.launch.thread(int(lanes.ids[lane]))
            first = Access(tuple(self.index3), thread, op, place.line, str(place))
        self.launch.find(kind, place, text, array, space, index, first)

    def fault(self, error, lanes, site, text, array="", space="", index=(), lane=None, op=""):
        """Note something that stops the launch, and stop it, unless it was asked to go on."""
        self.finding(error.kind, lanes, site, text, array, space, index, lane, op)
        if self.launch.stops:
            facts = {"array": array, "space": space, "index": tuple(index), "op": op} if array else {}
            if lane is not None:
                facts |= {"thread": self.launch.thread(int(lanes.ids[lane])), "block": tuple(self.index3)}
            raise error(text, lanes.place(site), **facts)

    def divergence(self, lanes, present=None):
        """Report a barrier that not all threads of the block reach."""
        present = lanes.ids[lanes.lanes()] if present is None else np.asarray(present)
        absent = np.setdiff1d(np.arange(self.size), present)
        missing = self.launch.thread(int(absent[0])) if len(absent) else None
        text = (
            f"Only {len(present)} of the {self.size} threads of block {tuple(self.index3)} reach this barrier together;"
            f" thread {missing} does not: it took another branch, or has returned.\n  at {lanes.place()}\n  On a GPU"
            " this hangs, or lets threads run ahead. Every thread of a block must reach the same syncthreads: could"
            " the `if`"
            " guard the loads and stores only?"
        )
        here = int(np.flatnonzero(lanes.ids == present[0])[0]) if present[0] in lanes.ids else None
        self.fault(DivergentBarrier, lanes, lanes.site, text, lane=here)
