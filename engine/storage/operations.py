"""The operations a chain is made of, as data: names in PyTorch's terms, their parameters and defaults."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Literal

import msgspec

from engine.storage.dtypes import DTYPES

ParameterKind = Literal["dim", "dims", "int", "optional_int", "shape", "dtype", "memory_format"]
"""`dim` may be negative; `dims` and `shape` are tuples of ints; `optional_int` may be None as in `x[1:]`."""

Argument = int | str | None | tuple[int, ...]

MEMORY_FORMATS = ("contiguous_format", "preserve_format", "channels_last", "channels_last_3d")
"""`torch.<name>` of every memory format a step accepts."""

LARGEST_INT = 2**31 - 1
LARGEST_DIM = 63  # PyTorch's own limit is 64 dimensions
LARGEST_ENTRIES = 16
LARGEST_CHUNKS = 1024


class Parameter(msgspec.Struct, frozen=True):
    """One argument of an operation; `default` is what an inserted step starts with.

    `optional`: `default` is PyTorch's own, so the argument may be left out.
    """

    name: str
    kind: ParameterKind
    default: Argument
    optional: bool = False


class Operation(msgspec.Struct, frozen=True):
    """A tensor method as PyTorch names it; `slice` and `select` are written as an index."""

    name: str
    parameters: tuple[Parameter, ...]
    topic: Literal["permute", "index", "shape", "stride", "copy", "dtype", "complex"]
    doc: str
    """One line: what it does to shape, stride or storage."""


class Step(msgspec.Struct, frozen=True, array_like=True):
    """One operation of a chain with its arguments, in the order of `Operation.parameters`.

    Optional arguments at the end may be left out and are filled in. Raises ValueError in words for an unknown operation
    and for arguments of the wrong number, kind or magnitude; what PyTorch itself would refuse is let through.
    """

    operation: str
    arguments: tuple[Argument, ...] = ()

    def __post_init__(self) -> None:
        operation = operation_named(self.operation)
        missing = operation.parameters[len(self.arguments) :]
        if len(self.arguments) > len(operation.parameters) or not all(p.optional for p in missing):
            raise ValueError(_wrong_number(operation, len(self.arguments)))
        full = (*self.arguments, *(parameter.default for parameter in missing))
        for parameter, value in zip(operation.parameters, full, strict=True):
            if complaint := complaint_about(parameter, value):
                raise ValueError(f"{self.operation}: {parameter.name} {complaint}")
        msgspec.structs.force_setattr(self, "arguments", full)


def operation_named(name: object) -> Operation:
    """The operation of that name; ValueError with the nearest names for an unknown one."""
    if isinstance(name, str) and name in OPERATIONS:
        return OPERATIONS[name]
    near = get_close_matches(name, OPERATIONS, n=2) if isinstance(name, str) else []
    meant = f"Did you mean {' or '.join(near)}?" if near else f"Use one of {', '.join(OPERATIONS)}."
    raise ValueError(f"There is no operation {name!r}. {meant}")


def _wrong_number(operation: Operation, received: int) -> str:
    names = ", ".join(p.name + ("=" + repr(p.default) if p.optional else "") for p in operation.parameters)
    return f"{operation.name} takes ({names}); received {received} arguments. Give one value for each name."


def complaint_about(parameter: Parameter, value: object) -> str:
    """What is wrong with a value for `parameter`, with the limit and the remedy; "" when it may be tried."""
    if parameter.kind == "dtype":
        return _not_one_of(DTYPES, value)
    if parameter.kind == "memory_format":
        return _not_one_of(MEMORY_FORMATS, value)
    if parameter.kind in ("dims", "shape"):
        return _wrong_entries(parameter, value)
    if parameter.kind == "optional_int" and value is None:
        return ""
    low, high = _bounds(parameter)
    return _wrong_int(value, low, high)


def _bounds(parameter: Parameter) -> tuple[int, int]:
    if parameter.kind in ("dim", "dims"):
        return -LARGEST_DIM - 1, LARGEST_DIM
    if parameter.name == "chunks":
        return -LARGEST_CHUNKS, LARGEST_CHUNKS
    return -LARGEST_INT, LARGEST_INT


def _wrong_int(value: object, low: int, high: int) -> str:
    if isinstance(value, bool) or not isinstance(value, int):
        return f"must be a whole number; received {value!r}. Write an int such as 0."
    return "" if low <= value <= high else f"must be between {low} and {high}; received {value}. Use a smaller number."


def _wrong_entries(parameter: Parameter, value: object) -> str:
    if not isinstance(value, tuple):
        return f"must be a tuple of whole numbers; received {value!r}. Write it as (2, 3)."
    if len(value) > LARGEST_ENTRIES:
        return f"may have at most {LARGEST_ENTRIES} entries; received {len(value)}. Use fewer dimensions."
    low, high = _bounds(parameter)
    return next((f"entry {i} {found}" for i, v in enumerate(value) if (found := _wrong_int(v, low, high))), "")


def _not_one_of(choices: tuple[str, ...], value: object) -> str:
    if value in choices:
        return ""
    near = get_close_matches(value, choices, n=1) if isinstance(value, str) else []
    meant = f"Did you mean {near[0]}?" if near else "Choose one of these."
    return f"must be one of {', '.join(choices)}; received {value!r}. {meant}"


def _dim(name: str, default: int, optional: bool = False) -> Parameter:
    return Parameter(name, "dim", default, optional)


def _int(name: str, default: int, optional: bool = False) -> Parameter:
    return Parameter(name, "int", default, optional)


def _end(name: str, default: int | None = None) -> Parameter:
    return Parameter(name, "optional_int", default, optional=True)


def _ints(name: str, kind: Literal["dims", "shape"], *default: int, optional: bool = False) -> Parameter:
    return Parameter(name, kind, default, optional)


def _format(default: str, optional: bool = True) -> Parameter:
    return Parameter("memory_format", "memory_format", default, optional)


_TABLE = (
    Operation("transpose", (_dim("dim0", 0), _dim("dim1", 1)), "permute", "Swaps two dimensions: a view."),
    Operation("permute", (_ints("dims", "dims", 1, 0),), "permute", "Reorders all dimensions: a view."),
    Operation(
        "movedim",
        (_ints("source", "dims", 0), _ints("destination", "dims", -1)),
        "permute",
        "Moves dimensions to new places, the others keep their order: a view.",
    ),
    Operation("T", (), "permute", "Reverses the dimensions of a matrix: a view."),
    Operation("mT", (), "permute", "Swaps the last two dimensions: a view."),
    Operation(
        "slice",
        (_dim("dim", 0), _end("start"), _end("stop"), _int("step", 1, optional=True)),
        "index",
        "x[start:stop:step] in one dimension: multiplies its stride by step, moves the offset; a view.",
    ),
    Operation("select", (_dim("dim", 0), _int("index", 0)), "index", "x[index] in one dimension, which goes: a view."),
    Operation(
        "narrow",
        (_dim("dim", 0), _int("start", 0), _int("length", 1)),
        "index",
        "`length` entries of one dimension from `start`: a view.",
    ),
    Operation(
        "diagonal",
        (_int("offset", 0, True), _dim("dim1", 0, True), _dim("dim2", 1, True)),
        "index",
        "The diagonal of two dimensions as the last one, stride the sum of theirs: a view.",
    ),
    Operation(
        "chunk",
        (_int("chunks", 2), _dim("dim", 0, True), _int("index", 0, True)),
        "index",
        "Output `index` of chunk(chunks, dim): one of several views made at once.",
    ),
    Operation(
        "unbind",
        (_dim("dim", 0, True), _int("index", 0, True)),
        "index",
        "Output `index` of unbind(dim): one of several views made at once.",
    ),
    Operation("view", (_ints("shape", "shape", -1),), "shape", "New shape over the same storage, or an error."),
    Operation("reshape", (_ints("shape", "shape", -1),), "shape", "A view where strides allow, otherwise a copy."),
    Operation(
        "flatten",
        (_dim("start_dim", 0, True), _dim("end_dim", -1, True)),
        "shape",
        "Joins dimensions: a view where strides allow, otherwise a copy.",
    ),
    Operation("unflatten", (_dim("dim", 0), _ints("sizes", "shape", 2, -1)), "shape", "Splits one dimension: a view."),
    Operation("squeeze", (_end("dim"),), "shape", "Removes dimensions of size 1, all of them with None: a view."),
    Operation("unsqueeze", (_dim("dim", 0),), "shape", "Inserts a dimension of size 1: a view."),
    Operation("expand", (_ints("size", "shape", 2, -1, -1),), "stride", "Repeats by stride 0, no memory: a view."),
    Operation(
        "unfold",
        (_dim("dimension", 0), _int("size", 2), _int("step", 1)),
        "stride",
        "Sliding windows as a new last dimension; they overlap in memory: a view.",
    ),
    Operation(
        "as_strided",
        (_ints("size", "shape", 2, 2), _ints("stride", "shape", 1, 1), _end("storage_offset")),
        "stride",
        "Any shape and stride over the storage, refused when out of bounds: a view.",
    ),
    Operation("flip", (_ints("dims", "dims", 0),), "copy", "Reverses dimensions by copying: no stride is negative."),
    Operation(
        "roll",
        (_ints("shifts", "dims", 1), _ints("dims", "dims", optional=True)),
        "copy",
        "Shifts entries around by copying; over the flattened tensor when dims is empty.",
    ),
    Operation("repeat", (_ints("repeats", "shape", 2, 1),), "copy", "Copies the tensor side by side; compare expand."),
    Operation(
        "contiguous",
        (_format("contiguous_format"),),
        "copy",
        "The very same tensor when it already is, otherwise a dense copy.",
    ),
    Operation("clone", (_format("preserve_format"),), "copy", "Always a copy, differentiable."),
    Operation("detach", (), "copy", "The same storage without history: a view that autograd does not follow."),
    Operation("to_dtype", (Parameter("dtype", "dtype", "float16"),), "dtype", ".to(dtype): a copy unless it has it."),
    Operation(
        "to_memory_format",
        (_format("channels_last", optional=False),),
        "copy",
        ".to(memory_format=...): a copy unless its strides already are so.",
    ),
    Operation(
        "view_dtype",
        (Parameter("dtype", "dtype", "int32"),),
        "dtype",
        ".view(dtype): the same bytes read as another dtype; a view.",
    ),
    Operation("real", (), "complex", "Real parts: every second number of the storage, a view."),
    Operation("imag", (), "complex", "Imaginary parts: every second number from offset 1, a view."),
    Operation("conj", (), "complex", "Sets the conjugate bit, computes nothing: a view."),
    Operation("resolve_conj", (), "complex", "Carries out a pending conjugation by copying."),
)

OPERATIONS: dict[str, Operation] = {operation.name: operation for operation in _TABLE}
"""Every operation a step may be, by name, grouped by topic."""
