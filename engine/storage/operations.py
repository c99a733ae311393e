"""The operations a chain is made of, as data: names in PyTorch's terms, their parameters and defaults."""

from __future__ import annotations

from typing import Literal

import msgspec

ParameterKind = Literal["dim", "dims", "int", "optional_int", "shape", "dtype", "memory_format"]
"""`dim` may be negative; `dims` and `shape` are tuples of ints; `optional_int` may be None as in `x[1:]`."""

Argument = int | str | None | tuple[int, ...]


class Parameter(msgspec.Struct, frozen=True):
    """One argument of an operation; `default` is what an inserted step starts with."""

    name: str
    kind: ParameterKind
    default: Argument


class Operation(msgspec.Struct, frozen=True):
    """A tensor method as PyTorch names it; `slice` and `select` are written as an index."""

    name: str
    parameters: tuple[Parameter, ...]
    topic: Literal["permute", "index", "shape", "stride", "copy", "dtype", "complex"]
    doc: str
    """One line: what it does to shape, stride or storage."""


class Step(msgspec.Struct, frozen=True, array_like=True):
    """One operation of a chain with its arguments, in the order of `Operation.parameters`."""

    operation: str
    arguments: tuple[Argument, ...] = ()
