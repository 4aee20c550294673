"""What is special about gloo: an average that older releases got wrong, and words for its errors."""

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
