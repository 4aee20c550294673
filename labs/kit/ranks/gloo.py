"""What is special about gloo: an average that older releases got wrong, and a crash of DDP under checks."""

from __future__ import annotations

from typing import Any


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
