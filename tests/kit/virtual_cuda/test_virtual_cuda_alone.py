"""The device needs NumPy and nothing else, and works where kernels are written: cells, files, a grader's process."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np

from labs.kit.gpu import outcome, profile
from labs.kit.virtual.cuda import cuda

ROOT = Path(__file__).parents[3]

# labs.kit.virtual also holds the virtual torch.distributed, which needs torch and greenlet: here its folder stands in.
WITHOUT = """
import sys, types
for name in ("greenlet", "numba", "cupy", "matplotlib", "IPython"):
    sys.modules[name] = None
import labs.kit
room = types.ModuleType("labs.kit.virtual")
room.__path__ = [labs.kit.__path__[0] + "/virtual"]
sys.modules["labs.kit.virtual"] = room
sys.path.insert(0, sys.argv[1])
import kernels
from labs.kit.gpu import profile
with profile(warps_take_turns=True) as p:
    for rows in (kernels.by_size(33), kernels.fixed(), kernels.warps()):
        for name, got, want in rows:
            error = abs(got.astype(float) - want.astype(float)).max(initial=0)
            assert error < 1e-3 + abs(got * 1e-3).max(initial=0), name
assert p.findings == []
print("fine", sorted(name for name in sys.modules if name in ("numba", "greenlet") and sys.modules[name]))
"""


def child(*arguments, **environment):
    environment = dict(os.environ, PYTHONPATH=str(ROOT), LABS_GPU="virtual") | environment
    done = subprocess.run([sys.executable, *arguments], env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def test_without_greenlet_and_numba():
    assert child("-c", WITHOUT, str(Path(__file__).parent)) == "fine []\n"


def test_the_import_of_the_choice_is_cheap():
    code = "import sys, labs.kit.gpu; print(sorted({'numpy', 'torch', 'numba', 'matplotlib'} & set(sys.modules)))"
    assert child("-c", code) == "[]\n"


CELLS = """
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
def cell(text):
    return shell.run_cell(text, store_history=True)
cell("import numpy as np\\nfrom labs.kit.gpu import cuda")
cell("@cuda.jit\\ndef double(x, out):\\n    i = cuda.grid(1)\\n    out[i] = FACTOR * x[i]")
cell("FACTOR = 2\\nout = np.zeros(32)\\ndouble[1, 32](np.arange(32.0), out)\\nassert out[3] == 6")
result = cell("FACTOR = 3\\ndouble[1, 64](np.arange(32.0), out)")
print(type(result.error_in_exec).__name__)
"""


def test_kernels_in_cells(tmp_path):
    """Globals are those of the moment of the launch, and a fault shows the explanation and no frames."""
    shown = child("-c", CELLS, IPYTHONDIR=str(tmp_path))
    assert "OutOfBounds: thread (32, 0, 0) of block (0, 0, 0) (and 31 more of its block) reads x[32]" in shown
    assert "in double: out[i] = FACTOR * x[i]" in shown and "line 4 of your cell" in shown
    assert "labs/kit" not in shown and shown.endswith("OutOfBounds\n")


@cuda.jit(device=True)
def factorial(n):
    if n < 2:
        return 1
    return n * factorial(n - 1)


@cuda.jit
def factorials(out):
    i = cuda.grid(1)
    out[i] = factorial(i % 6)


def test_device_functions_may_call_themselves(watched):
    out = np.zeros(32, np.int64)
    with watched():
        factorials[1, 32](out)
    assert out[:7].tolist() == [1, 1, 2, 6, 24, 120, 1]


def test_kernels_close_over_values():
    def scaled(factor):
        @cuda.jit
        def kernel(out):
            out[cuda.grid(1)] = factor

        return kernel

    out = np.zeros(32)
    scaled(3)[1, 32](out)
    scaled(4)[1, 16](out)
    assert out.tolist() == [4] * 16 + [3] * 16


def test_profiles_and_outcomes_nest():
    @cuda.jit
    def fill(out):
        out[cuda.grid(1)] = 1

    with profile() as outer:
        fill[1, 32](np.zeros(32))
        inner = outcome(fill[1, 32], np.zeros(32))
        with profile() as innermost:
            fill[1, 32](np.zeros(32))
    assert len(outer.launches) == 2 and len(innermost.launches) == 1 and len(inner["launches"]) == 1


def test_many_warps_in_turns_leave_nothing(watched):
    @cuda.jit
    def steps(out):
        t = cuda.threadIdx.x
        for _ in range(5):
            out[t] += 1
            cuda.syncthreads()

    out = np.zeros(1024)
    before = threading.active_count()
    with watched():
        steps[1, 1024](out)
    assert (out == 5).all() and threading.active_count() == before
