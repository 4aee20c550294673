"""Random programs full of divergence: masks against plain Python, thread by thread."""

import linecache
import os
from types import SimpleNamespace

import numpy as np
import pytest

from labs.kit.gpu import cuda, profile

PROGRAMS = 1500 if os.environ.get("LABS_SOAK") == "1" else 60
THREADS = 64


class Writer:
    """Writes a program from random choices."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)

    def pick(self, *choices):
        return choices[self.random.integers(len(choices))]

    def expression(self, depth=0):
        if depth > 2 or self.random.random() < 0.35:
            return self.pick(
                "a", "b", "c", "i", str(self.random.integers(-3, 9)), "x[(a + i) % 64]", "row[b % 8]", "q[a % 3]"
            )
        one, two = self.expression(depth + 1), self.expression(depth + 1)
        kind = self.random.integers(7)
        if kind == 0:
            return f"({one} if {self.condition(depth + 1)} else {two})"
        if kind == 1:
            return f"helper({one}, {two})"
        if kind == 2:
            return f"{self.pick('min', 'max')}({one}, {two})"
        if kind == 3:
            return f"(x[(({one}) % 60) : 64].size + {two}) % 1000"
        return f"({one} {self.pick('+', '-', '*', '//7 +', '%5 -', '&', '^')} {two}) % 1000"

    def condition(self, depth=0):
        kind = self.random.integers(5) if depth < 3 else 0
        if kind == 1:
            return f"({self.condition(depth + 1)} and {self.condition(depth + 1)})"
        if kind == 2:
            return f"({self.condition(depth + 1)} or {self.condition(depth + 1)})"
        if kind == 3:
            return f"not {self.condition(depth + 1)}"
        if kind == 4:
            return f"{self.expression(2)} < {self.expression(2)} <= {self.expression(2)} != {self.expression(2)}"
        return f"{self.expression(2)} {self.pick('<', '>', '==', '!=')} {self.expression(2)}"

    def block(self, depth=0, loop=False, indent=1):
        out = []
        for _ in range(self.random.integers(1, 4)):
            kind, pad = self.random.integers(11), "    " * indent
            if kind < 4 or depth > 3:
                out.append(
                    f"{pad}{self.pick('a', 'b', 'c', 'q[1]')} {self.pick('=', '+=', '-=', '=')} {self.expression()}"
                )
            elif kind < 6:
                out += [f"{pad}if {self.condition()}:", *self.block(depth + 1, loop, indent + 1)]
                out += [f"{pad}else:", *self.block(depth + 1, loop, indent + 1)]
            elif kind == 6:
                out += [
                    f"{pad}for k{depth} in range(({self.expression()}) % 6):",
                    *self.block(depth + 1, True, indent + 1),
                ]
            elif kind == 7:
                out += [f"{pad}n{depth} = 0", f"{pad}while {self.condition()} and n{depth} < 6:"]
                out += [f"{pad}    n{depth} += 1", *self.block(depth + 1, True, indent + 1)]
            elif kind == 8 and loop:
                out += [f"{pad}if {self.condition()}:", f"{pad}    {self.pick('break', 'continue')}"]
            elif kind == 9 and depth:
                out += [f"{pad}if {self.condition()}:", f"{pad}    y[i] = a - b", f"{pad}    return"]
            elif kind == 10:
                out += [f"{pad}for v in (2, 5, a % 7):", f"{pad}    c += v", *self.block(depth + 1, True, indent + 1)]
            else:
                out.append(f"{pad}y[i] += {self.expression()}")
        return out

    def program(self):
        start = ["def program(x, m, y, z):", "    i = cuda.grid(1)", "    a = i", "    b = x[i]", "    c = 3"]
        start += [
            "    q = cuda.local.array(3, np.int64)",
            "    q[0] = i",
            "    q[1] = 1",
            "    q[2] = b",
            "    row = m[i]",
        ]
        end = ["    z[i] = a % 100003 + 7 * (b % 1009) + c % 997 + q[1] % 991"]
        return "\n".join([*start, *self.block(), *end, ""])


HELPER = """
def helper(p, q):
    if p > q:
        return p - q
    for k in range(q % 5):
        if k == p % 3:
            return k
        p += k
    return p
"""


def defined(text, file, scope, name):
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    exec(compile(text, file, "exec"), scope)
    return scope[name]


def data(seed):
    random = np.random.default_rng(seed)
    x, m = random.integers(0, 50, THREADS), random.integers(0, 50, (THREADS, 8))
    return x, m, np.zeros(THREADS, np.int64), np.zeros(THREADS, np.int64)


def in_python(text, seed):
    """One thread after another, in Python."""
    thread = SimpleNamespace(now=0)
    local = SimpleNamespace(array=lambda n, dtype: np.zeros(n, dtype))
    scope = {"np": np, "cuda": SimpleNamespace(grid=lambda n: thread.now, local=local)}
    defined(HELPER, "<helper in Python>", scope, "helper")
    program = defined(text, f"<program {seed} in Python>", scope, "program")
    x, m, y, z = data(seed)
    for thread.now in range(THREADS):
        program(x, m, y, z)
    return y, z


@pytest.mark.filterwarnings("ignore::SyntaxWarning")
@pytest.mark.parametrize("block", range(6))
def test_random_programs(block):
    helper = cuda.jit(device=True)(defined(HELPER, "<helper>", {}, "helper"))
    differ = 0
    for seed in range(block, PROGRAMS, 6):
        text = Writer(seed).program()
        y, z = in_python(text, seed)
        kernel = cuda.jit(defined(text, f"<program {seed}>", {"np": np, "cuda": cuda, "helper": helper}, "program"))
        traffic = []
        for turns in (False, True):
            x, m, mine, result = data(seed)
            with profile(warps_take_turns=turns) as p:
                kernel[1, THREADS](x, m, mine, result)
            assert np.array_equal(mine, y) and np.array_equal(result, z), text
            assert p.races == [], text
            traffic.append([(t.line, t.op, t.array, t.requests, t.accesses, t.sectors) for t in p.lines])
        assert traffic[0] == traffic[1], text
        differ += len(set(z.tolist())) > 20
    assert differ > PROGRAMS / 6 / 2  # the programs do tell threads apart
