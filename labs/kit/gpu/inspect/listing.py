"""A listing: the machine code of one kernel for one target, to read, to count in, and to show beside the source."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

from .classes import KINDS
from .devices import target as target_of
from .parse import Instruction


@dataclass(frozen=True, eq=False)
class Listing:
    """What a compiler made of a kernel. Made by `machine_code`; shows itself beside the source.

    Attributes
    ----------
    kernel : str
        The kernel's name.
    target : str
        The GPU it was compiled for: "sm_80", "gfx942".
    format : {"ptx", "sass", "gcn"}
        PTX is NVIDIA's portable assembly, SASS its machine code, GCN AMD's machine code.
    text : str
        The listing without directives, addresses and padding.
    instructions : tuple of Instruction
        In order, each with opcode, operands, kind, bits and line of source.
    source : str
        The kernel's source; `Instruction.line` counts in it.
    compiler : str
        Which compilers made it, with their versions.
    stored : bool
        True for a listing that came with the course because this machine lacks the compiler.
    """

    kernel: str
    target: str
    format: str
    text: str
    instructions: tuple[Instruction, ...]
    source: str
    compiler: str
    stored: bool = False

    @property
    def counts(self) -> Counter:
        """How many instructions of each kind there are (see `KINDS`); a kind that does not occur counts 0."""
        found = Counter(instruction.kind for instruction in self.instructions)
        return Counter({kind: found[kind] for kind in KINDS if found[kind]})

    def count(self, pattern: str) -> int:
        """How many instructions have an opcode that `pattern` matches, as whole words.

        Parameters
        ----------
        pattern : str
            A regular expression. It must begin and end between words; ``.`` and ``_`` stand between words too, so
            "HMMA" counts ``HMMA.16816.F32`` but neither ``HFMA2.MMA`` nor ``HGMMA``, and "v_mfma" counts
            ``v_mfma_f32_16x16x16_f16``.
        """
        return len(self.find(pattern))

    def find(self, pattern: str) -> tuple[Instruction, ...]:
        """The instructions that `count` counts."""
        whole = re.compile(rf"(?<![A-Za-z0-9])(?:{pattern})(?![A-Za-z0-9])")
        return tuple(instruction for instruction in self.instructions if whole.search(instruction.opcode))

    def widths(self, kind: str) -> Counter:
        """How many memory instructions of a kind move how many bits a thread: ``widths("global load")[64]``.

        Raises
        ------
        ValueError
            For a kind that there is not.
        """
        if kind not in KINDS:
            raise ValueError(f"Unknown kind {kind!r}; there are {', '.join(KINDS)}.")
        found = Counter(instruction.bits for instruction in self.instructions if instruction.kind == kind)
        return Counter(dict(sorted(found.items(), key=lambda item: item[0] or 0)))

    @property
    def heading(self) -> str:
        """What this is: "wmma_mm as SASS for sm_80, NVIDIA Ampere (A100)"."""
        names = {"ptx": "PTX", "sass": "SASS", "gcn": "machine code"}
        return f"{self.kernel} as {names[self.format]} for {target_of(self.target, self.format).title}"

    @property
    def summary(self) -> str:
        """The counts in words, most telling kinds first."""
        parts = []
        for kind, how_many in self.counts.items():
            wide = {bits: n for bits, n in self.widths(kind).items() if bits}
            widths = f" ({', '.join(f'{n} of {bits} bit' for bits, n in wide.items())})" if wide else ""
            parts.append(f"{how_many} {kind}{widths}")
        text = f"{len(self.instructions)} instructions: {', '.join(parts)}"
        return text if self.counts["tensor"] else f"{text}; no tensor instruction"

    @property
    def origin(self) -> str:
        """Who made it, and whether it was made here."""
        return f"Stored with the course, made by {self.compiler}" if self.stored else f"Made here by {self.compiler}"

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict[str, str]:
        from .page import html

        return {"text/html": html(self), "text/plain": repr(self)}

    def __repr__(self) -> str:
        return f"{self.heading}\n{self.summary}.\n{self.origin}."
