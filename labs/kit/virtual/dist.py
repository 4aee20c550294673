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

    # No __getattr__: with one Python looks up every attribute the slow way, and each message needs some ten of them.
    @classmethod
    def _missing(cls, name: str) -> str:
        """About an attribute that is not there (the text of a failed run)."""
        have = [n for n in dir(cls) if not n.startswith("_")]
        if name in ("init_process_group", "destroy_process_group"):
            return f"virtual ranks are connected before your function starts: leave dist.{name} out"
        if hasattr(torch.distributed, name):
            return (
                f'virtual ranks have no dist.{name}; it runs on real ranks (on="gloo"). '
                f"Virtual ranks have {', '.join(have)}"
            )
        close = difflib.get_close_matches(name, have, 1)
        return f"torch.distributed has no {name}" + (f"; did you mean {close[0]}?" if close else "")

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
