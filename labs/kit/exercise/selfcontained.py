"""Can the source of an exercise's `run` be sent to a sandbox alone?"""

import ast
import builtins
import dis
import inspect
import types

_ALLOWED = ("numpy", "torch", "labs.kit")


def check_self_contained(exercise) -> None:
    """Raise `ValueError`, with what to change, unless `run` can travel as source.

    `run` must be a module-level function, must use no global names but built-in ones, and must import only NumPy,
    torch and ``labs.kit``, inside its body.
    """
    run = exercise.run
    if not inspect.isfunction(run) or run.__qualname__ != run.__name__ or run.__name__ == "<lambda>":
        _refuse(exercise, "make it a plain function at module level, neither a lambda nor nested nor a method")
    tree = ast.parse(exercise.run_source)
    if len(tree.body) != 1 or not isinstance(tree.body[0], ast.FunctionDef) or tree.body[0].decorator_list:
        _refuse(exercise, "its source must be one undecorated def")
    for node in ast.walk(tree):
        for name in _imported(node):
            if not any(name == allowed or name.startswith(allowed + ".") for allowed in _ALLOWED):
                _refuse(exercise, f"it imports {name or 'relatively'}; only {', '.join(_ALLOWED)} exist in the sandbox")
    foreign = sorted(_globals(run.__code__) - set(dir(builtins)))
    if foreign:
        _refuse(exercise, f"it uses the global {', '.join(foreign)}; import or define it inside run")
    scope = {"__builtins__": builtins}
    try:
        exec(compile(tree, f"<run of {exercise.id}>", "exec"), scope)  # defaults and annotations are evaluated here
    except NameError as error:
        _refuse(exercise, f"its signature uses the global {error.name}")


def _imported(node):
    """Names of the modules that an import statement loads; empty text for a relative import."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        if node.level or node.module is None:
            return [""]
        return [f"{node.module}.{alias.name}" if node.module == "labs" else node.module for alias in node.names]
    return []


def _globals(code):
    """Global names that a code object and the functions inside it read or write."""
    names = {step.argval for step in dis.get_instructions(code) if step.opname.endswith("_GLOBAL")}
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= _globals(constant)
    return names


def _refuse(exercise, reason):
    raise ValueError(f"run of exercise {exercise.id} cannot go into the sandbox: {reason}.")
