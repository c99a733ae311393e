"""What can be asked of the clock: two variants, the same over sizes, compiled, and what a fresh output costs."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from msgspec import Meta

from engine.runner.contract import GIBIBYTE, Limits, Need, Result, Spec
from engine.timing.catalogue import CATALOGUE
from engine.timing.comparison import RESOLUTION, Comparison, Crossover, Ratio, Series, Usage
from engine.timing.results import Allocations, Timing, TimingSweep
from engine.timing.variant import OperatorVariant, StepVariant, Variant

__all__ = [
    "RESOLUTION",
    "AllocationSpec",
    "Comparison",
    "CompiledTimingSpec",
    "Crossover",
    "Ratio",
    "Series",
    "TimingSpec",
    "TimingSweepSpec",
    "Usage",
]

Rounds = Annotated[int, Meta(ge=5, le=101)]
Seed = Annotated[int, Meta(ge=0, le=2**31 - 1)]
Grow = Literal["rows", "columns", "both"]


class _Pair(Spec[Timing], frozen=True, kw_only=True):
    """Two variants; they share their operands where these are alike."""

    a: Variant = OperatorVariant()
    b: Variant = OperatorVariant(operator="gelu_composed")
    rounds: Rounds = 25
    warm_up_rounds: Annotated[int, Meta(ge=0, le=20, description="recorded, in no ratio")] = 3
    seed: Seed = 0


class TimingSpec(_Pair, frozen=True, kw_only=True):
    """Measure two variants against each other, and how far their results are apart."""

    verb: ClassVar[str] = "measure_timing"
    result: ClassVar[type[Result]] = Timing
    measured: ClassVar[bool] = True
    limits: ClassVar[Limits] = Limits(wall_s=120.0, cpu_s=240, memory_bytes=6 * GIBIBYTE)


class CompiledTimingSpec(_Pair, frozen=True, kw_only=True):
    """The same with torch.compile on one side or on both, which starts a C++ compiler."""

    verb: ClassVar[str] = "measure_compiled_timing"
    result: ClassVar[type[Result]] = Timing
    measured: ClassVar[bool] = True
    needs: ClassVar[frozenset[Need]] = frozenset({"compiler"})
    limits: ClassVar[Limits] = Limits(wall_s=300.0, cpu_s=500, memory_bytes=8 * GIBIBYTE)

    compiled: Literal["b", "a", "both"] = "b"


class TimingSweepSpec(Spec[TimingSweep], frozen=True, kw_only=True):
    """Measure both variants at `points` sizes from `smallest` to `largest`, evenly apart on a log scale.

    `grow` says what the size of an operator is: rows, columns, or both alike. The size of a model's step is its batch.
    """

    verb: ClassVar[str] = "sweep_timing"
    result: ClassVar[type[Result]] = TimingSweep
    measured: ClassVar[bool] = True
    limits: ClassVar[Limits] = Limits(wall_s=150.0, cpu_s=300, memory_bytes=6 * GIBIBYTE)

    a: Variant = OperatorVariant()
    b: Variant = OperatorVariant(operator="gelu_composed")
    grow: Grow = "both"
    smallest: Annotated[int, Meta(ge=1, le=4096)] = 4
    largest: Annotated[int, Meta(ge=2, le=4096)] = 1024
    points: Annotated[int, Meta(ge=2, le=12)] = 7
    rounds: Annotated[int, Meta(ge=5, le=31)] = 9
    seed: Seed = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.smallest >= self.largest:
            raise ValueError(
                f"TimingSweepSpec.smallest must be below largest, {self.largest}; received {self.smallest}. "
                f"Widen the sweep."
            )
        if isinstance(self.a, StepVariant) != isinstance(self.b, StepVariant):
            raise ValueError(
                "TimingSweepSpec.a and b must be of one kind, as rows and a batch are no common size; received an "
                "operator and a model. Choose two operators or two models."
            )

    def sizes(self) -> tuple[int, ...]:
        """Distinct whole sizes in rising order; fewer than `points` where they would coincide."""
        growth = (self.largest / self.smallest) ** (1 / (self.points - 1))
        return tuple(sorted({round(self.smallest * growth**number) for number in range(self.points)}))


class AllocationSpec(Spec[Allocations], frozen=True, kw_only=True):
    """Measure an operator with a fresh output of every call against one that is reused, over output sizes."""

    verb: ClassVar[str] = "measure_allocation"
    result: ClassVar[type[Result]] = Allocations
    measured: ClassVar[bool] = True
    limits: ClassVar[Limits] = Limits(wall_s=120.0, cpu_s=240)

    operator: str = "add_number"
    smallest_mib: Annotated[int, Meta(ge=1, le=128)] = 4
    largest_mib: Annotated[int, Meta(ge=2, le=256)] = 64
    points: Annotated[int, Meta(ge=2, le=12, description="beside two sizes close around 32 MiB")] = 5
    dtype: Literal["float32", "float64", "bfloat16"] = "float32"
    rounds: Annotated[int, Meta(ge=5, le=51)] = 9
    seed: Seed = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.operator not in ALLOCATING:
            raise ValueError(
                f"AllocationSpec.operator must be elementwise and take out=; received {self.operator[:40]!r}. "
                f"Choose one of {', '.join(ALLOCATING)}."
            )
        if self.smallest_mib >= self.largest_mib:
            raise ValueError(
                f"AllocationSpec.smallest_mib must be below largest_mib, {self.largest_mib}; received "
                f"{self.smallest_mib}. Widen the range."
            )

    def sizes_mib(self) -> tuple[int, ...]:
        """Whole MiB in rising order, 31 and 33 among them where they lie inside."""
        growth = (self.largest_mib / self.smallest_mib) ** (1 / (self.points - 1))
        even = {round(self.smallest_mib * growth**number) for number in range(self.points)}
        around = {size for size in AROUND_MIB if self.smallest_mib <= size <= self.largest_mib}
        return tuple(sorted((even | around) - {32}))


AROUND_MIB = (31, 33)
"""Either side of the largest threshold that glibc's malloc moves to by itself (mallopt(3), M_MMAP_THRESHOLD)."""
ALLOCATING: tuple[str, ...] = tuple(
    name for name, row in CATALOGUE.items() if row.out and row.operands in ("x", "x, y") and name != "softmax"
)
