"""The key numbers of a format trace."""

from __future__ import annotations

from engine.memory_format.spec import FormatTrace
from pages.shared.key_numbers import KeyNumber


def key_numbers(trace: FormatTrace) -> tuple[KeyNumber, ...]:
    """Images written in channels_last, losses, visible and hidden copies, gradients with other strides."""
    share = 100 * trace.channels_last_operations / trace.image_operations if trace.image_operations else None
    losses = sum(op.event == "loses" for op in trace.operations)
    return (
        KeyNumber(
            "% channels_last",
            share,
            "",
            "`tensor.is_contiguous(memory_format=torch.channels_last)` of what every operation on images writes, "
            "followed through views that rename dimensions",
        ),
        KeyNumber("Image writes", trace.image_operations, "count", "`__torch_dispatch__`, results with new memory"),
        KeyNumber("Losses", losses, "count", "operations that read channels_last and write another order"),
        KeyNumber("Copies", trace.copies, "count", "`aten::clone`, `aten::copy_`, `aten::_to_copy` as dispatched"),
        KeyNumber("Bytes copied", trace.copied_bytes, "bytes", "elements of those copies times `element_size()`"),
        KeyNumber(
            "Inside kernels",
            None if trace.hidden_unavailable else trace.hidden_bytes,
            "bytes",
            "`aten::copy_` that the profiler saw below another operation: reorders that no stride shows",
        ),
        KeyNumber("Grad strides differ", trace.strides_differ, "count", "`parameter.grad.stride()`"),
    )
