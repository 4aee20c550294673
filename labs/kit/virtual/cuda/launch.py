"""One launch in flight: it runs the blocks one after the other and keeps what they share."""

from __future__ import annotations

import math
import time
from collections import namedtuple

import numpy as np

from labs.kit.virtual.cuda.block import BlockRun
from labs.kit.virtual.cuda.failures import (
    EndlessLoop,
    Interrupted,
    KernelError,
    KernelFailure,
    LaunchFailed,
    WrongType,
)
from labs.kit.virtual.cuda.memory import WARP
from labs.kit.virtual.cuda.record import Recorder
from labs.kit.virtual.cuda.turns import Cancelled
from labs.kit.virtual.places import Place, place_of

Dim3 = namedtuple("Dim3", "x y z")


class LaunchRun:
    """A kernel on its way.

    Parameters
    ----------
    machine : labs.kit.virtual.cuda.context.Machine
        Where it runs: its limits, and who is asked for threadIdx.
    kernel : labs.kit.virtual.cuda.kernel.Dispatcher
        What runs.
    grid, block : Dim3
        The launch configuration.
    dynamic : int
        Bytes of dynamic shared memory.
    device : labs.kit.virtual.cuda.devices.Device
        Where.
    """

    def __init__(self, machine, kernel, grid: Dim3, block: Dim3, dynamic: int, device):
        self.machine, self.kernel, self.grid, self.block = machine, kernel, grid, block
        self.dynamic, self.device = dynamic, device
        self.observed = machine.limits.observe
        self._notes = Recorder(kernel.__name__, grid, block)
        self.recorder = self._notes if self.observed else None
        self.flops: dict[np.dtype, int] = {}
        self.turns, self.stops = 0, machine.stops
        self._started = time.monotonic()
        self.patterns: dict[bytes, dict] = {}  # traffic of access patterns that hold no race
        self.unified: dict[tuple, np.dtype] = {}  # types of conditional expressions
        self._bound: dict[object, tuple] = {}
        self._groups: list[tuple] = []

    def run(self, arguments) -> None:
        """Run all blocks; every failure names the learner's line."""
        try:
            blocks = math.prod(self.grid)
            for number in range(blocks):
                if not number & 15:
                    self._check_clock(number, blocks)
                BlockRun(self, number).run(arguments)
        except (KernelFailure, NotImplementedError) as error:
            if isinstance(error, (WrongType, LaunchFailed)) and error.place is None:
                self._locate(error)
            if isinstance(error, KernelFailure):
                error.facts.setdefault("kernel", self.kernel.__name__)
            raise
        except KeyboardInterrupt as error:
            place = self._place(error)
            text = f"Interrupted while {self.kernel.__name__} ran" + (f"\n  at {place}" if place else "")
            raise Interrupted(text, place) from None
        except Cancelled:
            raise
        except Exception as error:
            place = self._place(error)
            raise KernelError(type(error).__name__, _message(error), place, kernel=self.kernel.__name__) from error
        finally:
            self.machine.lanes = None

    # ---- what the lanes ask for

    def bound(self, dispatcher) -> tuple:
        """The rewritten function of a kernel or device function, and line and line number of each of its sites."""
        if dispatcher not in self._bound:
            translated = dispatcher.translated()
            function, lines = translated.bind(), translated.lines
            self._bound[dispatcher] = function, lines, tuple(self._notes.site(function.__code__, n) for n in lines)
        return self._bound[dispatcher]

    def groups(self) -> list[tuple]:
        """(thread numbers, threadIdx, laneid) of the lanes that run together: a block, or each warp of it."""
        if not self._groups:
            size, (x, y, _) = math.prod(self.block), self.block
            width = WARP if self.machine.warps_take_turns else size
            for low in range(0, size, width):
                t = np.arange(low, min(low + width, size))
                self._groups.append((t, Dim3(t % x, t // x % y, t // (x * y)), t % WARP))
        return self._groups

    def now_running(self, lanes) -> None:
        """Answer ``cuda.threadIdx`` with these lanes' from now on."""
        self.machine.lanes = lanes

    def block_index(self, number) -> Dim3:
        """blockIdx of a block."""
        return Dim3(*self._notes.block_index(number))

    def thread(self, number):
        """threadIdx of a thread of a block."""
        return self._notes.thread(number)

    def words(self, block, thread) -> str:
        """ "thread (3, 0, 0) of block (1, 0, 0)"."""
        return self._notes.words(block, thread)

    def find(self, kind, place, text, array="", space="", index=(), first=None):
        """Note a finding."""
        self._notes.find(kind, place, text, array, space, index, first)

    def findings(self):
        """What was found so far."""
        return self._notes.findings()

    def lines(self):
        """Traffic by line."""
        return self._notes.lines()

    def check_time(self, turns: int, place: Place) -> None:
        """End a loop, or a launch, that takes too long."""
        limits, seconds = self.machine.limits, time.monotonic() - self._started
        if turns <= limits.turns and seconds <= limits.seconds:
            return
        if turns > limits.turns:
            text = f"This loop of {self.kernel.__name__} has turned {turns:,} times and goes on.\n  at {place}\n"
        else:
            text = f"{self.kernel.__name__} has run for {seconds:.0f} s and is still in a loop.\n  at {place}\n"
        text += (
            "  Does its condition change for every thread? (Waiting in a loop for another thread never ends here,"
            " and need not end on a GPU.)"
        )
        self.find("time_limit", place, text)
        raise EndlessLoop(text, place)

    def _check_clock(self, done: int, blocks: int) -> None:
        """End a launch of more blocks than there is time for."""
        seconds = time.monotonic() - self._started
        if seconds <= self.machine.limits.seconds:
            return
        code = self.kernel.__code__
        place = place_of(code, code.co_firstlineno)
        text = (
            f"{self.kernel.__name__} has run for {seconds:.0f} s and has finished {done:,} of its {blocks:,} blocks.\n"
            f"  at {place}\n  The virtual device is slower than a GPU: launch a smaller grid on smaller arrays here."
        )
        self.find("time_limit", place, text)
        raise EndlessLoop(text, place)

    def returned(self) -> WrongType:
        """The complaint about a kernel that returns a value."""
        code, lines = self.kernel.__code__, self.kernel.translated().returns
        place = place_of(code, lines[0] if lines else code.co_firstlineno)
        name = self.kernel.__name__
        text = f"{name} returns a value, but a kernel returns nothing: write the result to an array\n  at {place}"
        return WrongType(text, place)

    # ---- lines of failures

    def _place(self, error) -> Place | None:
        """The innermost line of a kernel in the traceback of `error`; of the running lanes when there is none."""
        codes = {function.__code__ for function, _, _ in self._bound.values()}
        trace, place = error.__traceback__, None
        while trace is not None:
            code = trace.tb_frame.f_code
            if code in codes:
                place = place_of(code, trace.tb_lineno)
            trace = trace.tb_next
        lanes = self.machine.lanes
        if place is None and lanes is not None and lanes.code is not None and lanes.lines:
            place = lanes.place()
        return place

    def _locate(self, error) -> None:
        error.place = self._place(error)
        if error.place is not None:
            error.args = (f"{error}\n  at {error.place}",)


def _message(error) -> str:
    text = str(error)
    if isinstance(error, TypeError) and "_R" in text:
        return text.replace("missing 1 required positional argument: '_R'", "called with too few arguments")
    return text
