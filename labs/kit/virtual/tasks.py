"""Greenlets that run on a rank's behalf, and how code finds the one in which it runs."""

from __future__ import annotations

import torch
from greenlet import GreenletExit, getcurrent, greenlet

set_grad = torch._C._set_grad_enabled


class Task(greenlet):
    """A rank, or an asynchronous collective that works for a rank (then `work` is its handle).

    Attributes
    ----------
    on : object or None
        What the task is blocked in; has `peers()` and a text.
    offset : float
        Seconds that the rank is ahead of the clock: work done inside backward, where ranks cannot change places.
    end : float or None
        Virtual time at which it ended.
    """

    # Slots, although every greenlet has a dictionary: they are quicker to reach, which the scheduler does often.
    __slots__ = (
        "arguments",
        "end",
        "engine",
        "error",
        "function",
        "offset",
        "on",
        "polled",
        "random",
        "rank",
        "value",
        "work",
    )

    def __init__(self, engine, rank, function, arguments, work=None):
        super().__init__(parent=engine.hub)
        self.engine, self.rank, self.function, self.arguments, self.work = engine, rank, function, arguments, work
        self.on = self.end = self.value = self.random = self.error = None
        self.offset, self.polled = 0.0, -1.0

    def run(self):
        engine = self.engine
        set_grad(engine.grad)
        if engine.swapped:
            engine.generators.enter(self)
        try:
            self.value = self.function(*self.arguments)
            if self.offset:
                engine.catch_up(self)
            if self.work is not None:
                self.work.complete()
        except GreenletExit:
            return
        except BaseException as error:
            engine.ended_with(self, error)
        self.end = engine.clock.now
        engine.alive -= 1
        if self.work is None:
            if engine.swapped or not engine.untouched():
                engine.generators.leave(self)
            if self.rank in engine.expect_dead:
                engine.died(self.rank)

    def fire(self, time: float) -> None:
        """As an event: the task goes on."""
        self.engine.ready.append(self)


class Working:
    """What a rank is blocked in while it computes."""

    __slots__ = ("label",)

    def __init__(self, label: str):
        self.label = label

    def peers(self) -> tuple[int, ...]:
        return ()

    def __str__(self) -> str:
        return self.label


def current_task() -> Task | None:
    """The task in which the caller runs, or None outside of virtual ranks."""
    task = getcurrent()
    return task if isinstance(task, Task) else None
