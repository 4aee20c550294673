"""The type of every result is the one that Numba's compiler gives it; values wrap and round as that type does."""

import importlib.util
import itertools
import json
import linecache
import operator
import os
import subprocess
import sys

import numpy as np
import pytest

from labs.kit.gpu import cuda
from labs.kit.virtual.cuda import arithmetic
from labs.kit.virtual.cuda.intrinsics import Intrinsic

SOAK = os.environ.get("LABS_SOAK") == "1"
TYPES = "float16 float32 float64 bool int8 uint8 int16 uint16 int32 uint32 int64 uint64".split()
INTEGERS = TYPES[4:]
SAMPLE = [
    ("float16", "float32"),
    ("float16", "uint8"),
    ("float32", "int16"),
    ("float32", "uint16"),
    ("float32", "int32"),
]
SAMPLE += [("uint8", "uint8"), ("uint32", "int32"), ("uint64", "int64"), ("bool", "int32"), ("float16", "float16")]
SAMPLE += [("float32", "float32"), ("float64", "float32"), ("int32", "int32"), ("float32", "bool"), ("int64", "uint8")]
BOTH = ["a + b", "a - b", "a * b", "a < b", "a if a < b else b", "(a, b)[0]"]
NO_HALF = ["a / b", "min(a, b)", "max(a, b)"]
FLOATS = ["a + 1", "a * 2.0", "a ** 2", "-a", "abs(a)", "round(a)", "int(a)", "np.float32(a)", "a < 1"]
SINGLES = ["math.sqrt(a)", "math.exp(a)", "math.floor(a)", "math.pow(a, a)", "float(a)", "a // a", "a % a"]
WHOLE = ["a & b", "a | b", "a ^ b", "a // b", "a % b", "a << b", "a >> b", "~a", "-a", "a + 1", "abs(a)", "np.uint8(a)"]


def expressions(a, b):
    """What Numba compiles for two types without a driver."""
    found = list(BOTH)
    if "float16" not in (a, b):
        found += NO_HALF
    if a.startswith("float"):
        found += FLOATS if a == "float16" else FLOATS + SINGLES
    if a in INTEGERS and b in INTEGERS:
        found += WHOLE
    return found


CHILD = """
import json, math, sys
import numpy as np
from types import SimpleNamespace
from numba import types
from numba.cuda import compile_ptx, dispatcher
dispatcher.get_current_device = lambda: SimpleNamespace(compute_capability=(8, 0))  # some built-ins ask for one
def ask(a, b, texts):
    scope = {"math": math, "np": np}
    exec(f"def f(a, b):\\n    return ({', '.join(texts)},)", scope)
    name = lambda t: getattr(types, {"bool": "boolean"}.get(t, t))
    _, result = compile_ptx(scope["f"], (name(a), name(b)), device=True, cc=(8, 0))
    return [str(t) for t in result.types] if hasattr(result, "types") else [str(result.dtype)] * len(texts)
def one_by_one(a, b, texts):
    for text in texts:
        try:
            yield from ask(a, b, [text])
        except Exception:
            yield None  # Numba refuses it
answers = []
for a, b, texts in json.load(sys.stdin):
    try:
        answers.append(ask(a, b, texts))
    except Exception:
        answers.append(list(one_by_one(a, b, texts)))
print(json.dumps(answers))
"""


@pytest.mark.skipif(not importlib.util.find_spec("numba_cuda"), reason="numba-cuda is not installed: nothing to ask")
def test_types_are_numbas():
    pairs = list(itertools.product(TYPES, TYPES)) if SOAK else SAMPLE
    asked = [(a, b, expressions(a, b)) for a, b in pairs]
    environment = {key: value for key, value in os.environ.items() if key != "NUMBA_ENABLE_CUDASIM"}
    command = [sys.executable, "-W", "ignore", "-c", CHILD]
    done = subprocess.run(
        command, input=json.dumps(asked), env=environment, capture_output=True, text=True, timeout=900
    )
    assert done.returncode == 0, done.stderr[-3000:]
    wrong, answers = [], json.loads(done.stdout)
    known = [answer is not None for row in answers for answer in row]
    assert sum(known) > 0.9 * len(known)  # the rest is what Numba refuses, such as min of a Boolean
    for (a, b, texts), numbas_row in zip(asked, answers):
        for text, numbas, ours in zip(texts, numbas_row, types_here(a, b, texts)):
            if numbas is not None and ours != numbas:
                wrong.append(f"{text} with {a}, {b}: {ours}, but Numba says {numbas}")
    assert not wrong, "\n".join(wrong)


def types_here(a, b, texts):
    """The types of the same expressions on the virtual device."""
    seen = []
    probe = Intrinsic("probe", lambda lanes, value: seen.append(arithmetic.typed(value).dtype.name))
    body = "".join(f"    probe({text})\n" for text in texts)
    source = f"def kernel(xs, ys):\n    a = xs[cuda.grid(1)]\n    b = ys[cuda.grid(1)]\n{body}"
    file = f"<types {a} {b}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    scope = {"cuda": cuda, "np": np, "math": __import__("math"), "probe": probe}
    exec(compile(source, file, "exec"), scope)
    cuda.jit(scope["kernel"])[1, 2](np.ones(2, a), np.full(2, 2).astype(b))
    return seen


def test_float32_stays_float32():
    @cuda.jit
    def accumulate(out, start):
        acc = start
        for _ in range(100):
            acc += np.float32(0.1)
        out[cuda.grid(1)] = acc

    want = np.float32(0)
    for _ in range(100):
        want += np.float32(0.1)
    out = np.zeros(32)
    accumulate[1, 32](out, np.float32(0))
    assert (out == want).all() and want != np.float32(10.0)
    accumulate[1, 32](out, 0.0)  # a literal is a float64
    assert (out != want).all()


def test_integers_wrap_like_64_bits_and_like_their_array():
    @cuda.jit
    def hash_of(out, short):
        i = cuda.grid(1)
        h = 1469598103934665603
        for k in range(20):
            h = (h ^ (i + k)) * 1099511628211
        out[i] = h
        short[i] = h
        if i == 0:
            out[i] = 1
            for _ in range(70):
                out[i] = out[i] * 3

    out, short = np.zeros(32, np.int64), np.zeros(32, np.int16)
    hash_of[1, 32](out, short)

    def expected(i):
        h = 1469598103934665603
        for k in range(20):
            h = ((h ^ (i + k)) * 1099511628211 + (1 << 63)) % (1 << 64) - (1 << 63)
        return h

    assert out[1:].tolist() == [expected(i) for i in range(1, 32)]
    assert short[1:].tolist() == [((expected(i) + (1 << 15)) % (1 << 16)) - (1 << 15) for i in range(1, 32)]
    assert out[0] == (3**70 + (1 << 63)) % (1 << 64) - (1 << 63)


def test_half_precision_rounds_after_each_operation():
    @cuda.jit
    def in_half(x, fused, plain, wide):
        i = cuda.grid(1)
        fused[i] = cuda.fp16.hfma(x[i], x[i], x[i])
        plain[i] = x[i] * x[i] + x[i]
        wide[i] = x[i] * x[i]

    x = np.random.default_rng(5).random(256).astype(np.float16)
    fused, plain, wide = np.zeros_like(x), np.zeros_like(x), np.zeros(256, np.float32)
    in_half[1, 256](x, fused, plain, wide)
    exact = x.astype(np.float64) ** 2 + x.astype(np.float64)
    assert np.array_equal(fused, exact.astype(np.float16))
    assert np.array_equal(
        plain, ((x.astype(np.float64) ** 2).astype(np.float16).astype(np.float64) + x).astype(np.float16)
    )
    assert np.array_equal(wide, (x * x).astype(np.float32)) and not np.array_equal(fused, plain)


@pytest.mark.parametrize("dtype", ["int32", "uint32", "int64", "uint64", "int16"])
def test_bits(dtype):
    values = np.array([0, 1, 2, 3, 12, 255, 1 << 14, -1], np.int64).astype(dtype)
    width = values.itemsize * 8
    bits = [int(v) & ((1 << width) - 1) for v in values]

    @cuda.jit
    def look(x, out):
        i = cuda.grid(1)
        out[i, 0] = cuda.popc(x[i])
        out[i, 1] = cuda.ffs(x[i])
        out[i, 2] = cuda.clz(x[i])

    out = np.zeros((8, 3), np.int64)
    look[1, 8](values, out)
    assert out[:, 0].tolist() == [b.bit_count() for b in bits]
    assert out[:, 1].tolist() == [(b & -b).bit_length() for b in bits]
    assert out[:, 2].tolist() == [width - b.bit_length() for b in bits]


def test_min_and_max_leave_out_nan_as_the_hardware_does():
    @cuda.jit
    def extremes(x, out):
        i = cuda.grid(1)
        out[i, 0] = max(x[i], np.float32(1))
        out[i, 1] = min(x[i], np.float32(1))

    out = np.zeros((3, 2), np.float32)
    extremes[1, 3](np.array([np.nan, 0, 2], np.float32), out)
    assert out.tolist() == [[1, 1], [1, 0], [2, 1]]


def test_powers_by_squaring_keep_the_type():
    assert arithmetic.power(np.float32(3), 5) == 243 and arithmetic.power(np.float32(3), 5).dtype == np.float32
    assert arithmetic.power(np.float32(2), -2) == 0.25 and arithmetic.power(7, 0) == 1
    assert arithmetic.power(3, 41) == (3**41 + (1 << 63)) % (1 << 64) - (1 << 63)
    assert arithmetic.binary(operator.lshift, np.uint32(1), np.int32(40)).dtype == np.uint64
