"""Which expressions of a kernel the compiler knows: Numba compiles an array in a kernel only if it knows the shape."""

from __future__ import annotations

import ast


class Constants:
    """What is known when a kernel is compiled: numbers, names bound outside, and names bound once to either.

    Parameters
    ----------
    kernel : ast.FunctionDef
        The kernel as the learner wrote it.
    parameters : set of str
        Its parameters, which are known at the launch only.
    """

    def __init__(self, kernel: ast.FunctionDef, parameters: set[str]):
        self._parameters = parameters
        self._values: dict[str, list] = {}
        for node in ast.walk(kernel):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                self._values.setdefault(node.id, []).append(None)
        for node in ast.walk(kernel):
            if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
                values = self._values[node.targets[0].id]
                values[values.index(None)] = node.value

    def sized(self, call: ast.Call) -> bool:
        """Whether a call is none of ``shared.array`` and ``local.array``, or one whose shape is known."""
        function = call.func
        if not (isinstance(function, ast.Attribute) and function.attr == "array"):
            return True
        if not (isinstance(function.value, ast.Attribute) and function.value.attr in ("shared", "local")):
            return True
        shape = call.args[:1] or [keyword.value for keyword in call.keywords if keyword.arg == "shape"]
        return all(map(self.known, shape))

    def known(self, node: ast.expr) -> bool:
        """Whether the compiler knows the value of an expression. Sums and attributes it does not look into."""
        if isinstance(node, ast.Constant):
            return True
        if isinstance(node, ast.Tuple):
            return all(map(self.known, node.elts))
        if not isinstance(node, ast.Name) or node.id in self._parameters:
            return False
        values = self._values.get(node.id)
        if values is None:
            return True
        return len(values) == 1 and isinstance(values[0], (ast.Constant, ast.Name, ast.Tuple)) and self.known(values[0])
