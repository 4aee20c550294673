"""Times of the launches on a real device, between two events each."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from labs.kit.virtual.cuda.findings import Launch


@contextlib.contextmanager
def timed_launches(cuda, launches: list) -> Iterator[None]:
    """Append a `Launch` for each kernel that starts inside the ``with``; the times are known when it ends.

    Numba's compiled kernels are launched by one method, which is replaced for the time of the ``with``. Compilation
    happens before, so that it does not count.
    """
    from numba.cuda.dispatcher import _Kernel

    launched, original = [], _Kernel.launch

    def launch(kernel, args, griddim, blockdim, stream=0, sharedmem=0):
        start, end = cuda.event(), cuda.event()
        start.record(stream)
        try:
            return original(kernel, args, griddim, blockdim, stream, sharedmem)
        finally:
            end.record(stream)
            launched.append((kernel, griddim, blockdim, sharedmem, cuda.get_current_device().id, start, end))

    _Kernel.launch = launch
    try:
        yield
    finally:
        _Kernel.launch = original
        for kernel, grid, block, shared, device, start, end in launched:
            end.synchronize()
            launches.append(
                Launch(
                    kernel=kernel.py_func.__name__,
                    grid=_three(grid),
                    block=_three(block),
                    dynamic_shared=int(shared),
                    device=int(device),
                    stream=0,
                    start=0.0,
                    end=start.elapsed_time(end) * 1e-3,
                    observed=False,
                )
            )


def _three(dims) -> tuple[int, int, int]:
    dims = tuple(dims) if isinstance(dims, (tuple, list)) else (dims,)
    return tuple(int(n) for n in (*dims, 1, 1)[:3])
