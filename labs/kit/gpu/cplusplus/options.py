"""How kernels are run on the CPU."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Options:
    """Choices for kernels on the CPU; on a GPU they mean nothing.

    Parameters
    ----------
    checked : bool
        Whether every access is checked: bounds, alignment, races. Without, kernels run several times faster, and a wild
        pointer is still an exception.
    races : bool
        Whether checked kernels are also searched for races.
    strict : bool
        Whether threads that have returned are missed at a barrier. CUDA leaves that undefined; GPUs let it pass.
    timeout : float
        Seconds of CPU time until a launch is stopped.
    """

    checked: bool = True
    races: bool = True
    strict: bool = True
    timeout: float = 10.0
