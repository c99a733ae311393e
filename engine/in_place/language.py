"""Reading a program: one statement a line, as in Python, walked into trees of our own; nothing is evaluated.

Arithmetic and elementwise functions are the expression language's; methods, views, writes and blocks are read here.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from engine.expression.functions import FUNCTIONS
from engine.in_place.methods import CREATIONS, DTYPES, MODES, OWN_FUNCTIONS, RESERVED, SETTABLE
from engine.in_place.statements import (
    Action,
    Assign,
    AttributeStep,
    Augment,
    Call,
    Chain,
    Delete,
    Do,
    IndexStep,
    MethodStep,
    Statement,
    Store,
    Value,
)
from engine.in_place.values import LONGEST_NAME, StatementError, ValueReader, called_name

MOST_STATEMENTS = 24
MOST_TENSORS = 12
LONGEST_PROGRAM = 1500
DEEPEST_BLOCK = 3
DEEPEST_TREE = 60
EXAMPLE = "x = randn(3, requires_grad=True)"
_SIGNS: dict[type[ast.operator], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Pow: "**",
}  # fmt: skip


def parse_program(text: str) -> tuple[Statement, ...]:
    """The statements of a program.

    Raises StatementError (a ValueError), which names the line, for what is not in the grammar, a name without a value,
    and more than MOST_STATEMENTS statements or MOST_TENSORS names.
    """
    if len(text) > LONGEST_PROGRAM:
        raise StatementError(f"A program has at most {LONGEST_PROGRAM} characters; received {len(text)}. Shorten it.")
    try:
        body = ast.parse("\n".join(lines_of(text.rstrip()))).body
    except SyntaxError as error:
        raise StatementError(f"cannot be read: {error.msg}. Write it as in Python: {EXAMPLE}", error.lineno) from None
    except (RecursionError, MemoryError, ValueError) as error:
        raise StatementError(f"The program cannot be read ({type(error).__name__}). Write simpler lines.") from None
    if not body:
        raise StatementError(f"The program is empty. Write one statement a line, such as {EXAMPLE}")
    if _depth(body) > DEEPEST_TREE:
        raise StatementError("The program is nested too deeply. Name what is inside first, or use fewer brackets.")
    reader = _Reader(lines_of(text))
    reader.block(body, ())
    if len(reader.statements) > MOST_STATEMENTS:
        raise StatementError(
            f"A program has at most {MOST_STATEMENTS} statements; received {len(reader.statements)}. Leave some out."
        )
    return tuple(reader.statements)


def lines_of(text: str) -> list[str]:
    """The lines as Python counts them: neither a form feed nor U+2028 ends one."""
    plain = text.expandtabs(4).replace("\r\n", "\n").replace("\r", "\n")
    return plain.removesuffix("\n").split("\n") if plain else []


def _depth(body: Sequence[ast.AST]) -> int:
    """Levels of the deepest tree, counted without recursion."""
    depth, level = 0, list(body)
    while level:
        depth, level = depth + 1, [child for node in level for child in ast.iter_child_nodes(node)]
    return depth


class _Reader:
    """Walks the lines in order and knows which names have a value by then."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = lines
        self.known: dict[str, None] = {}
        self.ever: set[str] = set()
        self.statements: list[Statement] = []
        self.begun = 0

    def block(self, body: Sequence[ast.stmt], modes: tuple[str, ...]) -> None:
        for node in body:
            if node.lineno <= self.begun:
                raise StatementError("holds two statements. Write one a line", node.lineno)
            self.begun = node.lineno
            if isinstance(node, ast.With):
                self.block(node.body, (*modes, self.mode(node, len(modes))))
                continue
            if node.end_lineno != node.lineno and not hasattr(node, "body"):
                raise StatementError("runs over several lines. Write each statement on one line", node.lineno)
            text = self.lines[node.lineno - 1].partition("#")[0].strip()
            try:
                action = self.action(node)
            except StatementError as error:
                raise error.at(node.lineno) from None
            self.statements.append(Statement(node.lineno, text, modes, action))

    def mode(self, node: ast.With, depth: int) -> str:
        name = called_name(node.items[0].context_expr.func) if isinstance(node.items[0].context_expr, ast.Call) else ""
        if len(node.items) != 1 or node.items[0].optional_vars is not None or name not in MODES:
            raise StatementError(
                f"opens an unknown block. Known are {', '.join(f'{m}():' for m in MODES)}", node.lineno
            )
        if node.items[0].context_expr.args or node.items[0].context_expr.keywords:  # type: ignore[attr-defined]
            raise StatementError(f"gives {name} an argument. Write with {name}():", node.lineno)
        if depth >= DEEPEST_BLOCK:
            raise StatementError(f"nests blocks deeper than {DEEPEST_BLOCK}. Take one away", node.lineno)
        return name

    def action(self, node: ast.stmt) -> Action:
        match node:
            case ast.Assign(targets=[target], value=value):
                return self.assign(target, value)
            case ast.AugAssign() if type(node.op) in _SIGNS:
                return Augment(self.place(node.target), _SIGNS[type(node.op)], self.value(node.value))
            case ast.Expr(value=value):
                return self.do(value)
            case ast.Delete(targets=targets):
                return self.delete(targets)
        raise StatementError(
            "is no statement of this language. Write x = ..., x += ..., x[0] = ..., x.add_(1), y.backward(), del x "
            "or with no_grad():"
        )

    def value(self, node: ast.expr) -> Value:
        return ValueReader(self.known).read(node)

    def assign(self, target: ast.expr, value: ast.expr) -> Action:
        if isinstance(target, ast.Subscript | ast.Attribute):
            place = self.place(target)
            assert isinstance(place, Chain)
            is_none = isinstance(value, ast.Constant) and value.value is None
            return Store(place, None if is_none else self.value(value))
        targets = target.elts if isinstance(target, ast.Tuple | ast.List) else [target]
        read = self.value(value)
        return Assign(tuple(self.new_name(one) for one in targets), read)

    def new_name(self, node: ast.expr) -> str:
        if not isinstance(node, ast.Name):
            raise StatementError("assigns to something that is no name. Write x = ... or a, b = ...")
        name = node.id
        taken = name in FUNCTIONS or name in (*CREATIONS, *DTYPES, *OWN_FUNCTIONS, *MODES, *RESERVED)
        if taken or len(name) > LONGEST_NAME or name.startswith("_") or not name.isascii():
            raise StatementError(f"names a tensor {name[:40]!r}. Take up to {LONGEST_NAME} letters, no function's name")
        self.known[name] = None
        self.ever.add(name)
        if len(self.ever) > MOST_TENSORS:
            raise StatementError(f"brings the program to more than {MOST_TENSORS} names. Use fewer")
        return name

    def place(self, node: ast.expr) -> str | Chain:
        """Where a write goes: a name, or a chain whose last step can be written to."""
        read = self.value(node)
        if isinstance(node, ast.Name):
            return node.id
        if isinstance(read, Chain):
            last = read.steps[-1]
            if isinstance(last, IndexStep) or (isinstance(last, AttributeStep) and last.name in SETTABLE):
                return read
        raise StatementError("writes to something that cannot be written to. Write to x, x[0], x.data or x.grad")

    def do(self, node: ast.expr) -> Action:
        read = self.value(node)
        if isinstance(read, Chain) and isinstance(read.steps[-1], MethodStep):
            return Do(read)
        if isinstance(read, Call):
            return Do(read)
        raise StatementError("computes a value and drops it. Name it, as in y = ..., or call a method, as in x.add_(1)")

    def delete(self, targets: Sequence[ast.expr]) -> Delete:
        names = tuple(one.id if isinstance(one, ast.Name) else "" for one in targets)
        for name in names:
            if name not in self.known:
                raise StatementError("deletes something that is no tensor here. Write del x")
            del self.known[name]
        return Delete(names)
