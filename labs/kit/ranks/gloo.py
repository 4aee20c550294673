"""What is special about gloo: an average that older releases got wrong, groups that one rank has before another, and
what breaks while calls are checked.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import Any


@contextlib.contextmanager
def joined_by_all() -> Iterator[None]:
    """Let a group that is made inside be ready on no rank before it is ready on all.

    Without this a rank may run its program and be gone while another still connects to a third one, which then fails
    with "Gloo connectFullMesh failed ... Connection closed by peer" before its own program has begun. PyTorch has a
    barrier for it, which is off unless this variable says otherwise. It stays off for groups that a program makes.
    """
    name = "TORCH_DIST_INIT_BARRIER"
    before = os.environ.get(name)
    os.environ[name] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before


def assert_average(dist: Any) -> None:
    """Check that ReduceOp.AVG averages: older releases of gloo in PyTorch summed and said nothing.

    Raises
    ------
    RuntimeError
        If the average of the ranks' numbers is not their average.
    """
    import torch

    world_size = dist.get_world_size()
    value = torch.tensor([float(dist.get_rank())])
    dist.all_reduce(value, op=dist.ReduceOp.AVG)
    expected = (world_size - 1) / 2
    if value.item() != expected:
        raise RuntimeError(
            f"ReduceOp.AVG on gloo gives {value.item():g} where the average is {expected:g}: this release of "
            f"PyTorch ({torch.__version__}) sums instead of averaging. Install PyTorch 2.11 or newer."
        )


def spare_ddp_its_log(dist: Any) -> None:
    """Let DistributedDataParallel work while collectives are checked.

    In PyTorch 2.13 its constructor crashes on gloo under TORCH_DISTRIBUTED_DEBUG=DETAIL: it writes a log entry
    about the group, and does not expect the group that compares calls. The entry is left out here.
    """

    class Logger(dist.Logger):
        def set_construction_data_and_log(self, *_: Any) -> None:
            pass

    dist.Logger = Logger


def count_collectives_only(dist: Any) -> None:
    """Let ranks send different numbers of messages before a collective while collectives are checked.

    Under TORCH_DISTRIBUTED_DEBUG=DETAIL, PyTorch 2.13 compares how many calls each rank has made, and on gloo counts
    messages among them: rank 0 sends to rank 1, rank 2 has nothing to say, and the broadcast that follows fails as a
    mismatch. Here the messages of the default group travel in a second group of the same ranks, whose calls nobody
    compares. Groups that a program makes itself are left as they are.
    """
    from torch.distributed import ProcessGroup

    world = dist.group.WORLD.group_name
    messages = dist.new_group()

    def elsewhere(call):
        def through(group, *args):
            return call(messages if group.group_name == world else group, *args)

        return through

    for name in ("send", "recv", "recv_anysource"):
        setattr(ProcessGroup, name, elsewhere(getattr(ProcessGroup, name)))


def prepare(dist: Any) -> None:
    """Do what a group of gloo that checks collectives needs before a program runs."""
    spare_ddp_its_log(dist)
    count_collectives_only(dist)
