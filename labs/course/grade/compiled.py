"""What answers in C++ need in a sandbox: a compiler, and the parts that all cells share, built once outside.

Only those shared parts are shown inside. Cells that were built outside (an author's, with answers) are not.
"""

import json
from pathlib import Path

from labs.course.grade.fault import CourseError
from labs.course.stubs import CPP_MAGICS


def prepare(course, names):
    """Build the shared parts when a lesson has cells in C++.

    Parameters
    ----------
    course : labs.course.grade.course.Course
    names : sequence of str
        The lessons that are going to be graded.

    Raises
    ------
    CourseError
        When there is no compiler: every answer would be marked wrong.
    """
    needing = [name for name in names if needs_compiler(course.source_dir / f"{name}.ipynb")]
    if not needing:
        return
    from labs.kit.native import binding
    from labs.kit.native.failures import NativeError

    try:
        binding.prepare()
    except NativeError as error:
        raise CourseError(f"{', '.join(needing)} cannot be graded here, for want of C++.\n{error}") from None


def needs_compiler(source):
    """Whether a source notebook has a cell in C++ or CUDA."""
    try:
        cells = json.loads(Path(source).read_text(encoding="utf-8"))["cells"]
    except (OSError, ValueError, KeyError):
        return False  # told where the notebook is read in earnest
    return any("".join(cell["source"]).lstrip().startswith(CPP_MAGICS) for cell in cells if cell["cell_type"] == "code")


def support():
    """The folder with the shared parts, or None when it was never built."""
    from labs.kit.native.toolchain import cache_folder

    try:
        folder = cache_folder() / "support"
    except OSError:  # a home that cannot be written to
        return None
    return folder if folder.is_dir() else None
