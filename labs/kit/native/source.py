"""What stands behind an answer that is not Python: `Source`."""

from __future__ import annotations

from dataclasses import dataclass

UNSOLVED_MARK = '#error "not solved yet"'
"""What the publisher leaves where an answer stood; a cell with this line binds unsolved answers."""


@dataclass(frozen=True, slots=True)
class Source:
    """The text of a cell in another language, and the names it gives to the notebook.

    Parameters
    ----------
    text : str
        The cell below its magic line, as the learner wrote it.
    symbols : tuple of str
        Functions or kernels that the cell binds.
    language : {"cpp", "cuda"}
    label : str
        What error messages call it, for example ``cell``.
    """

    text: str
    symbols: tuple[str, ...]
    language: str
    label: str = "cell"

    @property
    def symbol(self) -> str:
        """The first name it gives, or an empty text."""
        return self.symbols[0] if self.symbols else ""

    @property
    def unsolved(self) -> bool:
        """Whether the mark that the publisher leaves still stands in it."""
        return is_unsolved(self.text)


def is_unsolved(text: str) -> bool:
    """Whether a line of `text` is the publisher's ``#error "not solved yet"``."""
    wanted = UNSOLVED_MARK.split()
    return any(line.split() == wanted for line in text.splitlines())
