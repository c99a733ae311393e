"""What comes back about broadcasting and einsum: plain values read from PyTorch."""

from __future__ import annotations

import math
from typing import Literal

import msgspec

from engine.pytorch_said import PyTorchSaid
from engine.runner.contract import Result


class OperandGradient(msgspec.Struct, frozen=True):
    """`.grad` after `result.backward(g)`: its shape, the result's dims it was summed over, and its agreement.

    `max_abs_error` is the distance to the same gradient summed by hand over those dims; None where that failed.
    """

    shape: tuple[int, ...]
    summed_dims: tuple[int, ...]
    max_abs_error: float | None


class Placed(msgspec.Struct, frozen=True, kw_only=True):
    """One operand where the result needs it; strides in elements, None where the shapes do not fit.

    `expanded_shape` is the result's shape (for matmul its batch dims with the operand's own matrix dims); `new_dims`
    and `stretched_dims` are dims of it: put in front, and of size 1 before. Neither costs bytes: `repeat_bytes` is what
    `tensor.repeat` to the same shape really allocates.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    is_number: bool
    stride: tuple[int, ...]
    storage_bytes: int
    expanded_shape: tuple[int, ...] | None = None
    expanded_stride: tuple[int, ...] | None = None
    expanded_storage_bytes: int | None = None
    new_dims: tuple[int, ...] = ()
    stretched_dims: tuple[int, ...] = ()
    repeat_bytes: int | None = None
    gradient: OperandGradient | None = None


class TriedFix(msgspec.Struct, frozen=True):
    """A change to one operand that makes the shapes fit, carried out by PyTorch; `grows` above every operand."""

    operand: str
    code: str
    operand_shape: tuple[int, ...]
    result_shape: tuple[int, ...]
    output_bytes: int
    grows: bool


class InPlace(msgspec.Struct, frozen=True):
    """One in-place call, as `a.add_(b)`: PyTorch's refusal, or None when it was carried out."""

    code: str
    error: PyTorchSaid | None


class ExpandedWrite(msgspec.Struct, frozen=True):
    """A write into `operand.expand(...)`, where several elements are one address.

    `changed` counts the elements of the expanded tensor that differ afterwards; None when PyTorch refused.
    """

    code: str
    error: PyTorchSaid | None
    changed: int | None


class Broadcast(Result, frozen=True, kw_only=True):
    """What PyTorch made of the operands; `error` has its words when it refused.

    `computed` is False when the sizes are too large to allocate for a look: shapes, strides, dtypes and bytes then come
    from the meta device, and values and gradients are left out.
    """

    operands: tuple[Placed, ...]
    shape: tuple[int, ...] | None
    stride: tuple[int, ...] | None
    dtype: str | None
    output_bytes: int | None
    computed: bool
    result_type: str | None = None
    """`torch.result_type`, folded over the operands from the left."""
    error: PyTorchSaid | None = None
    backward_error: PyTorchSaid | None = None
    """What `result.backward(g)` says where the result is made, but no gradients are."""
    broadcast_error: PyTorchSaid | None = None
    """What `torch.broadcast_tensors` says of the same shapes."""
    fixes: tuple[TriedFix, ...] = ()
    fix_refusal: PyTorchSaid | None = None
    """Where a change of shape would fit, but every one is refused all the same: what PyTorch says of the first."""
    in_place: tuple[InPlace, ...] = ()
    writes: tuple[ExpandedWrite, ...] = ()
    warnings: tuple[str, ...] = ()
    loss: float | None = None
    """Mean of mse_loss as written."""
    loss_same_shape: float | None = None
    """The same with the target reshaped to the input's shape; None where it has other elements."""

    @property
    def grows(self) -> bool:
        """Whether every operand was expanded to more elements than it has."""
        return all(
            place.expanded_shape is not None and math.prod(place.expanded_shape) > math.prod(place.shape)
            for place in self.operands
        )

    @property
    def operand_bytes(self) -> int:
        return sum(operand.storage_bytes for operand in self.operands)

    @property
    def repeat_bytes(self) -> int | None:
        """Bytes that repeating every operand would allocate, where it is not already as large."""
        sizes = [operand.repeat_bytes for operand in self.operands if operand.expanded_shape != operand.shape]
        return None if None in sizes or self.shape is None else sum(size for size in sizes if size is not None)


class Dispatched(msgspec.Struct, frozen=True):
    """One ATen operator that einsum called: its tensors' shapes, the arithmetic in it and the bytes it allocated."""

    name: str
    inputs: tuple[tuple[int, ...], ...]
    output: tuple[int, ...]
    is_view: bool
    flops: int
    allocated_bytes: int


class Einsum(Result, frozen=True, kw_only=True):
    """What PyTorch made of an equation; `error` has its words when it refused, `complaint` ours.

    FLOPs count multiplications and additions. `intermediate_bytes` is what was allocated on the way to the output.
    """

    operand_shapes: tuple[tuple[int, ...], ...]
    operand_bytes: int
    computed: bool
    shape: tuple[int, ...] | None = None
    stride: tuple[int, ...] | None = None
    output_bytes: int | None = None
    output_is_view: bool = False
    dispatched: tuple[Dispatched, ...] = ()
    flops: int = 0
    """Of the operators that were called."""
    intermediate_bytes: int = 0
    path: tuple[tuple[int, ...], ...] = ()
    """Positions contracted one after the other; each result goes to the end of the list."""
    opt_einsum: Literal["not installed", "switched off", "used"] = "not installed"
    loop_max_abs_error: float | None = None
    """Distance to the loop nest carried out in Python; None where it would run too long."""
    error: PyTorchSaid | None = None
    complaint: str = ""
