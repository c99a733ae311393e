"""Memory formats through a model: `trace_formats(model, inputs) -> FormatTrace`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from engine.memory_format.spec import FormatTrace

if TYPE_CHECKING:
    import torch
    from torch import nn


def trace_formats(
    model: nn.Module,
    inputs: Mapping[str, torch.Tensor] | Sequence[torch.Tensor] | torch.Tensor,
    *,
    loss: Callable[[Any], torch.Tensor] | None = None,
    backward: bool = True,
) -> FormatTrace:
    """Formats, copies and gradient strides of one forward and backward of your own module.

    `inputs` are positional tensors, or a mapping of arguments by name. Without `loss`, the sum over every floating
    output is differentiated. `.grad` of the parameters is written as by any backward: start from None to see the
    strides that autograd chooses. An error PyTorch raises is `FormatTrace.error`.
    """
    from engine.memory_format.trace import FormatRun
    from engine.models.loss import floating

    named = _named(inputs)

    def forward() -> Any:
        return model(**named) if isinstance(inputs, Mapping) else model(*named.values())

    def total(outputs: Any) -> torch.Tensor:
        first, *rest = (output.sum() for output in floating(outputs))
        return sum(rest, first)

    return FormatRun(model, named).run(forward, (loss or total) if backward else None)


def _named(inputs: Any) -> dict[str, torch.Tensor]:
    if isinstance(inputs, Mapping):
        return dict(inputs)
    positional = inputs if isinstance(inputs, Sequence) else [inputs]
    return {f"input[{number}]": tensor for number, tensor in enumerate(positional)}
