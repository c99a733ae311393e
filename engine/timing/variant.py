"""One side of a comparison: an operator with its operands and mode, or a step of a model."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from engine.models.spec import ModelSpec, describe
from engine.runner.contract import check_ranges
from engine.timing.catalogue import CATALOGUE, IMAGE_SIDE, Operator, multiplications

Layout = Literal["contiguous", "transposed", "strided", "channels_last"]
Dtype = Literal["float32", "float64", "bfloat16", "float16"]
OperatorWork = Literal["forward", "forward and backward"]
StepWork = Literal["forward", "forward and backward", "training step"]
Mode = Literal["grad", "no_grad", "inference_mode", "autocast bfloat16"]
Output = Literal["fresh", "reused"]

MOST_MULTIPLICATIONS = 1 << 32
"""Of one call: a quarter of a second at 35 GFLOP/s."""


class OperatorVariant(msgspec.Struct, frozen=True, kw_only=True, tag="operator"):
    """One operator of the catalogue: how large, laid out how, in which mode, written where.

    `rows` and `columns` of images are their number and their channels, of 32 x 32 pixels each. `layout` is that of the
    first operand: `transposed` is the `.t()` of a contiguous one, `strided` every second column of one twice as wide.
    `output` is a fresh tensor of every call, or one written into by `out=`.
    """

    operator: str = "gelu_tanh"
    rows: Annotated[int, Meta(ge=1, le=8192)] = 1024
    columns: Annotated[int, Meta(ge=1, le=8192)] = 512
    dtype: Dtype = "float32"
    layout: Layout = "contiguous"
    work: OperatorWork = "forward"
    mode: Mode = "no_grad"
    output: Output = "fresh"
    threads: Annotated[int, Meta(ge=1, le=2)] = 1

    def __post_init__(self) -> None:
        check_ranges(self)
        if self.operator not in CATALOGUE:
            raise ValueError(
                f"OperatorVariant.operator must be in the catalogue; received {self.operator[:40]!r}. "
                f"Choose one of {', '.join(CATALOGUE)}."
            )
        for field, complaint in complaints(self).items():
            raise ValueError(f"OperatorVariant.{field} {complaint}")

    @property
    def row(self) -> Operator:
        """Its row in the catalogue."""
        return CATALOGUE[self.operator]


class StepVariant(msgspec.Struct, frozen=True, kw_only=True, tag="step"):
    """Forward, forward and backward, or a whole training step (with SGD) of a model with its toggles."""

    model: ModelSpec = ModelSpec()
    work: StepWork = "training step"
    threads: Annotated[int, Meta(ge=1, le=2)] = 1

    def __post_init__(self) -> None:
        check_ranges(self)
        if self.work != "forward" and self.model.grad_mode != "grad" and self.model.grad_mode_block < 0:
            raise ValueError(
                f"StepVariant.work must be 'forward' for a model under {self.model.grad_mode}, which leaves nothing to "
                f"differentiate; received {self.work!r}. Choose forward, or grad_mode='grad'."
            )


Variant = OperatorVariant | StepVariant


@contextmanager
def naming(side: str) -> Iterator[None]:
    """A refusal raised inside begins with the side, "A" or "B", instead of the name of a class."""
    try:
        yield
    except ValueError as error:
        words = str(error)
        for kind in (OperatorVariant, StepVariant):
            words = words.removeprefix(f"{kind.__name__}.")
        raise ValueError(f"{side}: {words}") from error


def complaints(variant: OperatorVariant) -> dict[str, str]:
    """Field -> what is wrong with it beside the others: limit, received, remedy; {} for a variant that can run."""
    row, found = variant.row, dict[str, str]()
    if row.halves_columns and variant.columns % 2:
        found["columns"] = f"of {row.title} must be even, as it halves them; received {variant.columns}."
        found["columns"] += f" Choose {variant.columns + 1}."
    if variant.layout != "contiguous" and (variant.layout == "channels_last") != row.takes_images:
        takes = "contiguous or channels_last" if row.takes_images else "contiguous, transposed or strided"
        found["layout"] = f"of {row.code} must be {takes}; received {variant.layout!r}. Choose one of these."
    if variant.work != "forward" and not row.differentiable:
        found["work"] = f"of {row.code} must be 'forward', as it writes over its operand; received {variant.work!r}."
        found["work"] += " Choose forward."
    elif variant.work != "forward" and variant.mode in ("no_grad", "inference_mode"):
        found["work"] = f"must be 'forward' under {variant.mode}, which records no graph; received {variant.work!r}."
        found["work"] += " Choose the mode grad."
    if variant.mode in ("grad", "autocast bfloat16") and not row.differentiable:
        found["mode"] = f"of {row.code} must be no_grad or inference_mode: a leaf that requires grad cannot be written "
        found["mode"] += f"in place; received {variant.mode!r}. Choose no_grad."
    if variant.output == "reused" and (reason := why_not_reused(variant)):
        found["output"] = f"must be 'fresh': {reason}; received 'reused'. Choose fresh."
    if (most := multiplications(row.operands, variant.rows, variant.columns)) > MOST_MULTIPLICATIONS:
        found["rows"] = f"and columns of {row.code} must need at most {MOST_MULTIPLICATIONS:,} multiplications; "
        found["rows"] += (
            f"received {variant.rows:,} and {variant.columns:,}, which need {most:,}. Choose fewer rows or columns."
        )
    return found


def why_not_reused(variant: OperatorVariant) -> str:
    """Why a result cannot be written into a tensor of our own, "" where it can."""
    if not variant.row.out:
        return f"{variant.row.code} takes no out="
    if variant.mode not in ("no_grad", "inference_mode"):
        return "out= does not support automatic differentiation"
    return ""


def describe_variant(variant: Variant) -> str:
    """In words, as a title says it: what runs, and every setting that is not the usual one."""
    if isinstance(variant, StepVariant):
        return ", ".join([variant.work, describe(variant.model.architecture), *_toggles(variant), *_threads(variant)])
    usual = ("float32", "contiguous", "forward", "fresh")
    settings: list[str] = [variant.dtype, variant.layout, variant.work, variant.mode]
    settings += ["reused output"] if variant.output == "reused" else []
    shown = [word for word in settings if word not in usual]
    return ", ".join([variant.row.title, _sizes(variant), *shown, *_threads(variant)])


def _sizes(variant: OperatorVariant) -> str:
    if not variant.row.takes_images:
        return f"{variant.rows}×{variant.columns}"
    return f"N {variant.rows}, C {variant.columns}, H {IMAGE_SIDE}, W {IMAGE_SIDE}"


def _threads(variant: Variant) -> list[str]:
    return [f"{variant.threads} threads"] if variant.threads > 1 else []


def _toggles(variant: StepVariant) -> list[str]:
    """The toggles that are not at their default, as one would type them."""
    model, usual = variant.model, ModelSpec()
    names = [name for name in ModelSpec.__struct_fields__ if name not in ("architecture", "seed")]
    return [f"{name}={getattr(model, name)}" for name in names if getattr(model, name) != getattr(usual, name)]
