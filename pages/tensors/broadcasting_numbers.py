"""The key numbers of the broadcasting page's first two sections."""

from __future__ import annotations

import math

from engine.broadcasting.costs import naive_cost
from engine.broadcasting.results import Broadcast, Einsum
from engine.broadcasting.spec import EinsumSpec
from pages.shared.key_numbers import KeyNumber

LONGEST_COUNT = 1_000_000
"""A larger count does not fit its box digit by digit."""


def broadcast_numbers(outcome: Broadcast) -> tuple[KeyNumber, ...]:
    """Elements and bytes of the result, and what repeating would have copied."""
    elements = None if outcome.shape is None else math.prod(outcome.shape)
    expand = None if outcome.shape is None else 0
    numbers = (
        KeyNumber("Elements", elements, "count" if (elements or 0) < LONGEST_COUNT else "", "`result.numel()`"),
        KeyNumber("Operands", outcome.operand_bytes, "bytes", "`untyped_storage().nbytes()` of every tensor operand"),
        KeyNumber("expand adds", expand, "bytes", "the storage of `tensor.expand(...)`, which is the operand's own"),
        KeyNumber("repeat copies", outcome.repeat_bytes, "bytes", "the storages that `tensor.repeat` makes instead"),
        KeyNumber("Result", outcome.output_bytes, "bytes", "`result.untyped_storage().nbytes()`"),
    )
    if outcome.shape is None:
        return numbers[1:2]
    if outcome.loss is None:
        return numbers
    return (*numbers[:1], *numbers[3:], *_losses(outcome))


def _losses(outcome: Broadcast) -> tuple[KeyNumber, ...]:
    return (
        KeyNumber("Loss as written", outcome.loss, "", "`torch.nn.functional.mse_loss(a, b)`"),
        KeyNumber("Same shapes", outcome.loss_same_shape, "", "`mse_loss(a, b.reshape(a.shape))`"),
    )


def einsum_numbers(spec: EinsumSpec, outcome: Einsum) -> tuple[KeyNumber, ...]:
    """FLOPs of the loop and of the operators, bytes of operands, intermediate results and output."""
    equation = spec.parsed
    worked = outcome.shape is not None
    naive = naive_cost(equation, spec.length_of).flops if equation is not None and worked else None
    return (
        KeyNumber("Loop FLOPs", naive, "", "multiplications and additions of the loop nest, by its sizes"),
        KeyNumber(
            "Called FLOPs", outcome.flops if worked else None, "", "the shapes that `bmm`, `mul`, `sum` were given"
        ),
        KeyNumber("Operands", outcome.operand_bytes, "bytes", "`untyped_storage().nbytes()` of the operands"),
        KeyNumber(
            "In between",
            outcome.intermediate_bytes if worked else None,
            "bytes",
            "what ATen operators below einsum allocated, the output left out",
        ),
        KeyNumber("Output", outcome.output_bytes, "bytes", "`out.numel() * out.element_size()`"),
        KeyNumber("Off the loop", outcome.loop_max_abs_error, "", "the loop nest run in Python, up to 20 000 steps"),
    )
