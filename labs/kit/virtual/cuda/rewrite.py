"""The rewriting of a kernel's syntax tree: every operation becomes a call on ``_R``, the lanes that run together."""

from __future__ import annotations

import ast
import types

from labs.kit.virtual.cuda.constants import Constants
from labs.kit.virtual.cuda.refusals import ALTERNATIVES, refuse

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
SHAPES = "a number, or a name that is bound above the kernel (PADDED = TILE + 1): Numba must know it to compile"
_PLAIN = (ast.Name, ast.Constant, ast.Attribute, ast.Tuple, ast.expr_context, ast.keyword, ast.Pass)


def variable(identifier):
    """A local variable, read."""
    return ast.Name(identifier, ast.Load())


def lanes_call(method, *arguments):
    """``_R.method(*arguments)``."""
    return ast.Call(ast.Attribute(variable("_R"), method, ast.Load()), list(arguments), [])


def assignment(target, value):
    """``target = value``."""
    return ast.Assign([ast.Name(target, ast.Store())], value)


def _later(body):
    """``lambda: body``: evaluated by the lanes, perhaps under a narrower mask."""
    return ast.Lambda(ast.arguments([], [], None, [], [], None, []), body)


def _live():
    return ast.Attribute(variable("_R"), "live", ast.Load())


def _locate(new, node):
    """Give a new node the line of an old one: its first line only, since tracebacks name the last one of a call."""
    new.lineno = new.end_lineno = node.lineno
    new.col_offset, new.end_col_offset = node.col_offset, node.col_offset + 1
    return new


def _jumps(node):
    return any(isinstance(inner, (ast.Return, ast.Break, ast.Continue)) for inner in ast.walk(node))


class Rewriter(ast.NodeTransformer):
    """Expressions become expressions, statements become lists of statements."""

    def __init__(self, code: types.CodeType, constants: Constants):
        self.code, self.constants = code, constants
        self.lines, self.returns, self._count, self._loops = [], [], 0, []

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
            return lanes_call("power", left, ast.Constant(exponent))
        if type(op) not in BINARY:
            self.refuse(node, "the operator @", "a loop over the inner dimension")
        method = "divide" if isinstance(op, (ast.FloorDiv, ast.Mod)) else "binary"
        extra = [self.site(node)] if method == "divide" else []
        return lanes_call(method, variable("_op_" + BINARY[type(op)]), left, self.visit(right), *extra)

    def visit_UnaryOp(self, node):
        value = self.visit(node.operand)
        if isinstance(node.op, ast.Not):
            return lanes_call("not_", value)
        if isinstance(node.op, ast.USub) and isinstance(value, ast.Constant) and type(value.value) in (int, float):
            return ast.Constant(-value.value)
        return lanes_call("unary", variable("_op_" + UNARY[type(node.op)]), value)

    def visit_BoolOp(self, node):
        method = "and_" if isinstance(node.op, ast.And) else "or_"
        out = self.visit(node.values[-1])
        for value in reversed(node.values[:-1]):
            out = lanes_call(method, self.visit(value), _later(out))
        return out

    def visit_Compare(self, node):
        left, out = self.visit(node.left), None
        for position, (op, right) in enumerate(zip(node.ops, node.comparators)):
            if type(op) not in COMPARISON:
                self.refuse(node, "`is` and `in`", "== or a loop")
            right, last, following = self.visit(right), position == len(node.ops) - 1, None
            if not last:  # the middle of a chain is evaluated once
                name = self.fresh()
                right, following = ast.NamedExpr(ast.Name(name, ast.Store()), right), variable(name)
            part = lanes_call("compare", variable("_op_" + COMPARISON[type(op)]), left, right)
            if out is None:
                out = part
            else:  # only the last part is lazy: a name bound inside a lambda would be lost
                out = lanes_call("and_", out, _later(part)) if last else lanes_call("both", out, part)
            left = following
        return out

    def visit_IfExp(self, node):
        yes, no = _later(self.visit(node.body)), _later(self.visit(node.orelse))
        return lanes_call("select", self.visit(node.test), yes, no, self.site(node))

    def visit_Subscript(self, node):
        return lanes_call("load", self.visit(node.value), self.visit(node.slice), self.site(node))

    def visit_Slice(self, node):
        parts = [
            ast.Constant(None) if part is None else self.visit(part) for part in (node.lower, node.upper, node.step)
        ]
        return ast.Call(variable("_op_slice"), parts, [])

    def visit_Call(self, node, method="call"):
        if any(isinstance(argument, ast.Starred) for argument in node.args) or any(
            k.arg is None for k in node.keywords
        ):
            self.refuse(node, "*args in a call", "the arguments one by one")
        if not self.constants.sized(node):
            self.refuse(node, "an array whose shape is calculated in the kernel", SHAPES)
        out = lanes_call(method, self.site(node), self.visit(node.func), *map(self.visit, node.args))
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
            return [assignment(target.id, lanes_call("set", value, variable(target.id)))]
        if isinstance(target, ast.Subscript):
            site = self.site(target)
            return [ast.Expr(lanes_call("store", self.visit(target.value), self.visit(target.slice), value, site))]
        if isinstance(target, (ast.Tuple, ast.List)):
            name = self.fresh()
            out = [assignment(name, lanes_call("unpack", value, ast.Constant(len(target.elts))))]
            for position, element in enumerate(target.elts):
                out += self.store(element, ast.Subscript(variable(name), ast.Constant(position), ast.Load()))
            return out
        return self.refuse(target)

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
        return [assignment(name, value)] + [s for target in node.targets for s in self.store(target, variable(name))]

    def visit_AnnAssign(self, node):
        return [ast.Pass()] if node.value is None else self.store(node.target, self.visit(node.value))

    def visit_AugAssign(self, node):
        if isinstance(node.target, ast.Name):
            return self.store(node.target, self._operation(node, node.op, variable(node.target.id), node.value))
        if not isinstance(node.target, ast.Subscript):
            self.refuse(node.target)
        index, array = self.fresh(), self.fresh()
        load = lanes_call("load", variable(array), variable(index), self.site(node))
        value = self._operation(node, node.op, load, node.value)
        return [
            assignment(array, self.visit(node.target.value)),
            assignment(index, self.visit(node.target.slice)),
            ast.Expr(lanes_call("store", variable(array), variable(index), value, self.site(node))),
        ]

    def visit_Expr(self, node):
        if isinstance(node.value, ast.Constant):  # a docstring, or ...
            return [ast.Pass()]
        if isinstance(node.value, ast.Call):
            return [ast.Expr(self.visit_Call(node.value, "call_unused"))]
        return [ast.Expr(self.visit(node.value))]

    def visit_If(self, node):
        state = self.fresh()
        out = [assignment(state, lanes_call("if_", self.visit(node.test))), ast.If(_live(), self.block(node.body), [])]
        if node.orelse:
            out += [ast.Expr(lanes_call("else_", variable(state))), ast.If(_live(), self.block(node.orelse), [])]
        return [*out, ast.Expr(lanes_call("endif", variable(state)))]

    def visit_For(self, node):
        if node.orelse:
            self.refuse(node, "for ... else", "a variable that remembers how the loop ended")
        line = ast.Constant(node.lineno)
        loop, value = self.fresh(), self.fresh()
        if isinstance(node.iter, ast.Call) and isinstance(node.iter.func, ast.Name) and node.iter.func.id == "range":
            if node.iter.keywords or not 1 <= len(node.iter.args) <= 3:
                self.refuse(
                    node, f"range with {len(node.iter.args)} numbers", "range(stop), or range(start, stop, step)"
                )
            turns = lanes_call("range_", variable(loop), line, *map(self.visit, node.iter.args))
        else:
            turns = lanes_call("items", variable(loop), line, self.visit(node.iter), self.site(node))
        self._loops.append(loop)
        body = self.store(node.target, variable(value)) + self.block(node.body)
        self._loops.pop()
        repeat = ast.For(ast.Name(value, ast.Store()), turns, body, [])
        return [assignment(loop, lanes_call("loop")), repeat, ast.Expr(lanes_call("endloop", variable(loop)))]

    def visit_While(self, node):
        if node.orelse:
            self.refuse(node, "while ... else", "a variable that remembers how the loop ended")
        loop = self.fresh()
        test = lanes_call("while_", variable(loop), _later(self.visit(node.test)), ast.Constant(node.lineno))
        self._loops.append(loop)
        body = self.block(node.body)
        self._loops.pop()
        return [
            assignment(loop, lanes_call("loop")),
            ast.While(test, body, []),
            ast.Expr(lanes_call("endloop", variable(loop))),
        ]

    def visit_Break(self, node):
        return [ast.Expr(lanes_call("break_", variable(self._loops[-1])))]

    def visit_Continue(self, node):
        return [ast.Expr(lanes_call("continue_", variable(self._loops[-1])))]

    def visit_Return(self, node):
        self.returns.append(node.lineno)
        return [
            ast.Expr(
                lanes_call("return_", variable("_F"), self.visit(node.value) if node.value else ast.Constant(None))
            )
        ]

    def visit_Raise(self, node):
        return [ast.If(_live(), [node], [])]

    def visit_Pass(self, node):
        return [node]


def _pass_name(target, value):
    """Tell a call which variable takes its result, so that shared and local arrays have names."""
    if isinstance(target, ast.Name) and isinstance(value, ast.Call) and getattr(value.func, "attr", "") == "call":
        value.keywords.append(ast.keyword("_name", ast.Constant(target.id)))
