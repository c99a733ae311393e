"""The verbs of gradient values, and what each needs."""

from __future__ import annotations

from engine.gradients.accumulation import accumulate_gradients
from engine.gradients.clipping import clip_gradients
from engine.gradients.comparison import compare_gradients
from engine.gradients.finite import check_gradients, in_float64
from engine.gradients.spec import (
    AccumulationSpec,
    ClippingSpec,
    DifferenceSpec,
    FiniteDifferenceSpec,
    GradientsSpec,
    ZeroGradSpec,
)
from engine.gradients.stepping import step_after_zero_grad
from engine.gradients.values import read_gradients
from engine.models.build import price as price_model
from engine.models.price import ITEM_BYTES
from engine.models.size import parameter_count
from engine.models.spec import ModelSpec
from engine.runner.contract import Price
from engine.runner.faults import size

__all__ = [
    "accumulate_gradients",
    "check_gradients",
    "clip_gradients",
    "compare_gradients",
    "price",
    "read_gradients",
    "step_after_zero_grad",
]

AnySpec = GradientsSpec | DifferenceSpec | FiniteDifferenceSpec | AccumulationSpec | ClippingSpec | ZeroGradSpec
COPIES = {AccumulationSpec: 2, ClippingSpec: 8, ZeroGradSpec: 6, GradientsSpec: 1}
"""Gradients, weights or optimizer states kept beside one run, each as large as the weights."""


def price(spec: AnySpec) -> Price:
    """Predicted peak: the largest run, and what is kept beside it."""
    if isinstance(spec, DifferenceSpec):
        first, second = spec.pair
        return _beside(max(price_model(first), price_model(second), key=lambda p: p.predicted_bytes), first, 2, 2)
    if isinstance(spec, FiniteDifferenceSpec):
        return _beside(price_model(in_float64(spec.model)), spec.model, 3, 0)
    return _beside(price_model(spec.model), spec.model, COPIES[type(spec)], 1)


def _beside(run: Price, model: ModelSpec, copies: int, doubles: int) -> Price:
    """One run with copies of its weights in their dtype, and some in float64 that comparing makes."""
    parameters = parameter_count(model.architecture)
    kept = parameters * (ITEM_BYTES[model.dtype] * copies + 8 * doubles)
    return Price(
        predicted_bytes=run.predicted_bytes + kept,
        what=f"{run.what}, gradients kept and compared {size(kept)}",
        remedy=run.remedy,
    )
