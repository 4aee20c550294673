"""How a launch of CUDA C++ can fail: the family of the virtual device, and what only C++ can do besides."""

from labs.kit.virtual.cuda.failures import (
    DivergentBarrier,
    DividedByZero,
    EndlessLoop,
    KernelFailure,
    LaunchFailed,
    Misaligned,
    OutOfBounds,
    Race,
    WrongType,
)

__all__ = [
    "AssertionFailed",
    "Crashed",
    "DivergentBarrier",
    "DividedByZero",
    "EndlessLoop",
    "KernelFailure",
    "LaunchFailed",
    "Misaligned",
    "OutOfBounds",
    "Race",
    "StackOverflow",
    "Unfit",
    "WrongType",
]


class StackOverflow(KernelFailure):
    """A thread used more local memory than it has: endless recursion, or a large local array."""

    kind = "stack_overflow"


class AssertionFailed(KernelFailure, AssertionError):
    """An `assert` in the kernel was false, or it called `__trap()`."""

    kind = "assertion"


class Unfit(KernelFailure):
    """A matrix fragment was loaded, stored or multiplied in a way that the hardware does not allow."""

    kind = "wmma"


class Crashed(KernelFailure):
    """The kernel took its process down: a wild pointer, `abort()`, `exit()`."""

    kind = "crash"
