"""On a GPU: the course's products on tensor cores against cuBLAS, and its divide8 against a copy."""

from __future__ import annotations

import numpy as np

from bench.measure import Row, Series

NAME = "tensor-cores"
TITLE = "On a GPU: products on tensor cores against cuBLAS, and divide8 against a copy on the device"
NOTES = (
    "Products of halves (cuBLAS through torch.matmul, halves out); WMMA: floats out, 128 x 128 tiles loaded ahead.",
    "Each turn is timed with the device's events over several launches; arrays lie on the device; results are checked.",
)
LAUNCHES = 10


def why_not() -> str:
    """Why nothing can be measured here; "" where a GPU and CuPy are."""
    try:
        import cupy
        import torch

        if cupy.cuda.runtime.getDeviceCount() and torch.cuda.is_available():
            return ""
        return "there is no CUDA device here"
    except ImportError as missing:
        return f"{missing.name} is not installed"
    except Exception as error:  # CuPy's own error where there is no driver
        return f"there is no CUDA device here ({type(error).__name__})"


def rows(quick: bool) -> list[Row]:
    """Measure; without a GPU, say so and return no row."""
    if reason := why_not():
        print(f"tensor-cores is not measured: {reason}.")
        return []
    runs = 3 if quick else 11
    sizes = (1024,) if quick else (4096, 8192)
    return [*(row for size in sizes for row in products(size, runs)), divide8(1 << (24 if quick else 30), runs)]


def products(size: int, runs: int) -> list[Row]:
    """WMMA's and Triton's product of size^3 against cuBLAS."""
    import torch

    from labs.kit.gpu import compile_cuda
    from labs.tensor_cores import kernels

    torch.manual_seed(0)
    a, b = (torch.randn(size, size, device="cuda", dtype=torch.float16) for _ in "ab")
    floats, halves, peer = torch.empty_like(a, dtype=torch.float32), torch.empty_like(a), torch.empty_like(a)
    kernel = compile_cuda(kernels.FAST, "wmma_fast")
    blocks = (size // 128, size // 128)
    works = {
        "WMMA": (lambda: kernel[blocks, 256, 0, kernels.FAST_SHARED](a, b, floats, size, size, size), floats, 0.40),
    }
    try:
        from labs.tensor_cores.triton_product import product

        works["Triton"] = (lambda: product(a, b, halves), halves, 0.85)
    except ImportError:
        print("Triton is not installed, so its product is not measured.")
    cublas = lambda: torch.matmul(a, b, out=peer)
    found = []
    for name, (work, out, aim) in works.items():
        ours, theirs = by_turns(work, cublas, runs)
        want = peer.float()
        if not torch.allclose(out.float(), want, rtol=2e-2, atol=2e-3 * size**0.5):
            raise AssertionError(f"{name}'s product is wrong, so the times mean nothing")
        found.append(Row(f"{name} {size}^3", ours, "s", "cuBLAS", theirs, aim=aim))
    return found


def divide8(pixels: int, runs: int) -> Row:
    """An image divided by 7 against a copy of it on the device."""
    import torch

    from labs.kit.gpu import compile_cuda
    from labs.tensor_cores import kernels

    image = torch.randint(0, 256, (pixels,), device="cuda", dtype=torch.uint8)
    out, copy = torch.empty_like(image), torch.empty_like(image)
    kernel, words = compile_cuda(kernels.DIVIDE8), pixels // 8
    grid = -(-words // 256)
    ours, theirs = by_turns(
        lambda: kernel[grid, 256](image, out, words, -(-65536 // 7)), lambda: copy.copy_(image), runs
    )
    if not torch.equal(out, image // 7):
        raise AssertionError("divide8 is wrong, so the times mean nothing")
    return Row(f"divide8, {pixels / 1e6:.0f} Mpixel", ours, "s", "device copy", theirs, aim=0.90)


def by_turns(ours, theirs, runs: int) -> tuple[Series, Series]:
    """Seconds a launch of both, by turns, after two turns that warm up."""
    taken = {ours: [], theirs: []}
    for turn in range(-2, runs):
        for work in (ours, theirs):
            seconds = launched(work)
            if turn >= 0:
                taken[work].append(seconds)
    return Series(tuple(taken[ours])), Series(tuple(taken[theirs]))


def launched(work) -> float:
    """Seconds a launch, by the device's clock."""
    import torch

    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    for _ in range(LAUNCHES):
        work()
    end.record()
    torch.cuda.synchronize()
    return float(np.float64(begin.elapsed_time(end)) / 1e3 / LAUNCHES)
