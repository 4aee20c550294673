"""What learners write by mistake: each gets the line, the cause and what to do, or works as it does on numba.cuda."""

import linecache
import subprocess
import sys
import textwrap
from types import SimpleNamespace

import numpy as np
import pytest

from labs.kit.gpu import (
    EndlessLoop,
    KernelError,
    KernelFailure,
    LaunchFailed,
    Limits,
    Unsupported,
    WrongType,
    outcome,
    virtual_machine,
)
from labs.kit.virtual.cuda import cuda


def cell(text, **names):
    """Run the text of a notebook's cell; returns its names."""
    file = f"<ipython-input-mistakes-{abs(hash(text))}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    x, o = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    scope = {"cuda": cuda, "np": np, "x": x, "o": o, "m": x.reshape(8, 8)} | names
    exec(compile(text, file, "exec"), scope)
    return scope


def kernel(body, launch="k[2, 32](x, o)", above=""):
    body = textwrap.indent(textwrap.dedent(body), "    ")
    return f"@cuda.jit\ndef k(x, o):\n    i = cuda.grid(1)\n{body}\n{above}{launch}"


IN_A_KERNEL = {
    "print(i, sep=',')": (Unsupported, "the values alone, in order"),
    "for j in range():\n    o[i] = j": (Unsupported, "range with 0 numbers"),
    "o[i] = sum(x)": (Unsupported, "a loop over the elements"),
    "o[i] = np.sum(x)": (Unsupported, "a loop over the elements"),
    "for j, v in enumerate(x):\n    o[j] = v": (Unsupported, r"for i in range\(len\(x\)\)"),
    "a = np.zeros(3)": (Unsupported, "cuda.local.array"),
    "o[i] = np.random.rand()": (Unsupported, "made on the host"),
    "return x[i]": (WrongType, "write the result to an array"),
    "o[i] = cuda.threadidx.x": (KernelError, "Did you mean cuda.threadIdx"),
    "cuda.syncthread()": (KernelError, "Did you mean cuda.syncthreads"),
    "o[cuda.blockIdx * cuda.blockDim] = 1": (WrongType, "threadIdx.x, not threadIdx"),
    "o[cuda.threadIdx] = 1": (WrongType, "its part .x, .y or .z"),
    "o[cuda.threadIdx.x()] = 1": (Unsupported, "the number itself"),
    "o[i] = x(i)": (Unsupported, r"square brackets for an element: x\[i\]"),
    "o[cuda.grid()] = 1": (WrongType, r"cuda.grid\(ndim\) was called with 0 arguments"),
    "s = cuda.shared.array(32)": (WrongType, r"cuda.shared.array\(shape, dtype\) was called with 1 argument$"),
    "cuda.atomic.add(o, x[i])": (WrongType, r"cuda.atomic.add\(array, index, value\) was called with 2"),
    "o[i] = cuda.shfl_down_sync(x[i], 1)": (WrongType, r"cuda.shfl_down_sync\(mask, value, other\)"),
    "s = cuda.shared.array(32, float)": (WrongType, "how many bytes"),
    "a, *b = 1, 2, 3": (Unsupported, "a starred expression"),
    "o[i, 0] = 1": (WrongType, "o has 1 dimension, but is indexed with 2 numbers"),
}


@pytest.mark.parametrize("body", IN_A_KERNEL)
def test_in_a_kernel(body):
    error, text = IN_A_KERNEL[body]
    with pytest.raises(error, match="(?m)" + text) as caught:
        cell(kernel(body))
    assert "at line 4 of your cell, in k: " in str(caught.value) or "at line 5 of your cell, in k: " in str(
        caught.value
    )


AT_THE_LAUNCH = {
    "k[2, 32](x)": r"k\(x, o\) was launched with 1 argument$",
    "k[2, 32](x=x, o=o)": "given in order, without x=",
    "k(x, o)": "launch configuration was not specified",
    "k[2](x, o)": "at least the griddim and blockdim",
    "k[64 / 32, 32](x, o)": "use //",
    "k[2, 32]([1.0], o)": r"is a list: .* so np.array\(...\) it",
    "k[2, 32]('x', o)": "is a str: a kernel takes arrays and numbers$",
    "k[2, 32](np.zeros(128, np.float32)[::2], o)": r"view with gaps .* np.ascontiguousarray",
    "cuda.to_device(m[:, 1:])": "view with gaps",
    "cuda.threadIdx.x": "only inside a kernel",
}


@pytest.mark.parametrize("launch", AT_THE_LAUNCH)
def test_at_the_launch(launch):
    """A notebook shows the cell's line, although the fault lies in no kernel."""
    with pytest.raises((LaunchFailed, WrongType), match="(?m)" + AT_THE_LAUNCH[launch]) as caught:
        cell(kernel("o[i] = x[i]", launch))
    assert caught.value._render_traceback_()[1] == f"  at line 5 of your cell: {launch}"


def test_what_a_part_of_an_array_lacks_is_said():
    with pytest.raises(WrongType, match="a part of x, which takes one index more"):
        cell(kernel("o[i] = x[i]", "k[1, 8](m, o)"))


def test_a_kernel_in_a_kernel_and_a_lambda():
    with pytest.raises(WrongType, match="cannot launch a kernel: call a device function"):
        cell(kernel("k[1, 1](x, o)"))
    with pytest.raises(Unsupported, match="not a lambda"):
        cuda.jit(lambda o: None)[1, 1](np.zeros(1))


def test_a_device_array_has_few_attributes():
    with pytest.raises(AttributeError, match=r"no attribute 'sum': copy_to_host\(\)"):
        cuda.to_device(np.zeros(3)).sum()


def test_a_huge_grid_ends():
    text = kernel("if i < o.size:\n    o[i] = x[i]", "")
    k = cell(text)["k"]
    x = np.zeros(64, np.float32)
    with virtual_machine(limits=Limits(seconds=0.1)), pytest.raises(EndlessLoop, match="of its 2,000,000,000 blocks"):
        k[2_000_000_000, 32](x, x.copy())
    failure = outcome(k[2_000_000_000, 32], x, x, seconds=0.1)["failure"]
    assert failure["kind"] == "time_limit" and "smaller grid" in failure["text"]


def test_arrays_without_elements_and_in_columns():
    k = cell(kernel("if i < o.size:\n    o[i] = x[i]", ""))["k"]
    k[1, 32](np.zeros(0, np.float32), np.zeros(0, np.float32))

    columns = np.asfortranarray(np.arange(32 * 32, dtype=np.float32).reshape(32, 32))
    out = np.zeros(32, np.float32)
    first = cell("@cuda.jit\ndef first(a, out):\n    i = cuda.grid(1)\n    out[i] = a[i, 0]")["first"]
    for array, sectors in ((columns, 4), (np.ascontiguousarray(columns), 32)):
        launch = outcome(first[1, 32], array, out)["launches"][0]
        (line,) = [line for line in launch["lines"] if line["array"] == "a"]
        assert line["sectors"] == sectors  # as it lies in memory, on the device, too
    with pytest.raises(KernelFailure, match=r"writes a\[40, 0\]"):
        cell("@cuda.jit\ndef late(a):\n    a[cuda.grid(1) + 40, 0] = 1\nlate[1, 1](a)", a=columns)


# ---- the shape of an array in a kernel: accepted where Numba compiles it

SHAPES = {
    "16": "",
    "TILE": "",
    "(TILE, PADDED)": "",
    "n": "n = 32",
    "n ": "n = TILE",
    "t": "t = (16, 17)",
    "(TILE, TILE + 1)": "",
    "2 * TILE": "",
    "n  ": "n = TILE * 2",
    "n   ": "n = 32\nif x[0] > 1:\n    n = 16",
    "x.size": "",
    "o": "",
    "cuda.blockDim.x": "",
    "cuda.warpsize": "",
    "settings.TILE": "",
}
ASK = """
import sys
from types import ModuleType, SimpleNamespace
import numpy as np
from numba import cuda, types
from numba.cuda import compile_ptx, dispatcher
dispatcher.get_current_device = lambda: SimpleNamespace(compute_capability=(8, 0))
for text in sys.argv[1:]:
    settings = ModuleType("settings")
    settings.TILE = 16
    scope = {"cuda": cuda, "np": np, "TILE": 16, "PADDED": 17, "settings": settings}
    exec(text, scope)
    try:
        compile_ptx(scope["k"], (types.float32[::1], types.int64), cc=(8, 0))
        print("yes")
    except Exception:
        print("no")
"""


def test_shapes_are_those_that_numba_compiles(without_simulator):
    texts = []
    for shape, before in SHAPES.items():
        body = f"{before}\ns = cuda.shared.array({shape.strip()}, np.float32)\n"
        texts.append("def k(x, o):\n    i = 0\n" + textwrap.indent(body, "    "))
    ours = []
    for text in texts:
        try:
            cell("@cuda.jit\n" + text + "k[1, 1](x, 3)", TILE=16, PADDED=17, settings=SimpleNamespace(TILE=16))
            ours.append("yes")
        except Unsupported as error:
            assert "a name that is bound above the kernel" in str(error)
            ours.append("no")
    command = [sys.executable, "-W", "ignore", "-c", ASK, *texts]
    done = subprocess.run(command, env=without_simulator, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    assert dict(zip(SHAPES, ours)) == dict(zip(SHAPES, done.stdout.split()))
    assert {"yes", "no"} == set(ours)
