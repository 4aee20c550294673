"""Kernels give what NumPy gives, what numba-cuda's simulator gives, and compile for a real GPU."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

HERE = Path(__file__).parent
SOAK = os.environ.get("LABS_SOAK") == "1"
SIZES = (0, 1, 31, 32, 33, 255, 256, 257, 1000)
numba_cuda = pytest.mark.skipif(
    not __import__("importlib.util").util.find_spec("numba_cuda"), reason="numba-cuda is not installed: nothing to ask"
)


def close(name, got, want):
    tolerance = 1e-3 if got.dtype == np.float16 else 1e-5 if got.dtype.kind == "f" else 0
    assert got.shape == want.shape, name
    np.testing.assert_allclose(got.astype(np.float64), want, rtol=tolerance, atol=tolerance, err_msg=name)


@pytest.mark.parametrize("size", SIZES)
def test_every_size(kernels, watched, size):
    with watched() as p:
        for name, got, want in kernels.by_size(size):
            close(name, got, want)
    assert p.findings == []  # correct kernels raise no alarm


def test_every_kind_of_kernel(kernels, watched):
    with watched() as p:
        for name, got, want in kernels.fixed():
            close(name, got, want)
        for name, got, want in kernels.warps():
            close(name, got, want)
    assert p.findings == []


def child(code_or_file, *args, **environment):
    names = {key: value for key, value in os.environ.items() if key not in ("NUMBA_ENABLE_CUDASIM", "LABS_GPU")}
    command = [sys.executable, *code_or_file, *map(str, args)]
    done = subprocess.run(command, env=names | environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@numba_cuda
def test_the_same_as_the_simulator(kernels, tmp_path):
    sizes = SIZES if SOAK else (0, 1, 33, 257)
    child([str(HERE / "kernels.py")], tmp_path / "peer.npz", *sizes, KERNELS_ON="simulator")
    peer = np.load(tmp_path / "peer.npz")
    mine = {f"{name} {size}": got for size in sizes for name, got, _ in kernels.by_size(size)}
    mine |= {name: got for name, got, _ in kernels.fixed()}
    assert set(mine) == set(peer.files)
    for name, got in mine.items():
        if name.startswith(("kinds", "volume", "in_half")):
            continue  # the simulator calculates with NumPy's types, not with Numba's
        np.testing.assert_array_equal(got, peer[name], err_msg=name)


COMPILE = """
import os, sys
os.environ["KERNELS_ON"] = "numba"
sys.path.insert(0, sys.argv[1])
import kernels
from numba import types
from types import SimpleNamespace
from numba.cuda import compile_ptx, dispatcher
dispatcher.get_current_device = lambda: SimpleNamespace(compute_capability=(8, 0))  # device functions ask for one
for kernel, signature in kernels.SIGNATURES:
    ptx, result = compile_ptx(kernel.py_func, eval(f"({', '.join(signature)},)", vars(types)), cc=(8, 0))
    assert ".entry" in ptx
    print(kernel.__name__)
"""


@numba_cuda
def test_every_kernel_compiles_to_ptx(kernels):
    compiled = child(["-c", COMPILE], HERE).split()
    assert compiled == [kernel.__name__ for kernel, _ in kernels.SIGNATURES]
