"""The copy of the course that a learner's code may import inside the sandbox.

It holds `labs.kit` as it is and the lesson packages without what must stay outside: ``exercises*.py`` (cases and
verdicts) and modules that hold an answer. Each of these is replaced by a stub whose every attribute is a callable that
does nothing, so that a cell such as ``exercises.ring(ring)`` runs there and decides nothing. ``labs.course`` is a stub
too. Whatever else lies beside the packages (sources, tests) is not copied.
"""

import ast
import re
import shutil
from pathlib import Path

import labs

HERE = Path(__file__).parent
HIDDEN = re.compile(r"_?(exercises?|answers?|solutions?|oracles?)(_\w+)?\.py")
"""Modules of a lesson that a learner's code never sees, also in parts (``exercises_ring.py``). Any other module of a
lesson can ask for the same by the module-level line ``HOLDS_ANSWERS = True``, and one that imports `VERDICTS` need not
even ask."""
VERDICTS = {"Case", "Exercise", "Wrong"}
INSIDE = ("jail.py", "watch.py", "syscalls.py", "landlock.py", "warm.py", "remote.py", "stub.py")
"""This room's own modules that run on the sandbox's side, as the package `labs_sandbox`."""


def build(folder, packages=("labs",)):
    """Write the copy.

    Parameters
    ----------
    folder : path-like
        An empty folder.
    packages : sequence of str
        Importable packages whose sub-packages are lessons. `labs` always comes along, for its kit.

    Returns
    -------
    list of str
        The modules that were replaced by a stub, for example ``labs/all_reduce/exercises.py``.
    """
    folder, replaced = Path(folder), []
    for name in dict.fromkeys(["labs", *packages]):
        source = package_folder(name)
        target = folder / name
        target.mkdir()
        shutil.copy(source / "__init__.py", target)
        for lesson in sorted(path for path in source.iterdir() if (path / "__init__.py").is_file()):
            if (name, lesson.name) == ("labs", "course"):
                (target / "course").mkdir()
                shutil.copy(HERE / "stub.py", target / "course/__init__.py")
            elif (name, lesson.name) == ("labs", "kit"):
                shutil.copytree(lesson, target / "kit", ignore=shutil.ignore_patterns("__pycache__"))
            elif name in packages:
                replaced += _copy_lesson(lesson, target / lesson.name, folder)
    (folder / "labs_sandbox").mkdir()
    (folder / "labs_sandbox/__init__.py").write_text('"""The grader\'s modules that run on the sandbox\'s side."""\n')
    for module in INSIDE:
        shutil.copy(HERE / module, folder / "labs_sandbox")
    # Nobody debugs in the sandbox, and importing the debugger is most of a kernel's start.
    (folder / "debugpy").mkdir()
    (folder / "debugpy/__init__.py").write_text("raise ImportError('no debugger in the sandbox')\n")
    for path in [folder, *folder.rglob("*")]:  # another user reads it
        path.chmod(0o755 if path.is_dir() else 0o644)
    return replaced


def package_folder(name):
    """Folder of an importable package, found without importing it where `labs` itself is asked for."""
    if name == "labs":
        return Path(labs.__file__).resolve().parent
    import importlib

    return Path(importlib.import_module(name).__file__).resolve().parent


def _copy_lesson(lesson, target, folder):
    replaced = []
    shutil.copytree(lesson, target, ignore=shutil.ignore_patterns("__pycache__", "*.ipynb"))
    for module in sorted(target.rglob("*.py")):
        if HIDDEN.fullmatch(module.name) or _holds_answers(module):
            shutil.copy(HERE / "stub.py", module)
            replaced.append(str(module.relative_to(folder)))
    return replaced


def _holds_answers(module):
    """Whether a module says so, or judges: it imports what verdicts are made of."""
    tree = ast.parse(module.read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("labs.kit.exercise"):
            if VERDICTS & {alias.name for alias in node.names}:
                return True
    assigned = [target for node in tree.body if isinstance(node, ast.Assign) for target in node.targets]
    return any(isinstance(target, ast.Name) and target.id == "HOLDS_ANSWERS" for target in assigned)
