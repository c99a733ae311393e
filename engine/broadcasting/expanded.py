"""trace_broadcast: one operation over operands that broadcast."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import msgspec
import torch

from engine.broadcasting.backward import operand_gradients
from engine.broadcasting.fixes import Fix, grows, suggest_fixes
from engine.broadcasting.operands import Value, apply, build_operand, listen, stand_ins
from engine.broadcasting.results import Broadcast, Placed, TriedFix
from engine.broadcasting.rule import NAMES, Shape, operation_alignment
from engine.broadcasting.spec import BroadcastSpec, Operand
from engine.broadcasting.writes import try_in_place, write_expanded
from engine.pytorch_said import PyTorchSaid, attempt
from engine.runner.contract import Price, ProgressSink

COMPUTED_ELEMENTS = 1 << 20
"""Up to so many elements in the result and the operands together the operation is really carried out."""


def is_computed(spec: BroadcastSpec) -> bool:
    """Whether values are made; else everything is read from the meta device."""
    shape = operation_alignment(spec.operation, spec.shapes).shape or ()
    return math.prod(shape) + sum(map(math.prod, spec.shapes)) <= COMPUTED_ELEMENTS


def _device_for_writes(spec: BroadcastSpec) -> str:
    """An in-place operation allocates no result, so the operands alone must be small."""
    return "cpu" if sum(map(math.prod, spec.shapes)) <= COMPUTED_ELEMENTS else "meta"


def price_broadcast(spec: BroadcastSpec) -> Price:
    """Result, operands, repeated copies and gradients, when they are made at all."""
    if not is_computed(spec):
        return Price(predicted_bytes=0, what="shapes on the meta device")
    shape = operation_alignment(spec.operation, spec.shapes).shape or ()
    elements = math.prod(shape) * (4 + 2 * len(spec.operands)) + sum(map(math.prod, spec.shapes))
    return Price(predicted_bytes=16 * elements, what="operands, result and gradients, at most 16 B an element")


def trace_broadcast(spec: BroadcastSpec, progress: ProgressSink) -> Broadcast:
    """The result's shape and dtype, every operand expanded to it, the gradients summed back, and what is refused."""
    progress("broadcasting", 0.0)
    computed = is_computed(spec)
    device = "cpu" if computed else "meta"
    alignment = operation_alignment(spec.operation, spec.shapes)
    operands = [build_operand(operand, device) for operand in spec.operands]
    spoken = operands if computed or alignment.shape is not None else stand_ins(spec)
    (result, error), warnings = listen(lambda: attempt(lambda: torch.as_tensor(apply(spec.operation, spoken))))
    progress("backward", 0.4)
    placed, backward_error = place_operands(spec, operands), None
    if result is not None and computed:
        placed, backward_error = operand_gradients(spec, operands, result, placed)
    progress("writing in place", 0.7)
    loss, loss_same_shape = _losses(spec, operands, result) if computed else (None, None)
    _, broadcast_error = attempt(lambda: _broadcast_tensors(spec))
    fixes, fix_refusal = ((), None) if alignment.shape is not None else try_fixes(spec)
    return Broadcast(
        operands=placed,
        shape=None if result is None else tuple(result.shape),
        stride=None if result is None else tuple(result.stride()),
        dtype=None if result is None else dtype_name(result.dtype),
        output_bytes=None if result is None else result.untyped_storage().nbytes(),
        computed=computed,
        result_type=_result_type(operands),
        error=error,
        backward_error=backward_error,
        broadcast_error=None if spec.operation == "matmul" else broadcast_error,
        fixes=fixes,
        fix_refusal=fix_refusal,
        in_place=try_in_place(spec, _device_for_writes(spec)),
        writes=write_expanded(spec, placed) if computed else (),
        warnings=warnings,
        loss=loss,
        loss_same_shape=loss_same_shape,
    )


def _broadcast_tensors(spec: BroadcastSpec) -> Any:
    return torch.broadcast_tensors(*map(torch.as_tensor, stand_ins(spec)))  # type: ignore[no-untyped-call]


def dtype_name(dtype: torch.dtype) -> str:
    """`torch.float32` -> "float32"."""
    return str(dtype).removeprefix("torch.")


def _result_type(operands: Sequence[Value]) -> str | None:
    """`torch.result_type` takes two; more are folded only where no 0-dim operand or number would count twice."""
    if len(operands) == 2:
        return dtype_name(torch.result_type(operands[0], operands[1]))
    return None


def place_operands(spec: BroadcastSpec, operands: Sequence[Value]) -> tuple[Placed, ...]:
    """Every operand with its strides, and expanded to what the operation needs of it."""
    targets = expanded_shapes(spec.operation, spec.shapes)
    return tuple(
        _place(number, operand, value, None if targets is None else targets[number])
        for number, (operand, value) in enumerate(zip(spec.operands, operands, strict=True))
    )


def expanded_shapes(operation: str, shapes: Sequence[Shape]) -> tuple[Shape, ...] | None:
    """The shape each operand is expanded to: the result's, for matmul the batch dims with its own matrix dims."""
    alignment = operation_alignment(operation, shapes)
    if alignment.shape is None:
        return None
    if operation != "matmul":
        return (alignment.shape,) * len(shapes)
    batch = tuple(column.result or 0 for column in alignment.columns if column.kind == "broadcast")
    return tuple(batch + shape[-2:] for shape in shapes)


def _place(number: int, operand: Operand, value: Value, target: Shape | None) -> Placed:
    tensor = torch.as_tensor(value)
    known = Placed(
        name=NAMES[number],
        shape=operand.shape,
        dtype=operand.dtype,
        is_number=operand.is_number,
        stride=tuple(tensor.stride()),
        storage_bytes=0 if operand.is_number else tensor.untyped_storage().nbytes(),
    )
    if target is None:
        return known
    added = len(target) - len(operand.shape)
    expanded = tensor.detach().expand(target)
    return msgspec.structs.replace(
        known,
        expanded_shape=tuple(expanded.shape),
        expanded_stride=tuple(expanded.stride()),
        expanded_storage_bytes=0 if operand.is_number else expanded.untyped_storage().nbytes(),
        new_dims=tuple(range(added)),
        stretched_dims=tuple(
            dim for dim in range(added, len(target)) if operand.shape[dim - added] == 1 and target[dim] != 1
        ),
        repeat_bytes=0 if operand.is_number else _repeat_bytes(tensor, target),
    )


def _repeat_bytes(tensor: torch.Tensor, target: Shape) -> int:
    """What `tensor.repeat` to this shape allocates, on the meta device."""
    own = (1,) * (len(target) - tensor.dim()) + tuple(tensor.shape)
    times = [size if before == 1 else 1 for before, size in zip(own, target, strict=True)]
    on_meta = torch.empty(tensor.shape, dtype=tensor.dtype, device="meta")
    return on_meta.repeat(times).untyped_storage().nbytes()


def try_fixes(spec: BroadcastSpec) -> tuple[tuple[TriedFix, ...], PyTorchSaid | None]:
    """The suggested changes that PyTorch really accepts of these dtypes; when none is, its words about the first.

    Each is tried on the meta device at full size, for shape and bytes, and on the CPU with small sizes: the meta device
    accepts dtypes for which there is no kernel.
    """
    tried, refused = [], []
    for fix in suggest_fixes(spec.operation, spec.shapes):
        _, error = _attempt_fix(fix, spec, [build_operand(_small(operand), "cpu") for operand in spec.operands])
        if error is None:
            found, error = _attempt_fix(fix, spec, [build_operand(operand, "meta") for operand in spec.operands])
            tried += [found] if found is not None else []
        refused += [error] if error is not None else []
    return tuple(tried), refused[0] if refused and not tried else None


def _small(operand: Operand) -> Operand:
    """The same with every size above 1 as 2: shapes that fit still do."""
    return msgspec.structs.replace(operand, shape=tuple(min(size, 2) for size in operand.shape))


def _attempt_fix(fix: Fix, spec: BroadcastSpec, operands: Sequence[Any]) -> tuple[TriedFix | None, PyTorchSaid | None]:
    changed = list(operands)
    changed[fix.operand] = carry_out(fix, changed[fix.operand])
    (result, error), _ = listen(lambda: attempt(lambda: apply(spec.operation, changed)))
    return None if error else _tried(fix, spec, changed, result), error


def _tried(fix: Fix, spec: BroadcastSpec, operands: Sequence[Any], result: Any) -> TriedFix:
    return TriedFix(
        operand=NAMES[fix.operand],
        code=fix.code,
        operand_shape=tuple(operands[fix.operand].shape),
        result_shape=tuple(result.shape),
        output_bytes=result.untyped_storage().nbytes(),
        grows=grows(spec.operation, spec.shapes, tuple(result.shape)),
    )


def carry_out(fix: Fix, tensor: torch.Tensor) -> torch.Tensor:
    """The fix applied to a tensor: a view, no bytes."""
    changed = tensor.permute(fix.permutation)
    for position in fix.unsqueezed:
        changed = changed.unsqueeze(position)
    return changed


def _losses(spec: BroadcastSpec, operands: Sequence[Any], result: Any) -> tuple[float | None, float | None]:
    """mse_loss as written, and with the target in the input's shape."""
    if spec.operation != "mse_loss" or result is None or not result.is_floating_point():
        return None, None
    inputs, target = operands
    same = None
    if inputs.numel() == target.numel():
        same, _ = attempt(lambda: torch.nn.functional.mse_loss(inputs, target.reshape(inputs.shape)).item())
    return result.mean().item(), same
