"""The key numbers of a format trace."""

from __future__ import annotations

from collections.abc import Sequence

from engine.figures.units import format_bytes, format_count
from engine.memory_format.spec import FormatTrace, Operation
from pages.shared.key_numbers import KeyNumber

FORWARD = ("forward", "loss")


def key_numbers(trace: FormatTrace) -> tuple[KeyNumber, ...]:
    """Images written in channels_last, losses, copies of forward and backward, hidden ones, gradients that differ."""
    share = 100 * trace.channels_last_operations / trace.image_operations if trace.image_operations else None
    forward = [op for op in trace.operations if op.phase in FORWARD]
    backward = [op for op in trace.operations if op.phase not in FORWARD]
    losses = sum(op.event == "loses" for op in trace.operations)
    return (
        KeyNumber(
            "% channels_last",
            share,
            "",
            f"`is_contiguous(memory_format=torch.channels_last)` of what operations on images write: "
            f"{trace.channels_last_operations} of {trace.image_operations}, followed through renaming views",
        ),
        KeyNumber("Losses", losses, "count", "operations that read channels_last and write another order"),
        KeyNumber(
            "Forward copies",
            _bytes(forward),
            "bytes",
            f"{_count(forward)}, of the forward; elements times `element_size()`",
        ),
        KeyNumber(
            "Bwd copies", _bytes(backward), "bytes", f"{_count(backward)}, of the backward, recomputation included"
        ),
        KeyNumber(
            "Inside kernels",
            None if trace.hidden_unavailable else trace.hidden_bytes,
            "bytes",
            _inside(trace),
        ),
        KeyNumber("Grads differ", trace.strides_differ, "count", "`parameter.grad.stride() != parameter.stride()`"),
    )


def _bytes(operations: Sequence[Operation]) -> int:
    return sum(op.copied_bytes for op in operations)


def _count(operations: Sequence[Operation]) -> str:
    number = format_count(sum(op.copied_bytes > 0 for op in operations))
    return f"copies dispatched as operations (`aten::clone`, `aten::copy_`, `aten::_to_copy`): {number}"


def _inside(trace: FormatTrace) -> str:
    """What counts as a reorder, forward and backward apart, and what does not."""
    forward = sum(op.hidden_bytes for op in trace.operations if op.phase in FORWARD)
    others = {"cast": 0, "same order": 0}
    for copy in (copy for op in trace.operations for copy in op.inside if copy.kind in others):
        others[copy.kind] += copy.copied_bytes
    return (
        "`aten::copy_` that the profiler saw below another operation, where source and target order their dimensions "
        f"differently by stride: {format_bytes(forward)} in forward, {format_bytes(trace.hidden_bytes - forward)} in "
        f"backward. Not counted: {format_bytes(others['cast'])} of casts to another dtype and "
        f"{format_bytes(others['same order'])} copied in the order they had"
    )
