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

from labs.kit.virtual.cuda.failures import Unsupported
from labs.kit.virtual.cuda.memory import Allocation, View
from labs.kit.virtual.cuda.refusals import ALTERNATIVES, refuse
from labs.kit.virtual.cuda.unset import Unset

BINARY = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "truediv",
    ast.FloorDiv: "floordiv",
    ast.Mod: "mod",
    ast.Pow: "pow",
    ast.LShift: "lshift",
    ast.RShift: "rshift",
    ast.BitAnd: "and_",
    ast.BitOr: "or_",
    ast.BitXor: "xor",
}
COMPARISON = {ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge"}
UNARY = {ast.USub: "neg", ast.UAdd: "pos", ast.Invert: "invert"}
_OPERATORS = {
    "_op_" + name: getattr(operator, name) for name in [*BINARY.values(), *COMPARISON.values(), *UNARY.values()]
}
_OPERATORS |= {"_op_slice": slice, "_op_unset": Unset}
_PLAIN = (ast.Name, ast.Constant, ast.Attribute, ast.Tuple, ast.expr_context, ast.keyword, ast.Pass)


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
    """

    function: types.FunctionType
    code: types.CodeType
    lines: tuple[int, ...]

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
            f" Define it"
            " in a notebook cell or in a file; after editing a file, import it again."
        ) from None
    if not isinstance(tree, ast.FunctionDef) or tree.name != name:
        raise Unsupported(
            f"{name} is not a plain function: write `def {name}(...)` under `@cuda.jit`, without other decorators. If"
            " you edited the file after importing it, import it again."
        )
    ast.increment_lineno(tree, first - 1)
    arguments = tree.args
    if arguments.vararg or arguments.kwarg or arguments.kwonlyargs:
        refuse(function.__code__, first, "*args, **kwargs and keyword-only parameters", "plain parameters")
    rewriter = Rewriter(function.__code__)
    parameters = {argument.arg for argument in arguments.posonlyargs + arguments.args}
    stored = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    body = [
        _assign("_F", _call("enter")),
        *(
            _assign(name, ast.Call(_name("_op_unset"), [ast.Constant(name)], []))
            for name in sorted(stored - parameters)
        ),
        *rewriter.block(tree.body),
        ast.Return(_call("leave", _name("_F"))),
    ]
    arguments.posonlyargs.insert(0, ast.arg("_R"))
    for argument in arguments.posonlyargs + arguments.args:
        argument.annotation = None
    tree.body, tree.decorator_list, tree.returns, arguments.defaults = body, [], None, []
    module = ast.fix_missing_locations(ast.Module([tree], []))
    outer = compile(module, function.__code__.co_filename, "exec", dont_inherit=True)
    code = next(item for item in outer.co_consts if isinstance(item, types.CodeType) and item.co_name == name)
    return Translated(function, code, tuple(rewriter.lines))


def _inner(code):
    for item in code.co_consts:
        if isinstance(item, types.CodeType):
            yield item
            yield from _inner(item)


def _name(identifier):
    return ast.Name(identifier, ast.Load())


def _call(method, *arguments):
    return ast.Call(ast.Attribute(_name("_R"), method, ast.Load()), list(arguments), [])


def _assign(target, value):
    return ast.Assign([ast.Name(target, ast.Store())], value)


def _later(body):
    """``lambda: body``: evaluated by the lanes, perhaps under a narrower mask."""
    return ast.Lambda(ast.arguments([], [], None, [], [], None, []), body)


def _live():
    return ast.Attribute(_name("_R"), "live", ast.Load())


def _locate(new, node):
    """Give a new node the line of an old one: its first line only, since tracebacks name the last one of a call."""
    new.lineno = new.end_lineno = node.lineno
    new.col_offset, new.end_col_offset = node.col_offset, node.col_offset + 1
    return new


def _jumps(node):
    return any(isinstance(inner, (ast.Return, ast.Break, ast.Continue)) for inner in ast.walk(node))


class Rewriter(ast.NodeTransformer):
    """Expressions become expressions, statements become lists of statements."""

    def __init__(self, code: types.CodeType):
        self.code, self.lines, self._count, self._loops = code, [], 0, []

    def fresh(self) -> str:
        """A name that no learner uses."""
        self._count += 1
        return f"_t{self._count}"

    def site(self, node) -> ast.Constant:
        """Number the line of `node`."""
        self.lines.append(node.lineno)
        return ast.Constant(len(self.lines) - 1)

    def refuse(self, node, what=None, instead=None):
        """Raise `Unsupported` for a node."""
        kind = type(node).__name__
        known = ALTERNATIVES.get(kind, (f"Python's {kind}", "assignments, if, for over range(), while and calls"))
        refuse(self.code, getattr(node, "lineno", self.code.co_firstlineno), what or known[0], instead or known[1])

    def visit(self, node):
        out = super().visit(node)
        if isinstance(out, ast.expr) and not hasattr(out, "lineno"):
            _locate(out, node)
        return out

    def generic_visit(self, node):
        if isinstance(node, _PLAIN):
            return super().generic_visit(node)
        return self.refuse(node)

    # ---- expressions

    def visit_BinOp(self, node):
        return self._operation(node, node.op, self.visit(node.left), node.right)

    def _operation(self, node, op, left, right):
        exponent = right.value if isinstance(right, ast.Constant) else None
        if isinstance(op, ast.Pow) and type(exponent) is int:
            return _call("power", left, ast.Constant(exponent))
        if type(op) not in BINARY:
            self.refuse(node, "the operator @", "a loop over the inner dimension")
        method = "divide" if isinstance(op, (ast.FloorDiv, ast.Mod)) else "binary"
        extra = [self.site(node)] if method == "divide" else []
        return _call(method, _name("_op_" + BINARY[type(op)]), left, self.visit(right), *extra)

    def visit_UnaryOp(self, node):
        value = self.visit(node.operand)
        if isinstance(node.op, ast.Not):
            return _call("not_", value)
        if isinstance(node.op, ast.USub) and isinstance(value, ast.Constant) and type(value.value) in (int, float):
            return ast.Constant(-value.value)
        return _call("unary", _name("_op_" + UNARY[type(node.op)]), value)

    def visit_BoolOp(self, node):
        method = "and_" if isinstance(node.op, ast.And) else "or_"
        out = self.visit(node.values[-1])
        for value in reversed(node.values[:-1]):
            out = _call(method, self.visit(value), _later(out))
        return out

    def visit_Compare(self, node):
        left, out = self.visit(node.left), None
        for position, (op, right) in enumerate(zip(node.ops, node.comparators)):
            if type(op) not in COMPARISON:
                self.refuse(node, "`is` and `in`", "== or a loop")
            right, last, following = self.visit(right), position == len(node.ops) - 1, None
            if not last:  # the middle of a chain is evaluated once
                name = self.fresh()
                right, following = ast.NamedExpr(ast.Name(name, ast.Store()), right), _name(name)
            part = _call("compare", _name("_op_" + COMPARISON[type(op)]), left, right)
            if out is None:
                out = part
            else:  # only the last part is lazy: a name bound inside a lambda would be lost
                out = _call("and_", out, _later(part)) if last else _call("both", out, part)
            left = following
        return out

    def visit_IfExp(self, node):
        yes, no = _later(self.visit(node.body)), _later(self.visit(node.orelse))
        return _call("select", self.visit(node.test), yes, no, self.site(node))

    def visit_Subscript(self, node):
        return _call("load", self.visit(node.value), self.visit(node.slice), self.site(node))

    def visit_Slice(self, node):
        parts = [
            ast.Constant(None) if part is None else self.visit(part) for part in (node.lower, node.upper, node.step)
        ]
        return ast.Call(_name("_op_slice"), parts, [])

    def visit_Call(self, node, method="call"):
        if any(isinstance(argument, ast.Starred) for argument in node.args) or any(
            k.arg is None for k in node.keywords
        ):
            self.refuse(node, "*args in a call", "the arguments one by one")
        out = _call(method, self.site(node), self.visit(node.func), *map(self.visit, node.args))
        out.keywords = [ast.keyword(keyword.arg, self.visit(keyword.value)) for keyword in node.keywords]
        return out

    # ---- statements

    def block(self, statements) -> list:
        """Statements in order; what follows a jump runs only while a lane is left to run it."""
        out = []
        for position, statement in enumerate(statements):
            got = self.visit(statement)
            got = got if isinstance(got, list) else [got]
            out += [new if hasattr(new, "lineno") else _locate(new, statement) for new in got]
            if isinstance(statement, (ast.Return, ast.Break, ast.Continue, ast.Raise)):
                break
            if _jumps(statement) and position + 1 < len(statements):
                rest = ast.If(_live(), self.block(statements[position + 1 :]), [])
                out.append(_locate(rest, statements[position + 1]))
                break
        return out or [ast.Pass()]

    def store(self, target, value) -> list:
        """Assign `value`, already rewritten, to a target."""
        if isinstance(target, ast.Name):
            return [_assign(target.id, _call("set", value, _name(target.id)))]
        if isinstance(target, ast.Subscript):
            site = self.site(target)
            return [ast.Expr(_call("store", self.visit(target.value), self.visit(target.slice), value, site))]
        if isinstance(target, ast.Tuple):
            name = self.fresh()
            out = [_assign(name, _call("unpack", value, ast.Constant(len(target.elts))))]
            for position, element in enumerate(target.elts):
                out += self.store(element, ast.Subscript(_name(name), ast.Constant(position), ast.Load()))
            return out
        return self.refuse(target, "an assignment to an attribute", "a local variable or an element of an array")

    def visit_Assign(self, node):
        first = node.targets[0]
        value = self.visit(node.value)
        _pass_name(first, value)
        if isinstance(first, ast.Tuple) and isinstance(value, ast.Tuple):
            for target, part in zip(first.elts, value.elts):
                _pass_name(target, part)
        if len(node.targets) == 1:
            return self.store(first, value)
        name = self.fresh()
        return [_assign(name, value)] + [s for target in node.targets for s in self.store(target, _name(name))]

    def visit_AnnAssign(self, node):
        return [ast.Pass()] if node.value is None else self.store(node.target, self.visit(node.value))

    def visit_AugAssign(self, node):
        if isinstance(node.target, ast.Name):
            return self.store(node.target, self._operation(node, node.op, _name(node.target.id), node.value))
        if not isinstance(node.target, ast.Subscript):
            self.refuse(node.target, "an assignment to an attribute", "a local variable or an element of an array")
        index, array = self.fresh(), self.fresh()
        load = _call("load", _name(array), _name(index), self.site(node))
        value = self._operation(node, node.op, load, node.value)
        return [
            _assign(array, self.visit(node.target.value)),
            _assign(index, self.visit(node.target.slice)),
            ast.Expr(_call("store", _name(array), _name(index), value, self.site(node))),
        ]

    def visit_Expr(self, node):
        if isinstance(node.value, ast.Constant):  # a docstring, or ...
            return [ast.Pass()]
        if isinstance(node.value, ast.Call):
            return [ast.Expr(self.visit_Call(node.value, "call_unused"))]
        return [ast.Expr(self.visit(node.value))]

    def visit_If(self, node):
        state = self.fresh()
        out = [_assign(state, _call("if_", self.visit(node.test))), ast.If(_live(), self.block(node.body), [])]
        if node.orelse:
            out += [ast.Expr(_call("else_", _name(state))), ast.If(_live(), self.block(node.orelse), [])]
        return [*out, ast.Expr(_call("endif", _name(state)))]

    def visit_For(self, node):
        if node.orelse:
            self.refuse(node, "for ... else", "a variable that remembers how the loop ended")
        line = ast.Constant(node.lineno)
        loop, value = self.fresh(), self.fresh()
        if isinstance(node.iter, ast.Call) and isinstance(node.iter.func, ast.Name) and node.iter.func.id == "range":
            turns = _call("range_", _name(loop), line, *map(self.visit, node.iter.args))
        else:
            turns = _call("items", _name(loop), line, self.visit(node.iter), self.site(node))
        self._loops.append(loop)
        body = self.store(node.target, _name(value)) + self.block(node.body)
        self._loops.pop()
        repeat = ast.For(ast.Name(value, ast.Store()), turns, body, [])
        return [_assign(loop, _call("loop")), repeat, ast.Expr(_call("endloop", _name(loop)))]

    def visit_While(self, node):
        if node.orelse:
            self.refuse(node, "while ... else", "a variable that remembers how the loop ended")
        loop = self.fresh()
        test = _call("while_", _name(loop), _later(self.visit(node.test)), ast.Constant(node.lineno))
        self._loops.append(loop)
        body = self.block(node.body)
        self._loops.pop()
        return [_assign(loop, _call("loop")), ast.While(test, body, []), ast.Expr(_call("endloop", _name(loop)))]

    def visit_Break(self, node):
        return [ast.Expr(_call("break_", _name(self._loops[-1])))]

    def visit_Continue(self, node):
        return [ast.Expr(_call("continue_", _name(self._loops[-1])))]

    def visit_Return(self, node):
        return [ast.Expr(_call("return_", _name("_F"), self.visit(node.value) if node.value else ast.Constant(None)))]

    def visit_Raise(self, node):
        return [ast.If(_live(), [node], [])]

    def visit_Pass(self, node):
        return [node]


def _pass_name(target, value):
    """Tell a call which variable takes its result, so that shared and local arrays have names."""
    if isinstance(target, ast.Name) and isinstance(value, ast.Call) and getattr(value.func, "attr", "") == "call":
        value.keywords.append(ast.keyword("_name", ast.Constant(target.id)))
