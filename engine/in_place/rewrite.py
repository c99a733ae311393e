"""Changes to the text of a program, a line at a time; no torch. Each gives the new text, or None where it cannot."""

from __future__ import annotations

import re
from collections.abc import Sequence

from engine.in_place.language import lines_of
from engine.in_place.methods import METHODS, out_of_place_of
from engine.in_place.results import ProgramRun, State
from engine.in_place.statements import Arithmetic, Assign, Augment, Chain, Do, MethodStep, Statement, Step

Lines = list[str]


def joined(lines: Sequence[str]) -> str:
    return "\n".join(lines) + "\n"


def indent_of(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def replaced(program: str, line: int, *texts: str) -> str:
    """The program with line number `line` replaced by `texts`, each at its indentation."""
    lines = lines_of(program)
    lines[line - 1 : line] = [indent_of(lines[line - 1]) + text for text in texts]
    return joined(lines)


def under_no_grad(program: str, statement: Statement) -> str | None:
    """The statement in a block of its own."""
    return replaced(program, statement.line, "with no_grad():", f"    {statement.text}")


def out_of_place(program: str, statement: Statement) -> str | None:
    """`x.add_(1)` -> `x = x.add(1)`, `x += y` -> `x = x + y`, `x.exp().add_(1)` -> `.add(1)`, `relu(x)`."""
    if "inplace=True" in statement.text:
        return replaced(program, statement.line, re.sub(r",\s*inplace=True", "", statement.text))
    match statement.action:
        case Augment(str(name), sign):
            value = statement.text.partition(f"{sign}=")[2].strip()
            value = value if re.fullmatch(r"[\w.]+", value) or sign == "+" else f"({value})"
            return replaced(program, statement.line, f"{name} = {name} {sign} {value}")
        case Do(Chain(base, (MethodStep(method),))) if (name := plain_name(base)) and out_of_place_of(method):
            call = statement.text.partition(f".{method}(")[2]
            return replaced(program, statement.line, f"{name} = {name}.{out_of_place_of(method)}({call}")
        case Assign(_, Chain(_, (*_, MethodStep(method)))) if out_of_place_of(method) != method:
            before, call, after = statement.text.rpartition(f".{method}(")
            plain = out_of_place_of(method)
            return replaced(program, statement.line, f"{before}.{plain}({after}") if call and plain else None
    return None


def plain_name(value: object) -> str:
    """The name that a value is, "" for anything more."""
    if isinstance(value, Arithmetic) and not value.parts and hasattr(value.tree, "name"):
        return str(value.tree.name)
    return ""


def cloned_first(program: str, statement: Statement, names: Sequence[str]) -> str | None:
    """`x = x.clone()` before the statement, for each of these names."""
    return replaced(program, statement.line, *(f"{name} = {name}.clone()" for name in names), statement.text)


def names_used(statement: Statement, names: Sequence[str]) -> list[str]:
    """Those of `names` that stand in the statement's text."""
    return [name for name in names if re.search(rf"(?<![\w.]){re.escape(name)}\b", statement.text)]


def clone_result(program: str, statement: Statement) -> str | None:
    """`s = sigmoid(x)` -> `s = sigmoid(x).clone()`: the node keeps its own result, the name gets a copy."""
    if not isinstance(statement.action, Assign) or len(statement.action.names) != 1:
        return None
    name, _, value = (part.strip() for part in statement.text.partition("="))
    is_one = isinstance(statement.action.value, Chain) or re.fullmatch(r"[\w.]+\([^()]*\)", value)
    return replaced(program, statement.line, f"{name} = {value if is_one else f'({value})'}.clone()")


def clone_operands(program: str, statement: Statement, names: Sequence[str]) -> str | None:
    """`y = h * h` -> `y = h.clone() * h.clone()`: the node keeps copies of what it reads."""
    before, sign, value = statement.text.rpartition("= ") if "= " in statement.text else ("", "", statement.text)
    if not sign and isinstance(statement.action, Do):
        before, sign, value = statement.text.partition("(")
    for name in names:
        value = re.sub(rf"(?<![\w.]){re.escape(name)}\b(?!\s*=)", f"{name}.clone()", value)
    changed = before + sign + value
    return None if changed == statement.text else replaced(program, statement.line, changed)


def after_backward(program: str, statement: Statement, backward: int) -> str | None:
    """The statement, with the blocks around it, behind the backward of line `backward`."""
    lines = lines_of(program)
    moved = [f"{'    ' * depth}with {mode}():" for depth, mode in enumerate(statement.modes)]
    moved.append("    " * len(statement.modes) + statement.text)
    lines[backward:backward] = moved
    del lines[statement.line - 1]
    place = statement.line - 2
    while place >= 0 and lines[place].lstrip().startswith("with ") and not _holds(lines, place):
        del lines[place]
        place -= 1
    return joined(lines)


def _holds(lines: Lines, place: int) -> bool:
    """Whether a block still has a statement."""
    depth = len(indent_of(lines[place]))
    following = next((one for one in lines[place + 1 :] if one.strip()), "")
    return len(indent_of(following)) > depth


def retaining(program: str, statement: Statement) -> str | None:
    """`.backward(...)` with retain_graph=True."""
    head, call, arguments = statement.text.rpartition(".backward(")
    more = "" if arguments.startswith(")") else ", "
    return replaced(program, statement.line, f"{head}{call}retain_graph=True{more}{arguments}") if call else None


def summed(program: str, statement: Statement) -> str | None:
    """`y.backward()` -> `y.sum().backward()`."""
    changed = statement.text.replace(".backward(", ".sum().backward(")
    return None if changed == statement.text else replaced(program, statement.line, changed)


def single_views(program: str, statement: Statement, states: Sequence[State]) -> str | None:
    """`a, b = x.unbind()` -> `a = x.select(0, 0)` and so on; chunk and split become `narrow`."""
    action = statement.action
    if not isinstance(action, Assign) or not isinstance(action.value, Chain):
        return None
    last = action.value.steps[-1]
    if not isinstance(last, MethodStep) or METHODS[last.name].kind != "views":
        return None
    source = statement.text.partition("=")[2].strip().rpartition(f".{last.name}(")[0]
    if not re.fullmatch(r"\w+(\.\w+)?", source):
        return None
    dim = _dim(last)
    found = {state.name: state for state in states}
    texts, start = [], 0
    for place, name in enumerate(action.names):
        if name not in found:
            return None
        length = 1 if last.name == "unbind" else found[name].shape[dim]
        call = f"select({dim}, {place})" if last.name == "unbind" else f"narrow({dim}, {start}, {length})"
        texts.append(f"{name} = {source}.{call}")
        start += length
    return replaced(program, statement.line, *texts)


def _dim(step: Step) -> int:
    assert isinstance(step, MethodStep)
    options = dict(step.options)
    given = options.get("dim", step.arguments[-1] if len(step.arguments) > (step.name != "unbind") else 0)
    return given if isinstance(given, int) else 0


def states_after(run: ProgramRun, line: int) -> tuple[State, ...]:
    """What every name held after the statement of a line."""
    return next((step.tensors for step in run.steps if step.line == line), ())
