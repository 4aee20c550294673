"""Results between ranks: sends that nobody waits for, and receives posted in the order in which the sender sends."""

from __future__ import annotations

from collections import defaultdict, deque

HOLDS_ANSWERS = True  # the order of messages is what the learner's executor must get right


class Post:
    """The messages of one rank during one step.

    Every rank knows the whole schedule, so it knows in which order each neighbour sends. It posts its receives in that
    order, one ahead of what it needs, which lets a transfer go on while it computes. A send is never waited for until
    the receiver must have taken it, so no schedule whose dependencies have no circle can deadlock.

    Parameters
    ----------
    plan : plan.RankPlan
    dist : torch.distributed or its virtual twin
    groups : tuple
        For messages to lower and to higher ranks, see `directions`.
    """

    def __init__(self, plan, dist, groups=(None, None)):
        self.dist, self.groups = dist, groups
        self.expected = {sender: deque(messages) for sender, messages in plan.incoming.items()}
        self.posted = {sender: deque() for sender in self.expected}
        self.arrived = {}  # by action: the tensor
        self.sent = defaultdict(list)  # by receiver: (position at which it takes the message, handle, tensor)
        for sender in self.expected:
            self._post(sender)

    def receive(self, action, sender):
        """Wait for the result of an action of another rank.

        Parameters
        ----------
        action : Action
        sender : int

        Returns
        -------
        torch.Tensor
        """
        while action not in self.arrived:
            self._post(sender)
            message, buffer, handle = self.posted[sender].popleft()
            handle.wait()
            self.arrived[message.action] = buffer
            self._forget(sender, message.position)
        return self.arrived.pop(action)

    def send(self, tensor, receiver, position):
        """Start a message.

        Parameters
        ----------
        tensor : torch.Tensor
            Contiguous; kept until it must have arrived.
        receiver : int
        position : int
            Of the receiver's action that takes the message.
        """
        handle = self.dist.isend(tensor, receiver, group=self._group(self.dist.get_rank(), receiver))
        self.sent[receiver].append((position, handle, tensor))

    def finish(self):
        """Wait until all messages have gone."""
        for messages in self.sent.values():
            for _, handle, _ in messages:
                handle.wait()
        self.sent.clear()

    def _post(self, sender):
        """Post receives until two are under way: the next one, and one ahead."""
        import torch

        while self.expected[sender] and len(self.posted[sender]) < 2:
            message = self.expected[sender].popleft()
            buffer = torch.empty(message.shape, dtype=message.dtype)
            handle = self.dist.irecv(buffer, sender, group=self._group(sender, self.dist.get_rank()))
            self.posted[sender].append((message, buffer, handle))

    def _forget(self, peer, position):
        """Let go of the tensors that a rank must have taken: it has sent the result of its action at `position`."""
        if any(taken <= position for taken, _, _ in self.sent[peer]):
            for taken, handle, _ in self.sent[peer]:
                if taken <= position:
                    handle.wait()
            self.sent[peer] = [entry for entry in self.sent[peer] if entry[0] > position]

    def _group(self, sender, receiver):
        return self.groups[sender < receiver]


def directions(dist):
    """Groups for messages to lower and to higher ranks: two of their own on NCCL, else the usual one for both.

    NCCL works off what two ranks exchange within a group in the order in which it was posted, so that a send would wait
    for the receive before it. All ranks must call this together.

    Parameters
    ----------
    dist : torch.distributed or its virtual twin

    Returns
    -------
    tuple
    """
    return (dist.new_group(), dist.new_group()) if dist.get_backend() == "nccl" else (None, None)
