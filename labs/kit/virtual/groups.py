"""Groups of ranks."""

from __future__ import annotations

from collections import deque


class Group:
    """Some of the ranks, in a fixed order, with the collectives that they have called together.

    Attributes
    ----------
    ranks : list of int
        World ranks; a rank's position is its rank within the group.
    count : list of int
        How many collectives each member has called.
    calls : dict
        Calls that not all members have joined.
    queue : deque
        Calls that all have joined and that have not finished: they run one after another, as on a real communicator.
    """

    def __init__(self, ranks, number: int):
        self.ranks, self.number, self.size = list(ranks), number, len(ranks)
        self.index = {rank: i for i, rank in enumerate(self.ranks)}
        self.count, self.last = [0] * self.size, [None] * self.size
        self.calls: dict = {}
        self.queue: deque = deque()
        self.path = None  # of a modelled collective, found when first needed

    def __str__(self) -> str:
        return "all ranks" if self.number == 0 else f"the group {self.ranks}"

    __repr__ = __str__
