"""What verdicts need imported. It is done once and before workers are forked: no verdict's time limit pays for it."""

import ast
import importlib
import inspect
import sys

SLOW = "torch"


def prepare(exercises):
    """Import PyTorch when an oracle of these exercises runs it; on a busy machine that takes ten seconds.

    Parameters
    ----------
    exercises : iterable of labs.kit.exercise.Exercise
    """
    if use_torch(exercises):
        importlib.import_module(SLOW)


def use_torch(exercises):
    """Whether anything but the `run` of these exercises, which runs in the sandbox, imports PyTorch when it is called.

    Parameters
    ----------
    exercises : iterable of labs.kit.exercise.Exercise

    Returns
    -------
    bool
    """
    exercises = list(exercises)
    inside = {exercise.run.__name__ for exercise in exercises}
    modules = {step.__module__ for exercise in exercises for step in (exercise.cases, exercise.verify)}
    return any(_imports_torch(sys.modules[name], inside) for name in modules)


def _imports_torch(module, inside):
    tree = ast.parse(inspect.getsource(module))
    steps = [node for node in tree.body if getattr(node, "name", "") not in inside]
    imports = [node for step in steps for node in ast.walk(step) if isinstance(node, (ast.Import, ast.ImportFrom))]
    names = [alias.name for node in imports if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module or "" for node in imports if isinstance(node, ast.ImportFrom)]
    return any(name.partition(".")[0] == SLOW for name in names)
