"""The ring all-reduce written on SimPy, the usual library for simulating such things: the peer of virtual ranks.

Both writings simulate the same as the virtual machine does for this program: a send and its receive wait for each
other, then the message takes latency + bytes / bandwidth. They leave out what it does besides: fair sharing of links,
traces, checks of sizes and types, explanations of deadlocks.
"""

from __future__ import annotations

from collections import deque

import simpy
import torch


def ring_program(tensor, dist):
    """The ring of `bench.programs`, as SimPy wants it: a generator that yields whatever it waits for."""
    rank, size = dist.rank, dist.size
    right, left = (rank + 1) % size, (rank - 1) % size
    chunks = tensor.view(size, -1).unbind()
    incoming = torch.empty_like(chunks[0])
    for step in range(size - 1):
        sending = dist.isend(chunks[(rank - step) % size], right)
        yield dist.irecv(incoming, left)
        yield sending
        chunks[(rank - step - 1) % size].add_(incoming)
    for step in range(size - 1):
        sending = dist.isend(chunks[(rank + 1 - step) % size], right)
        yield dist.irecv(chunks[(rank - step) % size], left)
        yield sending
    return tensor


class Idiomatic:
    """Messages as SimPy's manual teaches: a Store for each channel, a process for each transfer."""

    def __init__(self, environment, rank, size, channels, latency, bandwidth):
        self.environment, self.rank, self.size, self.channels = environment, rank, size, channels
        self.latency, self.bandwidth = latency, bandwidth

    def isend(self, tensor, dst):
        return self.environment.process(self._send(tensor, self.rank, dst))

    def irecv(self, tensor, src):
        return self.environment.process(self._receive(tensor, src, self.rank))

    def _channel(self, *key):
        if key not in self.channels:
            self.channels[key] = simpy.Store(self.environment)
        return self.channels[key]

    def _send(self, tensor, src, dst):
        yield self._channel(src, dst, "data").put(tensor)
        yield self._channel(src, dst, "done").get()

    def _receive(self, tensor, src, dst):
        arriving = yield self._channel(src, dst, "data").get()
        yield self.environment.timeout(self.latency + arriving.nbytes / self.bandwidth)
        tensor.copy_(arriving)
        yield self._channel(src, dst, "done").put(True)


class Lean:
    """Messages with as little of SimPy as possible: an event for each side and one timeout, no processes."""

    def __init__(self, environment, rank, size, channels, latency, bandwidth):
        self.environment, self.rank, self.size, self.channels = environment, rank, size, channels
        self.latency, self.bandwidth = latency, bandwidth

    def isend(self, tensor, dst):
        return self._post((self.rank, dst), True, tensor)

    def irecv(self, tensor, src):
        return self._post((src, self.rank), False, tensor)

    def _post(self, channel, sends, tensor):
        event, waiting = self.environment.event(), self.channels.setdefault(channel, deque())
        if not waiting or waiting[0][0] == sends:
            waiting.append((sends, event, tensor))
            return event
        _, other_event, other_tensor = waiting.popleft()
        source, target = (tensor, other_tensor) if sends else (other_tensor, tensor)

        def arrive(_):
            target.copy_(source)
            event.succeed()
            other_event.succeed()

        timeout = self.environment.timeout(self.latency + source.nbytes / self.bandwidth)
        timeout.callbacks.append(arrive)
        return event


def run(writing, tensors, latency, bandwidth):
    """Simulate the ring in one `writing`.

    Parameters
    ----------
    writing : type
        `Idiomatic` or `Lean`.
    tensors : list of torch.Tensor
        One a rank; changed in place.
    latency, bandwidth : float
        Seconds and B/s of each message.

    Returns
    -------
    tuple of (list of torch.Tensor, float)
        What each rank returned, and the simulated seconds.
    """
    environment, channels = simpy.Environment(), {}
    size = len(tensors)
    processes = [
        environment.process(ring_program(tensor, writing(environment, rank, size, channels, latency, bandwidth)))
        for rank, tensor in enumerate(tensors)
    ]
    environment.run()
    return [process.value for process in processes], environment.now
