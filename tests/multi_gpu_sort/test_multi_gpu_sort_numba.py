"""The kernels of lesson 17 are numba-cuda's, too: they compile to PTX, and its own simulator computes the same."""

import importlib.util
import os
import subprocess
import sys

import numpy as np
import pytest

from labs.kit.gpu import cuda, is_virtual
from labs.multi_gpu_sort.kernels import merge, radix_sort

SOAK = os.environ.get("LABS_SOAK") == "1"
numba_cuda = pytest.mark.skipif(
    importlib.util.find_spec("numba_cuda") is None and importlib.util.find_spec("numba") is None,
    reason="numba-cuda is not installed (pip install 'warp-to-cluster[gpu]'): nothing to compare with",
)

USE_NUMBA = """
import sys
from types import SimpleNamespace
from numba import cuda
sys.modules["labs.kit.gpu"] = SimpleNamespace(cuda=cuda)  # what labs.kit.gpu gives where a GPU is
from labs.multi_gpu_sort import kernels
"""

COMPILE = """
from numba import types
from numba.cuda import compile_ptx
number, table = types.int64, types.int32[:, ::1]
for codes in (types.int32[::1], types.int64[::1]):
    for kernel, signature in (
        (kernels.count_digits, (codes, number, number, table)),
        (kernels.scan, (types.int32[::1],)),
        (kernels.scatter, (codes, number, number, table, codes)),
        (kernels.merge, (codes, codes, codes)),
    ):
        text, result = compile_ptx(kernel.py_func, signature, cc=(8, 0))
        assert ".entry" in text and result == types.void
        print(kernel.__name__, "bar.sync" in text, ".local" in text)
"""

SIMULATE = """
import numpy as np
found = {}
for dtype in sys.argv[2:]:  # the simulator's threads are threads of the system: a sort takes seconds
    info = np.iinfo(dtype)
    n = 70
    keys = np.random.default_rng(n).integers(info.min, info.max, n, dtype, endpoint=True)
    keys[: n // 3] = keys[:1]
    result, spare = kernels.radix_sort(cuda.to_device(keys), cuda.device_array(n, dtype), threads=8)
    found[f"sort {dtype}"] = result.copy_to_host()
    a, b, out = np.sort(keys[: n // 2]), np.sort(keys[n // 2 :]), np.zeros(n, dtype)
    kernels.merge[2, 5](a, b, out)
    found[f"merge {dtype}"] = out
np.savez(sys.argv[1], **found)
"""


def child(code, *words, **environment):
    """Run code in a process of its own, where nothing has chosen a device yet."""
    names = {key: value for key, value in os.environ.items() if key not in ("NUMBA_ENABLE_CUDASIM", "LABS_GPU")}
    command = [sys.executable, "-c", USE_NUMBA + code, *map(str, words)]
    done = subprocess.run(command, env=names | environment, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@numba_cuda
def test_every_kernel_compiles_to_ptx():
    lines = child(COMPILE).splitlines()
    assert [line.split()[0] for line in lines] == ["count_digits", "scan", "scatter", "merge"] * 2
    assert all((line.split()[1] == "True") == line.startswith("scan") for line in lines), "only the scan has barriers"
    # sixteen counters a thread lie in local memory, which is the device's: the price of indexing an array
    assert all((line.split()[2] == "True") == line.startswith(("count", "scatter")) for line in lines)


@numba_cuda
@pytest.mark.skipif(not is_virtual(), reason="a GPU is here: tests/gpu compares with NumPy on it")
def test_the_simulator_computes_the_same(tmp_path):
    dtypes = ("int32", "int64") if SOAK else ("int32",)
    child(SIMULATE, tmp_path / "peer.npz", *dtypes, NUMBA_ENABLE_CUDASIM="1")
    peer = np.load(tmp_path / "peer.npz")
    for dtype in dtypes:
        info, n = np.iinfo(dtype), 70
        keys = np.random.default_rng(n).integers(info.min, info.max, n, dtype, endpoint=True)
        keys[: n // 3] = keys[:1]
        result, _ = radix_sort(cuda.to_device(keys), cuda.device_array(n, dtype), threads=8)
        out = np.zeros(n, dtype)
        merge[2, 5](np.sort(keys[: n // 2]), np.sort(keys[n // 2 :]), out)
        for name, mine in (("sort", result.copy_to_host()), ("merge", out)):
            assert np.array_equal(mine, peer[f"{name} {dtype}"])
            assert np.array_equal(mine, np.sort(keys))
