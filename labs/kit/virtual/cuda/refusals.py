"""What a kernel cannot do, and what to write instead."""

from __future__ import annotations

from types import CodeType

from labs.kit.virtual.cuda.failures import Unsupported
from labs.kit.virtual.places import place_of

_LOOP = "a loop over range(), with a local variable or cuda.local.array"
_OUTSIDE = "do it outside the kernel"

ALTERNATIVES = {
    "ListComp": ("a list comprehension", _LOOP),
    "SetComp": ("a set comprehension", _LOOP),
    "DictComp": ("a dict comprehension", _LOOP),
    "GeneratorExp": ("a generator", _LOOP),
    "List": ("a list", "a tuple, or cuda.local.array(length, dtype)"),
    "Dict": ("a dict", "an array indexed by number"),
    "Set": ("a set", "an array indexed by number"),
    "Try": ("try", "an `if` before the operation that may fail"),
    "With": ("with", _OUTSIDE),
    "Assert": ("assert", "print(...), or a value written to an array that the host checks"),
    "Delete": ("del", "nothing: a variable needs no deleting"),
    "Global": ("global", "an array argument"),
    "Nonlocal": ("nonlocal", "an array argument"),
    "Import": ("import", "import above the kernel"),
    "ImportFrom": ("import", "import above the kernel"),
    "FunctionDef": ("a function inside a kernel", "a function of its own under @cuda.jit(device=True)"),
    "AsyncFunctionDef": ("async", "a plain def"),
    "Lambda": ("lambda", "a function of its own under @cuda.jit(device=True)"),
    "ClassDef": ("a class", "several arrays"),
    "JoinedStr": ("an f-string", "print(a, b), which takes several values"),
    "NamedExpr": ("the operator :=", "an assignment on a line of its own"),
    "Yield": ("yield", "an array that takes the values"),
    "YieldFrom": ("yield", "an array that takes the values"),
    "Await": ("await", "a plain call"),
    "Match": ("match", "if and elif"),
    "Starred": ("a starred expression", "the elements one by one"),
    "Attribute": ("an assignment to an attribute", "a local variable or an element of an array"),
}
"""By the kind of node: what it is called, and what to write instead."""

_ELEMENTS = "for i in range(len(x)), and x[i] inside"
_TOTAL = "a loop over the elements, or cuda.atomic.add"
_MEMORY = "cuda.local.array(length, dtype), or an array argument"
_CHANCE = "random numbers made on the host and handed over as an array"
CALLS = {
    **dict.fromkeys(("enumerate", "zip", "map", "filter", "reversed"), _ELEMENTS),
    **dict.fromkeys(("sum", "mean", "prod", "dot", "any", "all", "cumsum"), _TOTAL),
    **dict.fromkeys(("zeros", "ones", "empty", "full", "array", "zeros_like", "empty_like", "arange"), _MEMORY),
    **dict.fromkeys(("rand", "randn", "random", "randint", "uniform", "normal"), _CHANCE),
}
"""By the name of a function that kernels cannot call: what to write instead."""


def refuse(code: CodeType, line: int, what: str, instead: str):
    """Raise `Unsupported`: at this line stands something that a kernel cannot have."""
    place = place_of(code, line)
    raise Unsupported(f"A kernel cannot use {what}.\n  at {place}\n  Instead: {instead}.", place)
