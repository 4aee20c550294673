"""Which lane holds which element of a tile: the documented layouts of matrix instructions.

A matrix instruction works on a tile that is spread over the registers of a warp (32 lanes) or a wavefront (64 lanes).
The layouts of `mma.sync` and of AMD's MFMA are documented, and are given here as functions of lane and slot. The layout
of `nvcuda::wmma` fragments is not documented and may differ between GPUs: never index `frag.x` by guess.

Sources
-------
NVIDIA, "PTX ISA" 9.0, section "Matrix Fragments for mma.m16n8k16 with floating point type".
AMD, "Matrix Instruction Calculator" and "CDNA 3 Instruction Set Architecture", chapter 7, "Matrix Arithmetic
Instructions"; AMD lab notes, "AMD matrix cores" (2022).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Fragment:
    """Where the elements of one operand's tile are.

    Attributes
    ----------
    instruction, operand : str
        "mma.sync.m16n8k16" and "A", "B" or "C" (the result D lies as C does).
    shape : (int, int)
        Rows and columns of the tile.
    lanes : int
        32 on NVIDIA, 64 on AMD's CDNA.
    slots : int
        Elements that a lane holds; slot i is `a_i`, `b_i`, `c_i` in the documentation.
    packed : int
        Elements in one 32-bit register: 2 halves or 1 float.
    place : callable
        `place(lane, slot) -> (row, column)`, on arrays as well.
    source : str
        Where it is documented.
    """

    instruction: str
    operand: str
    shape: tuple[int, int]
    lanes: int
    slots: int
    packed: int
    place: Callable
    source: str

    def where(self, row: int, column: int) -> tuple[int, int]:
        """The lane and the slot that hold an element.

        Raises
        ------
        IndexError
            For an element outside the tile.
        """
        if not (0 <= row < self.shape[0] and 0 <= column < self.shape[1]):
            raise IndexError(
                f"({row}, {column}) lies outside {self.operand}'s tile of {self.shape[0]} x {self.shape[1]}."
            )
        lane, slot = self.tables
        return int(lane[row, column]), int(slot[row, column])

    def register(self, slot: int) -> int:
        """The 32-bit register, counted from 0, that a slot is in; halves share one."""
        return slot // self.packed

    @property
    def tables(self) -> tuple[np.ndarray, np.ndarray]:
        """Lane and slot of each element, as two int arrays of the tile's shape."""
        lane, slot = np.indices((self.lanes, self.slots))
        row, column = self.place(lane, slot)
        tables = np.full((2, *self.shape), -1)
        tables[:, row, column] = lane, slot
        return tables[0], tables[1]

    def gather(self, tile: np.ndarray) -> np.ndarray:
        """What each lane holds: an array of (lanes, slots) from a tile."""
        if tile.shape != self.shape:
            raise ValueError(f"{self.operand}'s tile is {self.shape[0]} x {self.shape[1]}, not {tile.shape}.")
        row, column = self.place(*np.indices((self.lanes, self.slots)))
        return tile[row, column]

    def scatter(self, held: np.ndarray) -> np.ndarray:
        """The tile whose elements the lanes hold: the inverse of `gather`."""
        if held.shape != (self.lanes, self.slots):
            raise ValueError(f"{self.lanes} lanes hold {self.slots} elements each, not {held.shape}.")
        row, column = self.place(*np.indices((self.lanes, self.slots)))
        tile = np.empty(self.shape, held.dtype)
        tile[row, column] = held
        return tile


_PTX = 'PTX ISA 9.0, "Matrix Fragments for mma.m16n8k16 with floating point type"'
_AMD = "AMD Matrix Instruction Calculator, --architecture cdna3"


def _a(lane, slot):
    return lane // 4 + 8 * (slot // 2 % 2), 2 * (lane % 4) + slot % 2 + 8 * (slot // 4)


def _b(lane, slot):
    return 2 * (lane % 4) + slot % 2 + 8 * (slot // 2), lane // 4


def _c(lane, slot):
    return lane // 4 + 8 * (slot // 2), 2 * (lane % 4) + slot % 2


def _left(size):
    return lambda lane, slot: (lane % size, 4 * (lane // size) + slot)


def _right(size):
    return lambda lane, slot: (4 * (lane // size) + slot, lane % size)


def _result(size):
    groups = 64 // size
    return lambda lane, slot: (4 * groups * (slot // 4) + 4 * (lane // size) + slot % 4, lane % size)


def _mfma(name: str, size: int, depth: int) -> dict[str, Fragment]:
    common = {"instruction": name, "lanes": 64, "source": f"{_AMD} --instruction {name}"}
    return {
        "A": Fragment(operand="A", shape=(size, depth), slots=4, packed=2, place=_left(size), **common),
        "B": Fragment(operand="B", shape=(depth, size), slots=4, packed=2, place=_right(size), **common),
        "C": Fragment(
            operand="C", shape=(size, size), slots=size * size // 64, packed=1, place=_result(size), **common
        ),
    }


_MMA = {"instruction": "mma.sync.m16n8k16", "lanes": 32, "source": _PTX}
FRAGMENTS = {
    "mma.sync.m16n8k16": {
        "A": Fragment(operand="A", shape=(16, 16), slots=8, packed=2, place=_a, **_MMA),
        "B": Fragment(operand="B", shape=(16, 8), slots=4, packed=2, place=_b, **_MMA),
        "C": Fragment(operand="C", shape=(16, 8), slots=4, packed=1, place=_c, **_MMA),
    },
    "v_mfma_f32_16x16x16_f16": _mfma("v_mfma_f32_16x16x16_f16", 16, 16),
    "v_mfma_f32_32x32x8_f16": _mfma("v_mfma_f32_32x32x8_f16", 32, 8),
}
"""Halves in, floats out: {instruction: {"A", "B", "C": Fragment}}."""


def fragment(operand: str, instruction: str = "mma.sync.m16n8k16") -> Fragment:
    """The layout of an operand ("A", "B", "C"; "D" is as "C").

    Raises
    ------
    ValueError
        For an operand or an instruction that is not known here.
    """
    if instruction not in FRAGMENTS:
        raise ValueError(f"Unknown instruction {instruction!r}; known are {', '.join(FRAGMENTS)}.")
    operands = FRAGMENTS[instruction]
    wanted = {"D": "C"}.get(operand, operand)
    if wanted not in operands:
        raise ValueError(f"Unknown operand {operand!r}; there are A, B, C and D.")
    return operands[wanted]


def multiply(a: np.ndarray, b: np.ndarray, c: np.ndarray, instruction: str = "mma.sync.m16n8k16") -> np.ndarray:
    """What the instruction computes from what the lanes hold: D = A B + C in (lanes, slots), in float32.

    Each lane's result is gathered from other lanes' registers, as the hardware does; the sums are NumPy's, so the last
    bits may differ from a GPU's.
    """
    parts = FRAGMENTS[instruction]
    left, right = parts["A"].scatter(np.asarray(a, np.float32)), parts["B"].scatter(np.asarray(b, np.float32))
    return parts["C"].gather(left @ right + parts["C"].scatter(np.asarray(c, np.float32)))
