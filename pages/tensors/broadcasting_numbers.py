"""The key numbers of the broadcasting page's three sections."""

from __future__ import annotations

import math
from statistics import median

from engine.broadcasting.costs import naive_cost
from engine.broadcasting.results import Broadcast, Einsum
from engine.broadcasting.spec import EinsumSpec
from engine.timing.spec import Comparison
from engine.vectorisation.spec import Ladder, Rung
from pages.shared.key_numbers import KeyNumber

LONGEST_COUNT = 1_000_000
"""A larger count does not fit its box digit by digit."""
LOOPS, VECTORS = ("row loop", "element loop"), ("broadcast", "einsum", "matmul")
"""The first of each that a problem has stands in the row."""


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
        KeyNumber(
            "Loop FLOPs",
            naive,
            "",
            "multiplications and additions of the loop nest: 2 b m k n for a product, as `FlopCounterMode` counts",
        ),
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


def ladder_numbers(ladder: Ladder) -> tuple[KeyNumber, ...]:
    """The fastest rung, how far a loop is behind it, nodes of a loop against one expression, and agreement."""
    timed = [rung for rung in ladder.rungs if rung.seconds is not None]
    fastest = min(timed, key=lambda rung: rung.seconds or 0.0, default=None)
    errors = [rung.max_absolute_error for rung in ladder.rungs if rung.max_absolute_error is not None]
    what = f"the median of its samples: {fastest.name if fastest else 'nothing was measured'}"
    loop, vector = _first_known(ladder, LOOPS), _first_known(ladder, VECTORS)
    behind = "the median over the rounds of its time against the fastest rung's"
    compared = [(word, rung) for word, rung in (("Loop", loop), ("Vector", vector)) if rung is not None]
    return (
        KeyNumber("Fastest", fastest.seconds if fastest else None, "s", what),
        *(
            [KeyNumber(f"{loop.name.capitalize()} ×", _behind(loop, fastest, ladder.comparison), "", behind)]
            if loop
            else []
        ),
        *(
            KeyNumber(f"{word} nodes", rung.nodes, "count", f"`grad_fn` of the {rung.name}'s result")
            for word, rung in compared
        ),
        KeyNumber(
            "Largest error", max(errors, default=None), "", "`(result - float64 result).abs().max()` of all rungs"
        ),
    )


def _first_known(ladder: Ladder, names: tuple[str, ...]) -> Rung | None:
    """The first of these rungs that was measured, else the first whose nodes are known."""
    rungs = {rung.name: rung for rung in ladder.rungs}
    listed = [rungs[name] for name in names if name in rungs]
    known = [rung for rung in listed if rung.seconds is not None] or [rung for rung in listed if rung.nodes is not None]
    return known[0] if known else None


def _behind(loop: Rung, fastest: Rung | None, comparison: Comparison | None) -> float | None:
    """As the chart words it: the inverse of the median of fastest / loop over the rounds."""
    if fastest is None or comparison is None or loop.name not in comparison.names:
        return None
    ratio = median(comparison.paired_ratios(fastest.name, loop.name))
    return 1 / ratio if ratio else None
