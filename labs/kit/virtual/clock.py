"""The virtual clock: a heap of instants, each with the events that happen then, in the order they were planned."""

from __future__ import annotations

import heapq


class Clock:
    """Virtual time in seconds, and what is planned.

    Events are kept in buckets, one for each instant: in a balanced program many messages arrive at the same moment,
    and a heap of instants is then much shorter than a heap of events.
    """

    __slots__ = ("buckets", "now", "times")

    def __init__(self):
        self.now = 0.0
        self.times: list[float] = []
        self.buckets: dict[float, list] = {}

    def at(self, time: float, event) -> None:
        """Let `event.fire(time)` be called when the clock reaches `time`."""
        bucket = self.buckets.get(time)
        if bucket is None:
            self.buckets[time] = [event]
            heapq.heappush(self.times, time)
        else:
            bucket.append(event)
