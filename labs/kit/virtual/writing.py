"""Write received numbers into a tensor, as hardware does: whatever autograd keeps about it."""

from __future__ import annotations

import torch


def write(target: torch.Tensor, source: torch.Tensor) -> None:
    """Copy `source` into `target`, which has as many elements.

    Ranks take turns in one thread, so this may run in another mode than the one in which the rank made its tensors; a
    tensor of inference mode takes new values in that mode only.
    """
    if target is source:
        return
    source = source.detach().reshape(target.shape)
    if target.is_inference():
        with torch.inference_mode():
            target.copy_(source)
    else:
        target.detach().copy_(source)
