"""What can be asked of the vectorisation ladder, and what comes back: times, agreement, nodes, bytes per rung."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import msgspec
from msgspec import Meta

from engine.runner.contract import GIBIBYTE, Limits, Need, Result, Spec
from engine.timing.spec import Comparison, Crossover, Series

Problem = Literal["weighted_row_sum", "matmul", "pairwise_distance", "outer_sum", "squared_diagonal"]
RungName = Literal["element loop", "row loop", "broadcast", "einsum", "matmul", "torch.compile", "compiled operator"]
PlainRung = Literal["element loop", "row loop", "broadcast", "einsum", "matmul"]
LadderDtype = Literal["float32", "float64", "bfloat16", "float16"]
Outcome = Literal["measured", "skipped", "failed", "not built"]
Grow = Literal["rows", "columns", "both"]

MOST_MULTIPLICATIONS = 1 << 32
"""rows * rows * columns of a matmul or pairwise distance: a quarter of a second at 35 GFLOP/s."""
NOT_WRITTEN: dict[tuple[str, str], str] = {
    ("squared_diagonal", "row loop"): "one element of each row counts, so a loop over rows is the element loop",
}
"""(problem, rung) that does not exist, and why."""
QUADRATIC: frozenset[str] = frozenset({"matmul", "pairwise_distance"})


class Rung(msgspec.Struct, frozen=True, kw_only=True):
    """One way to write the computation: whether it was measured, and what it takes.

    Errors are against the same computation in float64. `nodes` are autograd nodes behind the result when the inputs
    require grad. `flops` by the formula `flops_formula`. `traffic_bytes` adds what every dispatched operation reads
    and writes; `extra_bytes` is the most it allocates at once beyond its output. None where not known; `reason` and
    `notes` say why.
    """

    name: RungName
    outcome: Outcome
    reason: str = ""
    seconds: float | None = None
    """Median seconds per call."""
    estimated_s: float | None = None
    """Of a loop that was skipped: steps times the seconds of one, estimated on a small part."""
    steps: int | None = None
    """Times the body of the Python loop runs; None without a loop."""
    max_absolute_error: float | None = None
    max_relative_error: float | None = None
    nodes: int | None = None
    flops: int | None = None
    flops_formula: str = ""
    traffic_bytes: int | None = None
    extra_bytes: int | None = None
    cold_s: float | None = None
    """Wall seconds of the first call of compiled code: tracing and compiling, in no ratio."""
    notes: tuple[str, ...] = ()

    @property
    def flops_per_s(self) -> float | None:
        return self.flops / self.seconds if self.flops and self.seconds else None


class Ladder(Result, frozen=True, kw_only=True):
    """Every rung, and the comparison of those measured, each against the first of them in the order of the ladder.

    `input_shapes` by name; `least_bytes` reads every input and writes the output once.
    """

    rungs: tuple[Rung, ...]
    comparison: Comparison | None
    input_shapes: tuple[tuple[str, tuple[int, ...]], ...]
    output_shape: tuple[int, ...]
    least_bytes: int
    result_sum: float
    """Sum of the float64 reference, for a script to print as well."""


class _Ladder(Spec[Ladder], frozen=True, kw_only=True):
    """`columns` is not used by squared_diagonal, whose matrix is rows x rows."""

    problem: Problem = "weighted_row_sum"
    rows: Annotated[int, Meta(ge=1, le=20_000)] = 1000
    columns: Annotated[int, Meta(ge=1, le=20_000)] = 200
    dtype: LadderDtype = "float32"
    rounds: Annotated[int, Meta(ge=5, le=101)] = 15
    threads: Annotated[int, Meta(ge=1, le=2)] = 1
    seed: Annotated[int, Meta(ge=0, le=2**31 - 1)] = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_multiplications(type(self).__name__, self.problem, self.rows, self.columns)


class LadderSpec(_Ladder, frozen=True, kw_only=True):
    """Measure every rung that needs no compiler."""

    verb: ClassVar[str] = "measure_ladder"
    result: ClassVar[type[Result]] = Ladder
    measured: ClassVar[bool] = True
    limits: ClassVar[Limits] = Limits(wall_s=90.0, cpu_s=180)


class CompiledLadderSpec(_Ladder, frozen=True, kw_only=True):
    """Measure every rung and torch.compile of the broadcast one, which starts a C++ compiler."""

    verb: ClassVar[str] = "measure_compiled_ladder"
    result: ClassVar[type[Result]] = Ladder
    measured: ClassVar[bool] = True
    needs: ClassVar[frozenset[Need]] = frozenset({"compiler"})
    limits: ClassVar[Limits] = Limits(wall_s=240.0, cpu_s=400, memory_bytes=6 * GIBIBYTE)


class Sweep(Result, frozen=True, kw_only=True):
    """Time of every rung over sizes; a loop's series ends where it would take too long, which a note says.

    `crossovers` of the two rungs chosen are estimated between measured sizes.
    """

    sizes: tuple[int, ...]
    series: tuple[Series, ...]
    crossovers: tuple[Crossover, ...]
    notes: tuple[str, ...] = ()


class SweepSpec(Spec[Sweep], frozen=True, kw_only=True):
    """Measure the rungs at `points` sizes from `smallest` to `largest`, evenly apart on a log scale.

    `grow` says what the size is: the rows, the columns, or both alike; what does not grow stays as given.
    """

    verb: ClassVar[str] = "sweep_ladder"
    result: ClassVar[type[Result]] = Sweep
    measured: ClassVar[bool] = True
    limits: ClassVar[Limits] = Limits(wall_s=120.0, cpu_s=240)

    problem: Problem = "weighted_row_sum"
    grow: Grow = "both"
    smallest: Annotated[int, Meta(ge=1, le=20_000)] = 2
    largest: Annotated[int, Meta(ge=1, le=20_000)] = 1024
    points: Annotated[int, Meta(ge=2, le=16)] = 10
    rows: Annotated[int, Meta(ge=1, le=20_000)] = 256
    columns: Annotated[int, Meta(ge=1, le=20_000)] = 256
    first: PlainRung = "broadcast"
    second: PlainRung = "einsum"
    dtype: LadderDtype = "float32"
    rounds: Annotated[int, Meta(ge=5, le=31)] = 7
    threads: Annotated[int, Meta(ge=1, le=2)] = 1
    seed: Annotated[int, Meta(ge=0, le=2**31 - 1)] = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.smallest >= self.largest:
            raise ValueError(
                f"SweepSpec.smallest must be below largest, {self.largest}; received {self.smallest}. Widen the sweep."
            )
        if self.first == self.second:
            raise ValueError(
                f"SweepSpec.second must be another rung than first; received {self.second!r} twice. Choose two."
            )
        for name in ("first", "second"):
            if why := NOT_WRITTEN.get((self.problem, getattr(self, name))):
                raise ValueError(
                    f"SweepSpec.{name} must be a way {self.problem} can be written; received {getattr(self, name)!r}: "
                    f"{why}. Choose another rung."
                )
        check_multiplications("SweepSpec", self.problem, *self.shape_at(self.largest))

    def shape_at(self, size: int) -> tuple[int, int]:
        """(rows, columns) at one size of the sweep."""
        return (
            size if self.grow in ("rows", "both") else self.rows,
            size if self.grow in ("columns", "both") else self.columns,
        )

    def sizes(self) -> tuple[int, ...]:
        """Distinct whole sizes in rising order; fewer than `points` where they would coincide."""
        growth = (self.largest / self.smallest) ** (1 / (self.points - 1))
        return tuple(sorted({round(self.smallest * growth**number) for number in range(self.points)}))


def check_multiplications(kind: str, problem: Problem, rows: int, columns: int) -> None:
    """Raise ValueError for a problem with rows * rows * columns multiplications that would take too long."""
    if problem in QUADRATIC and rows * rows * columns > MOST_MULTIPLICATIONS:
        raise ValueError(
            f"{kind}.rows * rows * columns of {problem} must be at most {MOST_MULTIPLICATIONS:,}; received "
            f"{rows:,} * {rows:,} * {columns:,} = {rows * rows * columns:,}. Choose fewer rows or columns."
        )
