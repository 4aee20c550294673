"""The scheduler: ranks are greenlets that take turns; when all of them wait, the virtual clock goes on.

A rank runs until it waits for something. It then hands over directly to the next rank that can go on, and to the hub
(the greenlet that called `simulate`) when there is none. The hub moves the clock to the next instant and lets that
instant's events happen, which makes ranks ready again. If no event is left, the run has ended or is deadlocked.
"""

from __future__ import annotations

import gc
import heapq
from collections import deque
from math import inf
from sys import _getframe
from threading import get_ident

import torch
from greenlet import GreenletExit, getcurrent

from labs.kit.virtual import reports
from labs.kit.virtual.clock import Clock
from labs.kit.virtual.failures import Misuse, RankDied, RunFailure
from labs.kit.virtual.generators import Generators
from labs.kit.virtual.groups import Group
from labs.kit.virtual.links import Network
from labs.kit.virtual.mail import Mail
from labs.kit.virtual.places import place_of_frame, place_of_instruction
from labs.kit.virtual.record import Record
from labs.kit.virtual.tasks import Later, Task, Working, set_grad
from labs.kit.virtual.watchdog import twice, withdraw

_grad_enabled = torch.is_grad_enabled
_inference = torch.is_inference_mode_enabled
_PATIENCE = 1000  # rounds in which ranks only ask is_completed() and nothing happens, before it counts as a deadlock
_POLITE, _UNWIND = 10, 100  # how often a rank may refuse to end before it is pressed, and before it is left alone
_ROWS_LOOSE = 100_000  # numbers in the record before they are packed
WATCHED_RANKS = 64  # send buffers are watched for changes up to this many ranks


class Engine:
    """Everything that lives as long as one run.

    Attributes
    ----------
    hub : greenlet
        The caller of `simulate`; runs the loop and starts all tasks.
    current : Task
        The task that runs, or ran last.
    ready, new : deque of Task
        Tasks that can go on, and tasks that have not started.
    failure : tuple or None
        (rank, exception) of the first failure.
    """

    def __init__(self, world_size, topology, *, trace, eager_bytes, collectives, expect_dead, timeout):
        self.world_size, self.topology, self.collectives = world_size, topology, collectives
        self.timeout = timeout
        self.expect_dead, self.dead = frozenset(expect_dead), set()
        self.hub, self.grad, self.thread = getcurrent(), _grad_enabled(), get_ident()
        self.clock = Clock()
        self.network = Network(self.clock, topology)
        self.record = Record(world_size, keep=trace)
        self.current = self.failure = None
        self.closing, self.alive, self.refused = False, 0, 0
        self.new, self.ready, self.pollers = deque(), deque(), []
        self.watch_buffers = world_size <= WATCHED_RANKS
        self.reused: list[tuple] = []
        self.mail = Mail(self, eager_bytes)
        self.calls: list = []  # every collective call
        self.groups = [Group(range(world_size), 0)]
        self.group_count = [0] * world_size
        self.tasks: list[Task] = []

    # ---- taking turns

    def block(self, on) -> None:
        """Suspend the running task; whoever completes `on` puts it in `ready`."""
        if self.closing:
            self._refuse()
        if get_ident() != self.thread:
            self._wrong_thread()
        task, grad, ready = self.current, _grad_enabled(), self.ready
        task.on = on
        if self.swapped or not self.untouched():
            self.generators.leave(task)
        if ready:
            self.current = other = ready.popleft()
        else:
            other = self.hub
        if _inference():
            with torch.inference_mode(False):
                other.switch()
        else:
            other.switch()
        task.on = None
        if self.swapped:
            self.generators.enter(task)
        if _grad_enabled() is not grad:  # the mode belongs to the thread: without this it leaks from rank to rank
            set_grad(grad)

    def _refuse(self):
        """Somebody blocks while the run is unwound (in a `finally`, in an `except:`): end it again.

        Who keeps catching the exception gets a second one, which appears outside of the `try` that catches the first.
        Who catches that, too, is left standing where it is.
        """
        self.refused += 1
        if getcurrent() is self.hub:
            raise RuntimeError("this run is over; its dist cannot be used any more")
        if self.refused > _UNWIND:
            self.hub.switch()
        raise GreenletExit if self.refused <= _POLITE else twice(GreenletExit, self.watchdog.thread)

    def _wrong_thread(self):
        """A rank's own thread cannot wait: ranks take turns in the thread of `simulate`."""
        text = (
            "dist was called in a thread that the rank has started. Virtual ranks live in one thread: call dist where "
            'the program itself runs, or use on="gloo", where every rank is a process.'
        )
        self.fail(self.current.rank, error := Misuse(text, self.current.rank))
        raise error

    def sleep(self, task: Task, seconds: float, label: str) -> None:
        """Let virtual time pass for the running task."""
        clock = self.clock
        clock.at(clock.now + seconds, task)
        self.block(Working(label))

    def catch_up(self, task: Task) -> None:
        """Let the clock reach the point up to which the task has worked inside backward."""
        ahead = task.offset
        until, task.offset = self.clock.now + ahead, 0.0
        self.clock.at(until, task)
        self.block(Working("backward"))

    def poll(self, work) -> None:
        """Asking about a handle is free once an instant; asking again lets time run to the next event."""
        task = self.current
        if task.offset:
            self.catch_up(task)
        elif task.polled == self.clock.now and id(work) in task.asked:
            self.pollers.append(task)
            self.block(work)
        if task.polled != self.clock.now:
            task.polled, task.asked = self.clock.now, set()
        task.asked.add(id(work))

    def later(self, task: Task, action) -> None:
        """Do `action()` at the task's own time: now, or as far ahead as it has worked inside backward."""
        if task.offset:
            self.clock.at(self.clock.now + task.offset, Later(self, task.rank, action))
        else:
            action()

    # ---- the loop

    def loop(self) -> None:
        ready, new, clock, network, record, idle = self.ready, self.new, self.clock, self.network, self.record, 0
        times, buckets = clock.times, clock.buckets
        while True:
            while new or ready:  # only the hub starts greenlets: from within a rank they would stack up on its C stack
                task = (new or ready).popleft()
                self.current = task
                task.switch()
                if self.failure is not None:
                    return
            set_grad(False)
            record.pack(_ROWS_LOOSE)
            if network.touched:
                network.settle()
            if times:
                clock.now = time = heapq.heappop(times)
                for event in buckets.pop(time):
                    event.fire(time)
                if self.failure is not None:
                    return
                idle = 0
            elif not self.pollers or (idle := idle + 1) > _PATIENCE:
                return
            if self.pollers:
                ready.extend(self.pollers)
                self.pollers.clear()

    def run(self, function, arguments, dists, watchdog) -> None:
        """Run `function(*arguments(rank), dists[rank])` on all ranks to the end.

        Raises
        ------
        RunFailure
            Of the fitting kind.
        KeyboardInterrupt
            With a note that says which rank was running.
        """
        self.tasks = [Task(self, rank, function, (*arguments(rank), dist)) for rank, dist in enumerate(dists)]
        self.new.extend(self.tasks)
        self.alive = self.world_size
        # A run makes few reference cycles and many live objects: the collector would take a third of its time.
        thresholds, thawed = gc.get_threshold(), gc.get_freeze_count() == 0
        gc.set_threshold(100_000, 50, 100)
        if thawed:
            gc.freeze()
        self.watchdog, self.generators = watchdog, Generators()
        self.untouched, self.swapped = self.generators.untouched, self.generators.used
        try:
            try:
                with watchdog:
                    self.loop()
                self.record.pack()
            except BaseException as error:  # in the hub: a time-out or an interrupt between two ranks
                self.failure = self.failure or (None, error)
            failure = None
            if self.failure is not None:
                failure = reports.failure(self, *self.failure)
            elif self.alive:
                failure = reports.deadlock(self)
        finally:
            try:
                stubborn = self.unwind()
            finally:
                gc.set_threshold(*thresholds)
                if thawed:
                    gc.unfreeze()
                self.generators.close()
                set_grad(self.grad)
        if failure is not None:
            for text in stubborn:
                failure.add_note(text)
            raise failure

    def unwind(self) -> list[str]:
        """End all tasks; the learner's `finally` blocks run now. Returns a sentence for each that cannot be ended."""
        self.closing, stubborn = True, []
        for task in self.tasks:
            if not task.dead:
                self.current, self.refused = task, 0
                try:
                    task.throw(GreenletExit)
                except GreenletExit:  # the second one of _refuse, which the rank did not need
                    pass
                finally:
                    if self.refused > _POLITE:
                        withdraw(self.watchdog.thread)
                if not task.dead:
                    stubborn.append(reports.stubborn(task))
            task.function = task.arguments = None
        self.refused = inf
        return stubborn

    # ---- failures

    def fail(self, rank: int | None, error: BaseException) -> None:
        if self.failure is None:
            self.failure = (rank, error)

    def ended_with(self, task: Task, error: BaseException) -> None:
        """A task's code raised."""
        if task.work is not None and isinstance(error, RankDied):
            task.work.complete(error)
            return
        planned = isinstance(error, RankDied) or not isinstance(error, RunFailure)
        if task.rank in self.expect_dead and isinstance(error, Exception) and planned:
            return
        self.fail(task.rank, error)

    def blocked_in_backward(self, operation: str) -> Misuse:
        place = place_of_frame(_getframe(1))
        rank = self.current.rank
        return Misuse(
            f"Rank {rank} calls {operation} inside backward, at {place}.\n"
            "While autograd runs, virtual ranks cannot change places, so nothing may wait there. "
            "Start the operation in the hook (isend, irecv or async_op=True), keep its handle, "
            "and call handle.wait() after backward.",
            rank,
        )

    def sizes_differ(self, send, receive) -> None:
        raise reports.sizes_differ(self, send, receive)

    def buffer_reused(self, send) -> None:
        self.reused.append((send.rank, send.peer, send.nbytes, send.place))

    # ---- ranks that are expected to die

    def died(self, rank: int) -> None:
        """A rank of `expect_dead` has ended: whoever depends on it gets a RankDied."""
        self.dead.add(rank)
        for work in self.mail.unmatched():
            if rank in work.peers() and work.rank not in self.dead:
                self.mail.remove(work)
                self.give_up(work, rank)
            elif work.rank == rank and not (work.done and not work.is_receive):
                self.mail.remove(work)
        for call in self.calls:
            if call.open and rank in call.group.index:
                call.give_up(rank)

    def give_up(self, work, rank: int) -> None:
        """Complete an operation with an error instead of a result."""
        place = f" (at {place_of_instruction(*work.place)})" if work.place else ""
        work.error = RankDied(f"Rank {work.rank} cannot finish {work}{place}: rank {rank} has died.", rank)
        work.done = True
        if work.waiter is not None:
            self.ready.append(work.waiter)
