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
            f"`is_contiguous(memory_format=torch.channels_last)` of what operations on images write: "
            f"{trace.channels_last_operations} of {trace.image_operations}, followed through renaming views",
        ),
        KeyNumber("Losses", losses, "count", "operations that read channels_last and write another order"),
        KeyNumber("Copies", trace.copies, "count", "`aten::clone`, `aten::copy_`, `aten::_to_copy` as dispatched"),
        KeyNumber("Bytes copied", trace.copied_bytes, "bytes", "elements of those copies times `element_size()`"),
        KeyNumber(
            "Inside kernels",
            None if trace.hidden_unavailable else trace.hidden_bytes,
            "bytes",
            "`aten::copy_` that the profiler saw below another operation: reorders that no stride shows",
        ),
        KeyNumber("Grads differ", trace.strides_differ, "count", "`parameter.grad.stride() != parameter.stride()`"),
    )
