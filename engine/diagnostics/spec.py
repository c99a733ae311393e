"""What can be asked about a missing, zero or non-finite gradient."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import msgspec
from msgspec import Meta

from engine.diagnostics.catalogue import ProgramName
from engine.diagnostics.results import DetectorCost, Diagnosis
from engine.models.shape import describe, parameter_groups
from engine.models.spec import ModelSpec
from engine.runner.contract import Limits, Result, Spec, check_ranges

__all__ = ["DetectorSpec", "DiagnosisSpec", "Fault", "Injection", "ProgramSpec"]

Injection = Literal[
    "nothing",
    "scale input",
    "scale weights",
    "zero input",
    "zero weights",
    "NaN in a parameter",
    "inf in the input",
    "bias of -1e4",
    "a layer in float64",
]
After = Literal["nothing", "zero_grad()", "zero_grad(set_to_none=False)"]

OF_WEIGHTS: frozenset[str] = frozenset(
    {"scale weights", "zero weights", "NaN in a parameter", "bias of -1e4", "a layer in float64"}
)
"""Injections into the parameters of one group; the others are into the input."""


class Fault(msgspec.Struct, frozen=True, kw_only=True):
    """What is made wrong on purpose before the forward: 10**`exponent` scales; `group` is a parameter group."""

    kind: Injection = "nothing"
    exponent: Annotated[int, Meta(ge=-40, le=40, description="scaled by 10 to this power")] = 20
    group: str = ""
    """A module path as in ModelSpec.frozen; "" is the whole model, of which the first parameter gets the NaN."""

    def __post_init__(self) -> None:
        check_ranges(self)


class DiagnosisSpec(Spec[Diagnosis], frozen=True, kw_only=True):
    """One forward and backward of `model`, watched: why is each .grad what it is, and where did a NaN start?"""

    verb: ClassVar[str] = "diagnose_model"
    result: ClassVar[type[Result]] = Diagnosis
    limits: ClassVar[Limits] = Limits()

    model: ModelSpec = ModelSpec()
    fault: Fault = Fault()
    retain_grad: bool = False
    """Call retain_grad() on what every module returns."""
    example_hooks: bool = False
    """Register one hook of every kind before the forward."""
    after: After = "nothing"
    """What the training loop does after backward and before anybody looks at .grad."""

    def __post_init__(self) -> None:
        check_ranges(self)
        groups = parameter_groups(self.model.architecture)
        if self.fault.group and self.fault.group not in groups:
            raise ValueError(
                f"Fault.group names a parameter group of {describe(self.model.architecture)}; received "
                f"{self.fault.group[:60]!r}. Choose among {', '.join(groups[:12]) or 'none: it has no parameters'}."
            )


class ProgramSpec(Spec[Diagnosis], frozen=True, kw_only=True):
    """The same for one of the small programs that go wrong, or with `mended` for its corrected form."""

    verb: ClassVar[str] = "diagnose_program"
    result: ClassVar[type[Result]] = Diagnosis

    program: ProgramName = "where_nan"
    mended: bool = False


class DetectorSpec(Spec[DetectorCost], frozen=True, kw_only=True):
    """What it costs to look for a NaN: nothing, only at the end, at every operation, or with anomaly mode."""

    verb: ClassVar[str] = "compare_detectors"
    result: ClassVar[type[Result]] = DetectorCost
    measured: ClassVar[bool] = True

    model: ModelSpec = ModelSpec()
    rounds: Annotated[int, Meta(ge=5, le=51, description="interleaved rounds")] = 15
