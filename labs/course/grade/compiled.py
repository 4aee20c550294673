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
    magics = {name: found for name in names if (found := cell_magics(course.source_dir / f"{name}.ipynb"))}
    needing = list(magics)
    if not needing:
        return
    from labs.kit.gpu import cplusplus
    from labs.kit.native import binding
    from labs.kit.native.failures import NativeError

    try:
        if any("%%cpp" in found for found in magics.values()):
            binding.prepare()
        if any("%%cuda" in found for found in magics.values()):
            cplusplus.prepare()
    except NativeError as error:
        raise CourseError(f"{', '.join(needing)} cannot be graded here, for want of C++.\n{error}") from None


def cell_magics(source):
    """The magics of C++ and CUDA with which cells of a source notebook begin, as a set."""
    try:
        cells = json.loads(Path(source).read_text(encoding="utf-8"))["cells"]
    except (OSError, ValueError, KeyError):
        return set()  # told where the notebook is read in earnest
    texts = ["".join(cell["source"]).lstrip() for cell in cells if cell["cell_type"] == "code"]
    return {magic for magic in CPP_MAGICS for text in texts if text.startswith(magic)}


def support():
    """The folder with the shared parts, or None when it was never built."""
    from labs.kit.native.toolchain import cache_folder

    try:
        folder = cache_folder() / "support"
    except OSError:  # a home that cannot be written to
        return None
    return folder if folder.is_dir() else None
