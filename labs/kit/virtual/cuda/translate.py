"""From the text of a kernel to a function that runs many threads in lockstep.

The kernel's syntax tree is rewritten: every operation becomes a call on ``_R``, the lanes that run together
(`labs.kit.virtual.cuda.lanes.Lanes`), and every ``if`` and loop narrows the mask of lanes that take part. Line numbers
stay those of the learner's file or cell, so tracebacks show the learner's lines.
"""

from __future__ import annotations

import ast
import inspect
import operator
import textwrap
import types
from dataclasses import dataclass

import numpy as np

from labs.kit.virtual.cuda.constants import Constants
from labs.kit.virtual.cuda.failures import Unsupported
from labs.kit.virtual.cuda.memory import Allocation, View
from labs.kit.virtual.cuda.refusals import refuse
from labs.kit.virtual.cuda.rewrite import BINARY, COMPARISON, UNARY, Rewriter, assignment, lanes_call, variable
from labs.kit.virtual.cuda.unset import Unset

_OPERATORS = {
    "_op_" + name: getattr(operator, name) for name in [*BINARY.values(), *COMPARISON.values(), *UNARY.values()]
}
_OPERATORS |= {"_op_slice": slice, "_op_unset": Unset}


@dataclass(frozen=True, eq=False)
class Translated:
    """A rewritten kernel or device function.

    Parameters
    ----------
    function : types.FunctionType
        The learner's.
    code : types.CodeType
        Of the rewritten one, which takes the running lanes before the arguments.
    lines : tuple of int
        Line number of each site: an access, a call, or a division, numbered in the order of the text.
    returns : tuple of int
        Lines of its ``return`` statements.
    """

    function: types.FunctionType
    code: types.CodeType
    lines: tuple[int, ...]
    returns: tuple[int, ...]

    def bind(self) -> types.FunctionType:
        """The rewritten function with the globals and the closure as they are now; arrays among them are constants."""
        function = self.function
        names = set(self.code.co_names) | {name for code in _inner(self.code) for name in code.co_names}
        scope = {name: function.__globals__[name] for name in names if name in function.__globals__}
        scope["__builtins__"] = function.__globals__.get("__builtins__", __builtins__)
        scope |= zip(function.__code__.co_freevars, (cell.cell_contents for cell in function.__closure__ or ()))
        for name, value in scope.items():
            if isinstance(value, np.ndarray):
                scope[name] = constant(value, name)
        return types.FunctionType(self.code, scope | _OPERATORS, function.__name__, function.__defaults__)


def constant(values: np.ndarray, name: str) -> View:
    """A view of an array that kernels only read."""
    values = np.ascontiguousarray(values)
    return View(Allocation(values.shape, values.dtype, "const", name, values.reshape(-1), written=True), values.shape)


def translate(function: types.FunctionType) -> Translated:
    """Rewrite a function.

    Raises
    ------
    Unsupported
        When the text cannot be found, or holds something that a kernel cannot do here; names line and alternative.
    """
    name = function.__name__
    try:
        lines, first = inspect.getsourcelines(function)
        tree = ast.parse(textwrap.dedent("".join(lines))).body[0]
    except (OSError, TypeError, SyntaxError, IndexError) as error:
        raise Unsupported(
            f"The text of {name} cannot be found ({error}), and the virtual device runs a kernel from its text."
            " Define it in a notebook cell or in a file; after editing a file, import it again."
        ) from None
    if name == "<lambda>":
        raise Unsupported("A kernel is a function of its own: write `def name(...):` under `@cuda.jit`, not a lambda.")
    if not isinstance(tree, ast.FunctionDef) or tree.name != name:
        raise Unsupported(
            f"{name} is not a plain function: write `def {name}(...)` under `@cuda.jit`, without other decorators. If"
            " you edited the file after importing it, import it again."
        )
    ast.increment_lineno(tree, first - 1)
    arguments = tree.args
    if arguments.vararg or arguments.kwarg or arguments.kwonlyargs:
        refuse(function.__code__, first, "*args, **kwargs and keyword-only parameters", "plain parameters")
    parameters = {argument.arg for argument in arguments.posonlyargs + arguments.args}
    rewriter = Rewriter(function.__code__, Constants(tree, parameters))
    stored = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    body = [
        assignment("_F", lanes_call("enter")),
        *(
            assignment(name, ast.Call(variable("_op_unset"), [ast.Constant(name)], []))
            for name in sorted(stored - parameters)
        ),
        *rewriter.block(tree.body),
        ast.Return(lanes_call("leave", variable("_F"))),
    ]
    arguments.posonlyargs.insert(0, ast.arg("_R"))
    for argument in arguments.posonlyargs + arguments.args:
        argument.annotation = None
    tree.body, tree.decorator_list, tree.returns, arguments.defaults = body, [], None, []
    module = ast.fix_missing_locations(ast.Module([tree], []))
    outer = compile(module, function.__code__.co_filename, "exec", dont_inherit=True)
    code = next(item for item in outer.co_consts if isinstance(item, types.CodeType) and item.co_name == name)
    return Translated(function, code, tuple(rewriter.lines), tuple(rewriter.returns))


def _inner(code):
    for item in code.co_consts:
        if isinstance(item, types.CodeType):
            yield item
            yield from _inner(item)
