"""What can be asked about broadcasting and einsum."""

from __future__ import annotations

import math
from typing import Annotated, ClassVar, Literal

import msgspec
from msgspec import Meta

from engine.broadcasting.equation import MOST_CHARACTERS, Equation, EquationError, index_size, parse_equation
from engine.broadcasting.results import Broadcast, Einsum
from engine.broadcasting.rule import NAMES, Shape, operation_alignment
from engine.runner.contract import Result, Spec, check_ranges

OperandDtype = Literal[
    "float32",
    "float64",
    "float16",
    "bfloat16",
    "complex64",
    "complex128",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "bool",
    "Python bool",
    "Python int",
    "Python float",
    "Python complex",
]
"""`torch.dtype` names, and Python numbers, which promote less than any tensor."""
Operation = Literal["add", "sub", "mul", "where", "matmul", "mse_loss"]

ARITY: dict[str, tuple[int, int]] = {
    "add": (2, 4),
    "sub": (2, 4),
    "mul": (2, 4),
    "where": (3, 3),
    "matmul": (2, 2),
    "mse_loss": (2, 2),
}
"""Fewest and most operands of each operation."""
MAXIMUM_DIMS = 8
LARGEST_OPERAND = 1 << 40
LARGEST_RESULT = 1 << 50
"""Elements; above the values nothing is allocated, but PyTorch counts bytes in 64 bits."""


class Operand(msgspec.Struct, frozen=True):
    """One operand: a tensor of a shape (`()` is 0-dim), or a Python number, which has none."""

    shape: tuple[int, ...] = ()
    dtype: OperandDtype = "float32"

    def __post_init__(self) -> None:
        check_ranges(self)
        if len(self.shape) > MAXIMUM_DIMS:
            raise ValueError(
                f"Operand.shape has at most {MAXIMUM_DIMS} dimensions; received {len(self.shape)}. Leave some out."
            )
        negative = [size for size in self.shape if size < 0]
        if negative:
            raise ValueError(
                f"Operand.shape takes sizes from 0 up; received {negative[0]}. Write 0 or a positive size."
            )
        if math.prod(self.shape) > LARGEST_OPERAND:
            raise ValueError(
                f"Operand.shape holds at most {LARGEST_OPERAND} elements; received {self.shape}. Choose smaller sizes."
            )
        if self.is_number and self.shape:
            raise ValueError(
                f"Operand.shape of a {self.dtype} must be (); received {self.shape}. "
                "Choose a tensor dtype to give it one."
            )

    @property
    def is_number(self) -> bool:
        return self.dtype.startswith("Python ")


class BroadcastSpec(
    Spec[Broadcast], frozen=True, kw_only=True, tag="broadcast", tag_field="kind", forbid_unknown_fields=True
):
    """Apply `operation` to 2 to 4 operands that broadcast."""

    verb: ClassVar[str] = "trace_broadcast"
    result: ClassVar[type[Result]] = Broadcast

    operation: Operation = "add"
    operands: tuple[Operand, ...] = (Operand((2, 1, 4)), Operand((3, 1)))
    seed: Annotated[int, Meta(ge=0, le=2**31 - 1, description="of the gradient that backward starts from")] = 0

    def __post_init__(self) -> None:
        check_ranges(self)
        fewest, most = ARITY[self.operation]
        if not fewest <= len(self.operands) <= most:
            allowed = str(fewest) if fewest == most else f"{fewest} to {most}"
            raise ValueError(
                f"BroadcastSpec.operands of {self.operation} must be {allowed}; received {len(self.operands)}. "
                "Add or leave out operands."
            )
        if all(operand.is_number for operand in self.operands):
            raise ValueError(
                "BroadcastSpec.operands needs a tensor; received Python numbers only. Give one of them a tensor dtype."
            )
        shape = operation_alignment(self.operation, self.shapes).shape
        if shape is not None and (math.prod(shape) > LARGEST_RESULT or len(shape) > MAXIMUM_DIMS):
            raise ValueError(
                f"BroadcastSpec.operands would give a result of {shape}; the limit is {LARGEST_RESULT} elements. "
                "Choose smaller sizes."
            )

    @property
    def shapes(self) -> tuple[Shape, ...]:
        return tuple(operand.shape for operand in self.operands)

    @property
    def expression(self) -> str:
        """The operation as Python text over the names a, b, c, d."""
        names = NAMES[: len(self.operands)]
        infix = {"add": " + ", "sub": " - ", "mul": " * ", "matmul": " @ "}.get(self.operation)
        if infix:
            return infix.join(names)
        call = "torch.where" if self.operation == "where" else "torch.nn.functional.mse_loss"
        return f"{call}({', '.join(names)})"


class IndexSize(msgspec.Struct, frozen=True, array_like=True):
    """How long an index runs."""

    letter: str
    size: Annotated[int, Meta(ge=0, le=1_000_000)]

    def __post_init__(self) -> None:
        check_ranges(self)
        if not (
            isinstance(self.letter, str) and len(self.letter) == 1 and self.letter.isascii() and self.letter.isalpha()
        ):
            raise ValueError(f"IndexSize.letter must be one of a-z, A-Z; received {self.letter!r}. Write i=4, j=3.")


EinsumDtype = Literal["float32", "float64", "bfloat16", "complex64", "int64"]


class EinsumSpec(Spec[Einsum], frozen=True, kw_only=True, tag="einsum", tag_field="kind", forbid_unknown_fields=True):
    """Carry out `torch.einsum(equation, ...)` with operands of the given sizes."""

    verb: ClassVar[str] = "trace_einsum"
    result: ClassVar[type[Result]] = Einsum

    equation: str = "ij,jk->ik"
    sizes: tuple[IndexSize, ...] = ()
    other_size: Annotated[int, Meta(ge=0, le=4096, description="size of every index that is not listed")] = 4
    ellipsis: tuple[int, ...] = (2,)
    """What `...` stands for."""
    dtype: EinsumDtype = "float32"
    seed: Annotated[int, Meta(ge=0, le=2**31 - 1)] = 0

    def __post_init__(self) -> None:
        check_ranges(self)
        if not isinstance(self.equation, str) or len(self.equation) > MOST_CHARACTERS:
            raise ValueError(
                f"EinsumSpec.equation has at most {MOST_CHARACTERS} characters; "
                f"received {self.equation[:40]!r}. Shorten it."
            )
        if len(self.ellipsis) > 4 or not all(0 <= size <= 4096 for size in self.ellipsis):
            raise ValueError(
                f"EinsumSpec.ellipsis must be at most 4 sizes between 0 and 4096; "
                f"received {self.ellipsis}. Write 2 or 2, 3."
            )
        equation = self.parsed
        if equation is None:
            return
        steps = math.prod(index_size(letter, self.size_of, self.ellipsis) for letter in equation.letters)
        if steps > LARGEST_RESULT:
            raise ValueError(
                f"EinsumSpec.sizes make a loop of {steps} steps; the limit is {LARGEST_RESULT}. Choose smaller sizes."
            )

    @property
    def parsed(self) -> Equation | None:
        """The equation as read, None where it cannot be."""
        try:
            return parse_equation(self.equation)
        except EquationError:
            return None

    def length_of(self, letter: str) -> int:
        """Steps of an index, `...` included."""
        return index_size(letter, self.size_of, self.ellipsis)

    def size_of(self, letter: str) -> int:
        return next((entry.size for entry in self.sizes if entry.letter == letter), self.other_size)
