"""What readers raise when a file is not what it claims to be, or when a part of the extension is not there."""

from __future__ import annotations


class FormatError(ValueError):
    """A file whose content breaks its format, or does not hold what the caller asked for.

    Parameters
    ----------
    text : str
        The whole message: file, line, column, what was expected, what was found.
    file : str
        The file's path, as it was given.
    reason : str
        The message without the place.
    line, column : int, optional
        From 1. In a CSV file the column counts fields, in JSON it counts bytes. None where a format has no lines.
    byte : int, optional
        Where in the file, from 0; None where that is not known.
    """

    def __init__(
        self,
        text: str,
        file: str = "",
        reason: str = "",
        line: int | None = None,
        column: int | None = None,
        byte: int | None = None,
    ):
        super().__init__(text)
        self.file, self.reason = file, reason or text
        self.line, self.column, self.byte = line, column, byte

    def __reduce__(self):
        return FormatError, (str(self), self.file, self.reason, self.line, self.column, self.byte)


class MissingPart(RuntimeError):
    """The extension was built without the library that this reader needs."""
