"""What every part of a virtual `dist` knows: which rank it speaks for, and the groups of ranks."""

from __future__ import annotations

from torch.distributed import GroupMember

from labs.kit.virtual.failures import Mismatch
from labs.kit.virtual.groups import Group

NOT_A_MEMBER = GroupMember.NON_GROUP_MEMBER


class Member:
    """One rank among the others."""

    def __init__(self, engine, rank: int):
        self._engine, self._rank = engine, rank
        self._world_size, self._mail = engine.world_size, engine.mail  # messages need them all the time

    def get_rank(self, group=None) -> int:
        if group is None:
            return self._rank
        return -1 if group == NOT_A_MEMBER else self._group(group).index.get(self._rank, -1)

    def get_world_size(self, group=None) -> int:
        if group is None:
            return self._world_size
        return -1 if group == NOT_A_MEMBER or self._rank not in self._group(group).index else group.size

    def get_process_group_ranks(self, group=None) -> list[int]:
        return list(self._group(group).ranks)

    def get_global_rank(self, group, group_rank: int) -> int:
        return self._group(group).ranks[group_rank]

    def get_group_rank(self, group, global_rank: int) -> int:
        return self._position(self._group(group), global_rank)

    def new_group(self, ranks=None, *_, sort_ranks: bool = True, **__):
        """A group of some ranks. Every rank calls it, members or not, in the same order."""
        engine = self._engine
        ranks = list(range(self._world_size)) if ranks is None else [int(rank) for rank in ranks]
        if len(set(ranks)) < len(ranks):
            raise ValueError(f"new_group: a rank appears twice in {ranks}")
        for rank in ranks:
            if not 0 <= rank < self._world_size:
                raise ValueError(f"new_group: there is no rank {rank}; ranks are 0 to {self._world_size - 1}")
        if sort_ranks:
            ranks.sort()
        engine.group_count[self._rank] = number = engine.group_count[self._rank] + 1
        if number == len(engine.groups):
            engine.groups.append(Group(ranks, number))
        group = engine.groups[number]
        if group.ranks != ranks:
            raise Mismatch(
                f"Ranks disagree about new_group, call {number}: rank {self._rank} names {ranks}, "
                f"another {group.ranks}.\n"
                "Every rank must make all groups, in the same order, also those it does not belong to."
            )
        return group if self._rank in group.index else NOT_A_MEMBER

    def _group(self, group) -> Group:
        if group is None:
            return self._engine.groups[0]
        if not isinstance(group, Group):
            raise ValueError(f"{group!r} is not a group that dist.new_group returned")
        return group

    def _position(self, group: Group, rank: int) -> int:
        if rank not in group.index:
            raise ValueError(f"rank {rank} is not in {group}")
        return group.index[rank]
