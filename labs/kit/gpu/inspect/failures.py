"""What can keep the microscope from showing a kernel: exceptions that explain themselves in a notebook."""

from __future__ import annotations


class InspectError(RuntimeError):
    """A kernel whose machine code cannot be shown. `str()` is the whole explanation."""

    def _render_traceback_(self) -> list[str]:
        """What a notebook shows in place of a traceback: the explanation and nothing of the machinery."""
        return [f"{type(self).__name__}: {self}"]


class NotInspectable(InspectError):
    """The question does not fit: an unknown target, a kernel without source, a signature that is missing."""


class CompileFailed(InspectError):
    """The compiler refused the kernel; the text is what it said, with the lines of the learner's own source."""


class MissingPackage(InspectError):
    """A compiler that is not installed here.

    Attributes
    ----------
    packages : tuple of str
        What to install, as `pip install` takes it.
    """

    def __init__(self, text: str, packages: tuple[str, ...] = ()):
        super().__init__(text)
        self.packages = packages

    def __reduce__(self):
        return MissingPackage, (str(self), self.packages)

    def _repr_markdown_(self) -> str:
        """The sentence, for a notebook that shows it instead of stopping."""
        return f"> {self}"
