"""What can be asked of gradients; torch-free."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import msgspec
from msgspec import Meta

from engine.gradients.results import Accumulated, Checked, Clipped, Differences, Gradients, Stepped
from engine.models.shape import block_count, describe
from engine.models.spec import Expression, ModelSpec
from engine.runner.contract import Limits, Result, Spec, check_ranges

__all__ = [
    "AccumulationSpec",
    "ClippingSpec",
    "DifferenceSpec",
    "FiniteDifferenceSpec",
    "GradientsSpec",
    "Variation",
    "ZeroGradSpec",
]

Variation = Literal["bfloat16 autocast", "float16 autocast", "checkpoint", "float64", "another seed", "eval", "given"]


class GradientsSpec(Spec[Gradients], frozen=True, kw_only=True):
    """The gradient of every leaf of `model` after one backward."""

    verb: ClassVar[str] = "read_gradients"
    result: ClassVar[type[Result]] = Gradients

    model: ModelSpec = ModelSpec()
    learning_rate: Annotated[float, Meta(ge=0.0, le=100.0, description="lr of the update -lr * grad")] = 0.1


class DifferenceSpec(Spec[Differences], frozen=True, kw_only=True):
    """Gradients of run B against run A: B is the `model` with one thing changed, or `other` when `against` is "given".

    Raises ValueError where the model cannot have the change.
    """

    verb: ClassVar[str] = "compare_gradients"
    result: ClassVar[type[Result]] = Differences

    model: ModelSpec = ModelSpec()
    against: Variation = "bfloat16 autocast"
    other: ModelSpec | None = None

    def __post_init__(self) -> None:
        check_ranges(self)
        if (self.against == "given") != (self.other is not None):
            raise ValueError(
                f"DifferenceSpec.other goes with against='given' and only with it; received against={self.against!r} "
                f"with other={'None' if self.other is None else 'a model'}. Give both or neither."
            )
        _ = self.pair

    @property
    def pair(self) -> tuple[ModelSpec, ModelSpec]:
        """(A, B)."""
        if self.other is not None:
            return self.model, self.other
        a, b = _CHANGES[self.against]
        return _changed(self.model, a, self.against), _changed(self.model, b, self.against)


_CHANGES: dict[str, tuple[dict[str, object], dict[str, object]]] = {
    "bfloat16 autocast": ({"autocast": "off"}, {"autocast": "bfloat16"}),
    "float16 autocast": ({"autocast": "off"}, {"autocast": "float16"}),
    "checkpoint": ({"checkpoint": "off"}, {"checkpoint": "each_block"}),
    "float64": ({}, {"dtype": "float64", "autocast": "off"}),
    "another seed": ({}, {"seed": 1}),
    "eval": ({"train": True}, {"train": False}),
}


def _changed(model: ModelSpec, changes: dict[str, object], against: str) -> ModelSpec:
    if "seed" in changes:
        changes = {"seed": (model.seed + 1) % 2**31}
    if changes.get("checkpoint") == "each_block" and not block_count(model.architecture):
        raise ValueError(
            f"DifferenceSpec.against='checkpoint' needs a model with a sequence of blocks; received "
            f"{describe(model.architecture)}. Choose another model or another comparison."
        )
    if against == "another seed" and isinstance(model.architecture, Expression):
        raise ValueError(
            "DifferenceSpec.against='another seed' needs a model that is drawn; received an expression, whose leaves "
            "are fixed numbers. Choose another model or another comparison."
        )
    return msgspec.structs.replace(model, **changes)


class FiniteDifferenceSpec(Spec[Checked], frozen=True, kw_only=True):
    """Check entries of every gradient by central differences (f(x + eps) - f(x - eps)) / (2 eps) in float64."""

    verb: ClassVar[str] = "check_gradients"
    result: ClassVar[type[Result]] = Checked

    model: ModelSpec = ModelSpec()
    entries: Annotated[int, Meta(ge=1, le=9, description="per leaf: the largest, the smallest, the rest at random")] = 3
    log10_eps: Annotated[int, Meta(ge=-12, le=-1, description="step: 10 to this power")] = -5
    log10_rtol: Annotated[int, Meta(ge=-12, le=0, description="relative error that still agrees: 10 to it")] = -4
    budget_s: Annotated[float, Meta(ge=0.1, le=40.0, description="no further entry is begun after it")] = 15.0

    @property
    def eps(self) -> float:
        return float(10.0**self.log10_eps)

    @property
    def rtol(self) -> float:
        return float(10.0**self.log10_rtol)


class AccumulationSpec(Spec[Accumulated], frozen=True, kw_only=True):
    """One large batch against the same examples in `micro_batches`, gradients accumulated over several backward()."""

    verb: ClassVar[str] = "accumulate_gradients"
    result: ClassVar[type[Result]] = Accumulated

    model: ModelSpec = ModelSpec(batch=8, loss="mean")
    micro_batches: Annotated[int, Meta(ge=1, le=64, description="backward() calls before a step")] = 4

    def __post_init__(self) -> None:
        check_ranges(self)
        if isinstance(self.model.architecture, Expression):
            raise ValueError(
                "AccumulationSpec.model needs examples to divide; received an expression, whose leaves have no batch. "
                "Choose a network."
            )
        if self.micro_batches > self.model.batch:
            raise ValueError(
                f"AccumulationSpec.micro_batches must not exceed the batch of {self.model.batch}; received "
                f"{self.micro_batches}. Enlarge batch (under Run) or use fewer micro-batches."
            )


class ClippingSpec(Spec[Clipped], frozen=True, kw_only=True):
    """clip_grad_norm_ and clip_grad_value_ on the gradients of `model`, the loss first multiplied by `loss_scale`."""

    verb: ClassVar[str] = "clip_gradients"
    result: ClassVar[type[Result]] = Clipped

    model: ModelSpec = ModelSpec()
    max_norm: Annotated[float, Meta(ge=0.0, le=1e6)] = 1.0
    norm_type: Literal["1", "2", "inf"] = "2"
    clip_value: Annotated[float, Meta(ge=0.0, le=1e6)] = 0.5
    loss_scale: Annotated[float, Meta(ge=0.0, le=1e6, description="the loss is multiplied by it")] = 1.0
    poison: Literal["nothing", "nan", "inf"] = "nothing"
    """Written into the first element of the first gradient before clipping."""
    error_if_nonfinite: bool = False


class ZeroGradSpec(Spec[Stepped], frozen=True, kw_only=True):
    """A step, then zero_grad in three ways, then (after another backward or without) a second step."""

    verb: ClassVar[str] = "step_after_zero_grad"
    result: ClassVar[type[Result]] = Stepped

    model: ModelSpec = ModelSpec()
    optimizer: Literal["SGD", "Adam", "AdamW", "RMSprop"] = "AdamW"
    learning_rate: Annotated[float, Meta(ge=0.0, le=100.0)] = 0.01
    momentum: Annotated[float, Meta(ge=0.0, le=1.0, description="of SGD and RMSprop")] = 0.9
    weight_decay: Annotated[float, Meta(ge=0.0, le=100.0)] = 0.01
    backward_again: Annotated[bool, Meta(description="run backward between zero_grad and the second step")] = False

    limits: ClassVar[Limits] = Limits()
