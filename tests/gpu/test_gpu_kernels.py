"""Kernels on a real GPU give what NumPy gives, as they do on the virtual device. Run by `make gpu-test`."""

import importlib.util
import os
import sys
from pathlib import Path

import numpy as np
import pytest

KERNELS = Path(__file__).parents[1] / "kit" / "virtual_cuda" / "kernels.py"
SIZES = (0, 1, 31, 32, 33, 255, 256, 257, 1000)


def why_not() -> str:
    """Why kernels cannot run on a GPU here; "" where they can."""
    from labs.kit.gpu.choice import _real

    if os.environ.get("LABS_GPU", "").lower() == "virtual":
        return "LABS_GPU=virtual: the tests on a real GPU are left out"
    return _real()[1]


REASON = why_not()
pytestmark = pytest.mark.skipif(bool(REASON), reason=REASON or "a GPU is here")


@pytest.fixture(scope="module")
def kernels():
    """The kernels that the tests of the virtual device use, made by numba.cuda."""
    os.environ["KERNELS_ON"] = "numba"
    try:
        spec = importlib.util.spec_from_file_location("kernels_on_a_gpu", KERNELS)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        del os.environ["KERNELS_ON"]
    return module


def close(name, got, want):
    tolerance = 2e-3 if got.dtype == np.float16 else 1e-5 if got.dtype.kind == "f" else 0
    assert got.shape == want.shape, name
    np.testing.assert_allclose(got.astype(np.float64), want, rtol=tolerance, atol=tolerance, err_msg=name)


def test_the_course_uses_the_gpu():
    from numba import cuda as numbas

    from labs.kit.gpu import cuda, is_virtual

    assert cuda is numbas and not is_virtual()


@pytest.mark.parametrize("size", SIZES)
def test_every_size(kernels, size):
    for name, got, want in kernels.by_size(size):
        close(name, got, want)


def test_every_kind_of_kernel(kernels):
    for name, got, want in kernels.fixed():
        close(name, got, want)


def test_warp_operations(kernels):
    for name, got, want in kernels.warps():
        close(name, got, want)


def test_a_profile_has_times_and_says_what_it_lacks(kernels):
    from labs.kit.gpu import profile

    x = np.ones(1 << 20, np.float32)
    with profile() as p:
        kernels.add[4096, 256](x, x, np.zeros_like(x))
        kernels.add[4096, 256](x, x, np.zeros_like(x))
    assert [launch.kernel for launch in p.launches] == ["add", "add"] and not p.virtual and "real GPU" in p.note
    assert p.launches[1].grid == (4096, 1, 1) and p.launches[1].block == (256, 1, 1)
    assert 0 < p.launches[1].seconds < 1 and p.findings == [] and p.lines == []


def test_an_outcome_is_plain_data(kernels):
    from labs.kit.exercise import plain
    from labs.kit.gpu import outcome

    x = np.arange(1000, dtype=np.float32)
    out = outcome(kernels.add[4, 256], x, x, np.zeros_like(x))
    assert np.array_equal(out["args"][2], 2 * x) and out["virtual"] is False and out["launches"][0]["kernel"] == "add"
    assert plain.encode(out)


def test_results_are_those_of_the_virtual_device(kernels, tmp_path):
    """Bit by bit where no order of summation is free."""
    import subprocess

    environment = dict(os.environ, KERNELS_ON="virtual", LABS_GPU="virtual", PYTHONPATH=str(KERNELS.parents[3]))
    done = subprocess.run(
        [sys.executable, str(KERNELS), str(tmp_path / "virtual.npz"), "1000"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    if "No module named 'greenlet'" in done.stderr:
        pytest.skip("greenlet is not installed here: the virtual device cannot run beside the GPU")
    assert done.returncode == 0, done.stderr[-2000:]
    virtual = np.load(tmp_path / "virtual.npz")
    real = {f"{name} 1000": got for name, got, _ in kernels.by_size(1000)} | {n: got for n, got, _ in kernels.fixed()}
    fused = ("saxpy", "tiled_product", "rows_and_slices", "kinds")  # a GPU fuses a product and a sum into one rounding
    for name in virtual.files:
        if name.startswith(fused):
            np.testing.assert_allclose(real[name], virtual[name], rtol=1e-5, atol=1e-6, err_msg=name)
        else:
            np.testing.assert_array_equal(real[name], virtual[name], err_msg=name)
