"""What can be asked of in-place operations: a program, a family of programs side by side, an optimizer's update."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from msgspec import Meta

from engine.in_place.language import parse_program
from engine.in_place.results import Fix, Outcome, ProgramRun, Update
from engine.runner.contract import Limits, Result, Spec, check_ranges

__all__ = ["Family", "FamilyName", "FamilySpec", "ProgramSpec", "Traced", "UpdateSpec", "Updated"]

DEFAULT_PROGRAM = """\
x = tensor([0.0, 1.0, 2.0], requires_grad=True)
s = sigmoid(x)
t = x + 1
t.mul_(5)
s.add_(1)
(s + t).sum().backward()
"""

Seed = Annotated[int, Meta(ge=0, le=1_000_000, description="torch.manual_seed before the first statement")]


class Traced(Result, frozen=True, kw_only=True):
    """A program run statement by statement, and where it breaks the corrected program, run as well.

    `fix` is None where nothing breaks, or where no rule gave a program that runs and computes the same values.
    """

    run: ProgramRun
    fix: Fix | None = None


class ProgramSpec(Spec[Traced], frozen=True, kw_only=True):
    """Run the statements of `program` (language.py) in order until one raises; then look for a correction."""

    verb: ClassVar[str] = "trace_program"
    result: ClassVar[type[Result]] = Traced
    limits: ClassVar[Limits] = Limits(wall_s=30.0, cpu_s=30)

    program: str = DEFAULT_PROGRAM
    seed: Seed = 0

    def __post_init__(self) -> None:
        check_ranges(self)
        parse_program(self.program)


FamilyName = Literal[
    "update of a leaf", "views", "no_grad, detach, data", "what operations save", "modules", "inference mode"
]


class Family(Result, frozen=True, kw_only=True):
    """The outcome of every program of a family, in the order of `FAMILIES[name]`."""

    outcomes: tuple[Outcome, ...]


class FamilySpec(Spec[Family], frozen=True, kw_only=True):
    """Run small programs that differ in one statement, side by side."""

    verb: ClassVar[str] = "compare_programs"
    result: ClassVar[type[Result]] = Family
    limits: ClassVar[Limits] = Limits(wall_s=30.0, cpu_s=30)

    name: FamilyName = "views"


class Updated(Result, frozen=True, kw_only=True):
    """The same gradient step in several forms; `largest_difference` is between their new parameters."""

    updates: tuple[Update, ...]
    parameter_bytes: int
    largest_difference: float


class UpdateSpec(Spec[Updated], frozen=True, kw_only=True):
    """One step of gradient descent over `tensors` parameters of `width` x `width`, `steps` times, in every form."""

    verb: ClassVar[str] = "compare_updates"
    result: ClassVar[type[Result]] = Updated
    limits: ClassVar[Limits] = Limits(wall_s=30.0, cpu_s=60)

    tensors: Annotated[int, Meta(ge=1, le=64, description="parameters")] = 4
    width: Annotated[int, Meta(ge=1, le=1024, description="rows and columns of each parameter")] = 64
    steps: Annotated[int, Meta(ge=1, le=20, description="updates that are counted, after one that is not")] = 1
    lr: Annotated[float, Meta(ge=0.0, le=10.0, description="learning rate")] = 0.01
    dtype: Literal["float32", "float64", "bfloat16"] = "float32"
    seed: Seed = 0
