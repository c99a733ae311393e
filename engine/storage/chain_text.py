"""Steps as the text a person would type, which `parse_chain` reads back."""

from __future__ import annotations

from collections.abc import Sequence

from engine.storage.operations import MEMORY_FORMATS, OPERATIONS, Argument, Parameter, Step

_PROPERTIES = ("T", "mT", "real", "imag")
_WRITTEN = {"to_dtype": "to", "to_memory_format": "to", "view_dtype": "view"}
_SELECTED = ("chunk", "unbind")
_SPREAD = {"permute", "expand", "reshape", "view", "flip", "repeat"}


def format_chain(steps: Sequence[Step]) -> str:
    """`.transpose(0, 1)[1:, ::2]`, without a name in front; indices of neighbouring dimensions share brackets."""
    pieces: list[str] = []
    group: list[str] = []
    selected = 0
    for step in steps:
        position = _position(step, selected)
        if group and (position is None or position < len(group)):
            pieces.append(_bracketed(group))
            group, selected = [], 0
            position = _position(step, 0)
        if position is None:
            pieces.append(_alone(step))
        else:
            group += [":"] * (position - len(group)) + [_entry(step)]
            selected += step.operation == "select"
    return "".join(pieces) + (_bracketed(group) if group else "")


def _position(step: Step, selected: int) -> int | None:
    """Place among the entries of a shared index; None for a step that is written by itself."""
    dim = step.arguments[0] if step.operation in ("slice", "select") else None
    if not isinstance(dim, int) or dim < 0 or _entry(step) == ":":
        return None
    return dim + selected


def _bracketed(entries: list[str]) -> str:
    return f"[{', '.join(entries)}]"


def _alone(step: Step) -> str:
    if step.operation in ("slice", "select"):
        return _own_index(step)
    if step.operation in _PROPERTIES:
        return f".{step.operation}"
    name = _WRITTEN.get(step.operation, step.operation)
    if step.operation in _SELECTED:
        return f".{name}({_arguments(step, -1)})[{step.arguments[-1]}]"
    return f".{name}({_arguments(step)})"


def _own_index(step: Step) -> str:
    dim, entry = step.arguments[0], _entry(step)
    assert isinstance(dim, int)
    if dim >= 0:
        return _bracketed([":"] * dim + [entry])
    return _bracketed(["...", entry] + [":"] * (-dim - 1))


def _entry(step: Step) -> str:
    if step.operation == "select":
        return str(step.arguments[1])
    start, stop, by = ("" if value is None else str(value) for value in step.arguments[1:])
    return f"{start}:{stop}" if by == "1" else f"{start}:{stop}:{by}"


def _arguments(step: Step, end: int | None = None) -> str:
    """Optional arguments at the end that have PyTorch's default are left out."""
    pairs = list(zip(OPERATIONS[step.operation].parameters, step.arguments, strict=True))[:end]
    while pairs and pairs[-1][0].optional and pairs[-1][0].default == pairs[-1][1]:
        pairs.pop()
    return ", ".join(_argument(step.operation, parameter, value) for parameter, value in pairs)


def _argument(operation: str, parameter: Parameter, value: Argument) -> str:
    if isinstance(value, tuple):
        if value and operation in _SPREAD:
            return ", ".join(map(str, value))
        return str(value[0]) if len(value) == 1 and parameter.kind == "dims" else str(value)
    if value in MEMORY_FORMATS:
        return f"memory_format=torch.{value}"
    return f"torch.{value}" if isinstance(value, str) else str(value)
