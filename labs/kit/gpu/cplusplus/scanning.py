"""What a text of CUDA C++ declares: its kernels with their parameters, dynamic shared arrays, constants.

This only looks for declarations; the compiler decides what is right. Comments and strings are blanked out first, so
that nothing in them is taken for code.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_BLANK = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.S)
_KERNEL = re.compile(
    r"(?P<template>template\s*<[^{};]*>\s*)?"
    r"(?:extern\s*(?:\"C\"|   )\s*)?(?:(?:static|inline)\s+)*__global__\s+(?:(?:static|inline)\s+)*"
    r"(?:__launch_bounds__\s*\([^)]*\)\s*)?void\s+(?:__launch_bounds__\s*\([^)]*\)\s*)?"
    r"(?P<name>\w+)\s*\((?P<parameters>[^)]*)\)\s*\{"
)
_DYNAMIC = re.compile(r"extern\s+__shared__[^;]*?(\w+)\s*\[\s*\]\s*;")
_CONSTANT = re.compile(r"__constant__\s+(?P<type>[\w\s:<>,]*?)\b(?P<name>\w+)\s*(?:\[[^;=]*\])?\s*(?:=|;|\{)")

# C types by the characters that NumPy uses; "z" is bfloat16, "v" void, "X" anything else.
_CODES = {
    "float": "f", "double": "d", "bool": "?", "void": "v", "int": "i", "unsigned": "I", "unsigned int": "I",
    "uint": "I", "short": "h", "unsigned short": "H", "char": "b", "signed char": "b", "unsigned char": "B",
    "long": "q", "long long": "q", "unsigned long": "Q", "unsigned long long": "Q", "size_t": "Q", "int8_t": "b",
    "uint8_t": "B", "int16_t": "h", "uint16_t": "H", "int32_t": "i", "uint32_t": "I", "int64_t": "q", "uint64_t": "Q",
    "half": "e", "__half": "e", "half2": "e", "__half2": "e", "__nv_bfloat16": "z", "nv_bfloat16": "z",
    "__nv_bfloat162": "z",
}  # fmt: skip
_VECTORS = {
    "float": "f", "double": "d", "int": "i", "uint": "I", "short": "h", "ushort": "H", "char": "b", "uchar": "B",
    "longlong": "q", "ulonglong": "Q",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a kernel, as its text says.

    Parameters
    ----------
    name : str
    pointer, constant : bool
        Whether it is a pointer, and one to const.
    code : str
        The type (of what is pointed to) as a character of NumPy's; "z" bfloat16, "v" void, "X" anything else.
    size : int
        Bytes of a value (8 for a pointer; 0 where the text alone does not tell).
    """

    name: str
    pointer: bool
    constant: bool
    code: str
    size: int = 0


@dataclass(frozen=True, slots=True)
class Declared:
    """One kernel as its text says.

    Parameters
    ----------
    name : str
    template : bool
        Whether it needs arguments in angle brackets before it can be compiled.
    parameters : tuple of Parameter
    line : int
    """

    name: str
    template: bool
    parameters: tuple[Parameter, ...]
    line: int


def blanked(text: str) -> str:
    """`text` with comments and the contents of strings replaced by spaces, line by line as long as before."""
    return _BLANK.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)


def kernels(text: str) -> dict[str, Declared]:
    """The `__global__` functions of a text by name, in its order."""
    clean = blanked(text)
    found = {}
    for match in _KERNEL.finditer(clean):
        parts = [part for part in split(match["parameters"]) if part.strip() not in ("", "void")]
        found[match["name"]] = Declared(
            match["name"],
            bool(match["template"]),
            tuple(parameter(part) for part in parts),
            clean.count("\n", 0, match.start("name")) + 1,
        )
    return found


def dynamic_shared(text: str) -> tuple[str, ...]:
    """Names of the arrays declared as ``extern __shared__ T name[];``."""
    return tuple(sorted(set(_DYNAMIC.findall(blanked(text)))))


def constants(text: str) -> dict[str, str]:
    """The `__constant__` variables by name, with the code of their element's type (see `Parameter`)."""
    found = _CONSTANT.finditer(blanked(text))
    return {match["name"]: parameter(f"{match['type']} {match['name']}").code for match in found}


def split(text: str) -> list[str]:
    """Split at the commas that stand outside angle brackets and parentheses."""
    parts, depth = [""], 0
    for character in text:
        depth += (character in "<(") - (character in ">)")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return parts


def parameter(text: str) -> Parameter:
    """Read one parameter: ``const float* __restrict__ x``, ``int n``."""
    words = re.findall(r"\w+|[*&\[]", re.sub(r"\b__restrict(?:__)?\b|\b__grid_constant__\b", " ", text))
    name = next((word for word in reversed(words) if word.isidentifier()), "")
    pointer = "*" in words or "[" in words
    before = words[: words.index("*")] if "*" in words else words
    base = " ".join(word for word in before if word not in ("const", "volatile", "struct", "[") and word != name)
    base = re.sub(r"^unsigned (long|short|char|int|long long)( int)?$", r"unsigned \1", base)
    base = re.sub(r"^(long|short|long long) int$", r"\1", base)
    vector = re.fullmatch(r"([a-z]+)[1-4]", base)
    code = _CODES.get(base) or (vector and _VECTORS.get(vector[1])) or "X"
    size = 8 if pointer else _size(code) if base in _CODES else 0
    return Parameter(name, pointer, "const" in before, code, size)


def _size(code):
    return {"z": 2, "v": 0, "X": 0, "b": 1, "B": 1, "?": 1, "h": 2, "H": 2, "e": 2, "i": 4, "I": 4, "f": 4}.get(code, 8)
