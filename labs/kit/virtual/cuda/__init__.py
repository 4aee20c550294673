"""A virtual CUDA device: the part of ``numba.cuda`` that the course uses, on the CPU, with its eyes open.

    from labs.kit.gpu import cuda, profile

    @cuda.jit
    def scale(x, out):
        i = cuda.grid(1)
        if i < x.size:
            out[i] = x[i] * np.float32(2)

    with profile() as p:
        scale[4, 256](x, out)
    p.launches[0].traffic("x", "load").sectors

A kernel's text becomes NumPy code that runs all threads of a block at once, with Numba's types (`translate`, `masks`,
`values`, `arithmetic`). Every access is checked and recorded (`access`, `block`); from the records follow races
(`races`), sectors and bank conflicts (`traffic`). Devices, streams and copies lie on a virtual clock (`devices`,
`arrays`).

What a profile returns, field by field, stands in `labs.kit.virtual.cuda.findings`: `Launch`, `Traffic`, `Sample`,
`Finding`, `Access`, `Copy`.

Limits: blocks run one after the other, so a block that waits for another never ends; reads are in order, so a missing
fence shows as a race, never as a wrong number; times are a roofline, not a simulation of an SM.
"""

from labs.kit.virtual.cuda.context import Limits, Machine, machine, virtual_machine
from labs.kit.virtual.cuda.failures import (
    DivergentBarrier,
    DividedByZero,
    EndlessLoop,
    Interrupted,
    KernelError,
    KernelFailure,
    KernelHazard,
    LaunchFailed,
    Misaligned,
    OutOfBounds,
    Race,
    Uninitialised,
    Unsupported,
    WrongType,
)
from labs.kit.virtual.cuda.findings import Access, Copy, Finding, Launch, Sample, Traffic
from labs.kit.virtual.cuda.module import Cuda

cuda = Cuda()

__all__ = [
    "Access",
    "Copy",
    "DivergentBarrier",
    "DividedByZero",
    "EndlessLoop",
    "Finding",
    "Interrupted",
    "KernelError",
    "KernelFailure",
    "KernelHazard",
    "Launch",
    "LaunchFailed",
    "Limits",
    "Machine",
    "Misaligned",
    "OutOfBounds",
    "Race",
    "Sample",
    "Traffic",
    "Uninitialised",
    "Unsupported",
    "WrongType",
    "cuda",
    "machine",
    "virtual_machine",
]
