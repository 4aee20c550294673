"""What ranks print, line by line, each with the number of its rank in front."""

from __future__ import annotations

import codecs
import os
import re
from collections.abc import Callable

_NOISE = ("[Gloo] Rank ",)  # gloo announces every connected group on stdout
_LAST_WORDS = ("Fatal Python error: ", "terminate called ")  # a crash in compiled code begins its report so
_STACK_LINE = re.compile(r'^\s+File "(?P<file>.*)", line (?P<line>\d+) in (?P<function>.*)$')


def show(line: str) -> None:
    """Print a line where the caller's own output goes: its terminal, or the notebook cell that runs."""
    print(line, flush=True)


class Lines:
    """Cuts the bytes that one rank prints into lines and hands them on with the rank in front.

    Attributes
    ----------
    last_words : list of str
        What the process printed while it crashed, or when it was told to dump its stack; not handed on.
    """

    def __init__(self, rank: int, sink: Callable[[str], None] | None = show) -> None:
        self.last_words: list[str] = []
        self._prefix, self._sink = f"[rank {rank}] ", sink
        self._decode = codecs.getincrementaldecoder("utf-8")(errors="replace").decode
        self._rest = ""
        self._holding = False

    def read(self, fd: int) -> bool:
        """Take what is there; return False once no process can print into this pipe any more."""
        piece = os.read(fd, 1 << 16)
        *lines, self._rest = (self._rest + self._decode(piece, final=not piece)).split("\n")
        if not piece and self._rest:
            lines.append(self._rest)
            self._rest = ""
        for line in lines:
            if self._holding or line.startswith(_LAST_WORDS):
                self._holding = True
                self.last_words.append(line)
            elif self._sink is not None and not line.startswith(_NOISE):
                self._sink(self._prefix + line)
        return bool(piece)

    def hold(self) -> None:
        """Keep further lines back: they are a stack that the rank is about to dump."""
        self._holding = True

    def held_stack(self) -> list[dict]:
        """Return the frames of the thread that runs the program, innermost first: file, line, function."""
        block: list[dict] = []
        for line in self.last_words:
            if "hread 0x" in line:  # each thread's frames follow such a line
                block = []
            elif match := _STACK_LINE.match(line):
                block.append(dict(match.groupdict(), line=int(match["line"])))
                if match["function"] == "_work" and match["file"].endswith("worker.py"):
                    return block
        return []
