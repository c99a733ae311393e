"""measure_operator_ladder, measure_compiled_operator_ladder, measure_roofline, sweep_operator, check_operator."""

from __future__ import annotations

from engine.operator_ladder.checks import check_operator
from engine.operator_ladder.ladder import measure_compiled_operator_ladder, measure_operator_ladder
from engine.operator_ladder.roofline import measure_roofline
from engine.operator_ladder.spec import (
    AnyLadderSpec,
    OperatorChecksSpec,
    OperatorSweepSpec,
    RooflineSpec,
    least_bytes_of,
)
from engine.operator_ladder.sweep import sweep_operator
from engine.runner.contract import Price
from engine.runner.faults import size

__all__ = [
    "check_operator",
    "measure_compiled_operator_ladder",
    "measure_operator_ladder",
    "measure_roofline",
    "price",
    "sweep_operator",
]

HELD = 6
"""Copies of everything read and written that are held at once: the composed way's intermediates, and float64."""


def price(spec: AnyLadderSpec | RooflineSpec | OperatorSweepSpec | OperatorChecksSpec) -> Price | None:
    """Inputs, results, intermediates and the float64 reference; an upper estimate."""
    if isinstance(spec, RooflineSpec | OperatorChecksSpec):
        return None
    sizes = spec.shape_at(spec.largest) if isinstance(spec, OperatorSweepSpec) else spec.sizes
    moved = least_bytes_of(spec, sizes)
    return Price(predicted_bytes=HELD * moved, what=f"{HELD} times what one call reads and writes, {size(moved)}")
