"""`.name(...)` and `.name` as a step: arguments by position or name, sizes one by one or as a tuple."""

from __future__ import annotations

import ast
from difflib import get_close_matches

from engine.storage.chain_error import ChainError
from engine.storage.dtypes import DTYPES
from engine.storage.literal import literal
from engine.storage.operations import MEMORY_FORMATS, OPERATIONS, Argument, Operation, Parameter, Step

PROPERTIES = ("T", "mT", "real", "imag")
OTHER_NAMES = {
    "swapaxes": "transpose",
    "swapdims": "transpose",
    "moveaxis": "movedim",
}
"""PyTorch's second names of the same method."""
CASTS = {
    "half": "float16",
    "float": "float32",
    "double": "float64",
    "bfloat16": "bfloat16",
    "short": "int16",
    "int": "int32",
    "long": "int64",
    "bool": "bool",
}
"""`.float()` is `.to(torch.float32)`."""
_BY_TYPE = {("to", "dtype"): "to_dtype", ("to", "format"): "to_memory_format", ("view", "dtype"): "view_dtype"}
_UNWRITTEN = {"slice": "[1:4:2]", "to_dtype": ".to(torch.float16)", "view_dtype": ".view(torch.int32)"}
_UNWRITTEN["to_memory_format"] = ".to(memory_format=torch.channels_last)"
_VARIADIC = {"permute", "expand", "reshape", "view", "flip", "repeat"}
_ONE_INT_OR_MORE = {("movedim", "source"), ("movedim", "destination"), ("roll", "shifts"), ("roll", "dims")}
_SELECTED = {"chunk", "unbind"}
"""Methods that return several views."""


def picks_one_output(name: str) -> bool:
    """Whether the method returns a tuple, of which an index picks one."""
    return name in _SELECTED


def method_names() -> list[str]:
    """Every name that may be written after a dot."""
    written = [name for name in OPERATIONS if name not in _UNWRITTEN]
    return [*written, "to", "t", *OTHER_NAMES, *CASTS]


def bind_property(name: str, column: int) -> Step:
    """The step of `.T`, `.mT`, `.real` or `.imag`."""
    if name in PROPERTIES:
        return Step(name)
    if name in method_names():
        raise ChainError(f".{name} is a method. Call it: .{name}(...)", column)
    raise unknown(name, column)


def bind_call(name: str, call: ast.Call, column: int, index: int | None = None) -> Step:
    """The step of `.name(...)`; `index` picks an output of a method with several."""
    if name in PROPERTIES:
        raise ChainError(f".{name} is a property, not a method. Write it without brackets: .{name}", column)
    values, named = _values(call)
    if name == "t" or name in CASTS:
        return _without_arguments(name, call, values, named, column)
    operation = _operation(OTHER_NAMES.get(name, name), values, named, column)
    parameters = tuple(p for p in operation.parameters if index is None or p.name != "index")
    if operation.name in _VARIADIC and values and all(isinstance(value, int) for value in values):
        values = [tuple(values)]  # type: ignore[arg-type]
    bound = _bound(name, operation, parameters, values, named, column)
    try:
        return Step(operation.name, tuple(bound) if index is None else (*bound, index))
    except ValueError as error:
        raise ChainError(str(error), column) from None


def _values(call: ast.Call) -> tuple[list[Argument], dict[str, Argument]]:
    starred = [arg for arg in call.args if isinstance(arg, ast.Starred)]
    if starred or any(keyword.arg is None for keyword in call.keywords):
        raise ChainError("Arguments cannot be unpacked with *. Write them out", call.col_offset)
    named: dict[str, Argument] = {}
    for keyword in call.keywords:
        if keyword.arg in named:
            raise ChainError(f"{keyword.arg} is given twice. Write it once", keyword.col_offset)
        named[str(keyword.arg)] = literal(keyword.value)
    return [literal(argument) for argument in call.args], named


def _without_arguments(
    name: str, call: ast.Call, values: list[Argument], named: dict[str, Argument], column: int
) -> Step:
    if values or named:
        raise ChainError(f".{name}() takes no arguments here; received {len(call.args) + len(named)}", column)
    return Step("transpose", (0, 1)) if name == "t" else Step("to_dtype", (CASTS[name],))


def _operation(name: str, values: list[Argument], named: dict[str, Argument], column: int) -> Operation:
    first = values[0] if values else named.get("dtype", named.get("memory_format"))
    kind = "dtype" if first in DTYPES else "format" if first in MEMORY_FORMATS else ""
    if (found := _BY_TYPE.get((name, kind))) is not None:
        return OPERATIONS[found]
    if name == "to":
        raise ChainError(
            ".to needs a dtype or a memory format. Write .to(torch.float16) or .to(memory_format=torch.channels_last)",
            column,
        )
    if name in OPERATIONS and name not in _UNWRITTEN:
        return OPERATIONS[name]
    raise unknown(name, column)


def _bound(
    name: str,
    operation: Operation,
    parameters: tuple[Parameter, ...],
    values: list[Argument],
    named: dict[str, Argument],
    column: int,
) -> list[Argument]:
    """One value for each parameter, in order."""
    signature = f".{name}({', '.join(p.name for p in parameters)})"
    if len(values) > len(parameters):
        raise ChainError(f"{signature} takes {len(parameters)} arguments; received {len(values)}", column)
    known = dict(zip((p.name for p in parameters), values, strict=False))
    for key, value in named.items():
        if key in known:
            raise ChainError(f"{signature} was given {key} twice. Write it once", column)
        if key not in {p.name for p in parameters}:
            raise ChainError(f"{signature} has no argument {key}. Use one of these names", column)
        known[key] = value
    missing = [p.name for p in parameters if p.name not in known and not p.optional]
    if missing:
        raise ChainError(f"{signature} also needs {', '.join(missing)}. Write a value for it", column)
    return [_as_tuple(operation.name, p, known.get(p.name, p.default)) for p in parameters]


def _as_tuple(operation: str, parameter: Parameter, value: Argument) -> Argument:
    one_or_more = (operation, parameter.name) in _ONE_INT_OR_MORE or operation in _VARIADIC
    return (value,) if one_or_more and isinstance(value, int) else value


def unknown(name: str, column: int) -> ChainError:
    """The error for a name that is no operation, with the nearest ones."""
    if name in _UNWRITTEN:
        return ChainError(f".{name} is no method of a tensor. Write {_UNWRITTEN[name]}", column)
    near = get_close_matches(name, [*method_names(), *PROPERTIES], n=2)
    meant = f"Did you mean {' or '.join('.' + other for other in near)}?" if near else "Add an operation lists all"
    return ChainError(f"There is no operation .{name}. {meant}", column)
