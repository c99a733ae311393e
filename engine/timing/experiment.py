"""measure_timing, measure_compiled_timing, sweep_timing, measure_allocation: two variants under the same clock."""

from __future__ import annotations

from engine.models.build import price as price_model
from engine.runner.contract import Price
from engine.runner.faults import size
from engine.timing.allocation import measure_allocation
from engine.timing.catalogue import operands_of, result_elements
from engine.timing.measured import measure_compiled_timing, measure_timing
from engine.timing.spec import AllocationSpec, CompiledTimingSpec, TimingSpec, TimingSweepSpec
from engine.timing.sweep import at_size, possible_sizes, sweep_timing
from engine.timing.variant import StepVariant, Variant

__all__ = ["measure_allocation", "measure_compiled_timing", "measure_timing", "price", "sweep_timing"]

MEBIBYTE = 1 << 20
ITEM_BYTES = {"float32": 4, "float64": 8, "bfloat16": 2, "float16": 2}
DOUBLE_BYTES = 8


def price(spec: TimingSpec | CompiledTimingSpec | TimingSweepSpec | AllocationSpec) -> Price:
    """Operands, results and the float64 reference of both sides at the largest size; an upper estimate."""
    if isinstance(spec, AllocationSpec):
        return Price(
            predicted_bytes=4 * spec.largest_mib * MEBIBYTE,
            what="two operands and two results of one size",
            remedy="Choose a smaller largest output and run again.",
        )
    pair = (spec.a, spec.b)
    if isinstance(spec, TimingSweepSpec):
        sizes = possible_sizes(spec)[0] or (1,)
        pair = (at_size(spec.a, spec, sizes[-1]), at_size(spec.b, spec, sizes[-1]))
    a, b = map(price_variant, pair)
    return Price(
        predicted_bytes=a + b,
        what=f"A {size(a)}, B {size(b)}, their float64 references included",
        remedy=" ".join(dict.fromkeys(map(_remedy, pair))),
    )


def _remedy(variant: Variant) -> str:
    if isinstance(variant, StepVariant):
        return "Reduce the batch, the width or the number of layers of the model and run again."
    rows, columns = ("images", "channels") if variant.row.takes_images else ("rows", "columns")
    return f"Choose fewer {rows} or {columns} for the operator, or a narrower dtype, and run again."


def price_variant(variant: Variant) -> int:
    """Predicted peak bytes of one side, its reference included."""
    if isinstance(variant, StepVariant):
        return 2 * price_model(variant.model).predicted_bytes
    row, item = variant.row, ITEM_BYTES[variant.dtype]
    operands = sum(_elements(one.shape) for one in operands_of(row.operands, variant.rows, variant.columns))
    results = result_elements(row.operands, variant.rows, variant.columns) * (row.extra_floats + 1)
    backward = 2 if variant.work != "forward" else 1
    return operands * (2 * item + DOUBLE_BYTES) * backward + results * (item + DOUBLE_BYTES) * backward


def _elements(shape: tuple[int, ...]) -> int:
    found = 1
    for length in shape:
        found *= length
    return found
