"""What a rank program gets as `dist`: the functions of torch.distributed, as one virtual rank sees them.

Names, arguments and in-place semantics are those of torch 2.13.
"""

from __future__ import annotations

import difflib

import torch.distributed
from torch.distributed import GroupMember, ReduceOp

from labs.kit.virtual.joining import Collectives
from labs.kit.virtual.messages import Work
from labs.kit.virtual.point_to_point import P2POp, PointToPoint


class Dist(PointToPoint, Collectives):
    """torch.distributed for one virtual rank."""

    ReduceOp, P2POp, Work, GroupMember = ReduceOp, P2POp, Work, GroupMember

    def __getattr__(self, name: str):
        have = [n for n in dir(type(self)) if not n.startswith("_")]
        if name in ("init_process_group", "destroy_process_group"):
            text = f"virtual ranks are connected before your function starts: leave dist.{name} out"
        elif hasattr(torch.distributed, name):
            text = f'virtual ranks have no dist.{name}; it runs on real ranks (on="gloo").'
            text += f" Virtual ranks have {', '.join(have)}"
        else:
            close = difflib.get_close_matches(name, have, 1)
            text = f"torch.distributed has no {name}" + (f"; did you mean {close[0]}?" if close else "")
        raise AttributeError(text)

    def __repr__(self) -> str:
        return f"<virtual torch.distributed of rank {self._rank} of {self._world_size}>"

    def __deepcopy__(self, memo):
        return self

    def is_available(self) -> bool:
        return True

    def is_initialized(self) -> bool:
        return True

    def get_backend(self, group=None) -> str:
        return "virtual"
