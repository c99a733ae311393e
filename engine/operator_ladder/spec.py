"""What can be asked of a compiled operator: its ladder, the machine's roofline, a size sweep, PyTorch's own checks."""

from __future__ import annotations

from typing import Annotated, ClassVar

from msgspec import Meta

from engine.operator_ladder.catalogue import CATALOGUE
from engine.operator_ladder.formulas import ITEM_BYTES, value_of
from engine.operator_ladder.results import OperatorChecks, OperatorLadder, OperatorSweep, Roofline
from engine.operator_ladder.row import Cost, LadderDtype, Row, Work
from engine.runner.contract import GIBIBYTE, Limits, Need, Result, Spec

MOST_ELEMENTS = 1 << 25
"""Of the largest tensor: 128 MiB in float32."""
MOST_MULTIPLICATIONS = 1 << 33
"""rows * columns * inner of a matrix product: half a second at 35 GFLOP/s."""

Rounds = Annotated[int, Meta(ge=5, le=101)]
Threads = Annotated[int, Meta(ge=1, le=2)]
Seed = Annotated[int, Meta(ge=0, le=2**31 - 1)]
Size = Annotated[int, Meta(ge=1, le=65_536)]


class _Ladder(Spec[OperatorLadder], frozen=True, kw_only=True):
    """One operator at one size; `inner` is used by matrix products alone. `left_out` names rungs not to measure.

    `is_reference` tells that nothing is compiled on this machine, so that results are kept apart from compiled ones.
    """

    operator: str = "gelu_tanh"
    rows: Size = 1024
    columns: Size = 1024
    inner: Size = 1
    dtype: LadderDtype = "float32"
    work: Work = "forward + backward"
    threads: Threads = 1
    left_out: tuple[str, ...] = ()
    is_reference: bool = False
    rounds: Rounds = 15
    seed: Seed = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_call(self.operator, self.sizes, self.dtype, self.work)
        check_rungs(self.row, self.left_out)

    @property
    def row(self) -> Row:
        return CATALOGUE[self.operator]

    @property
    def sizes(self) -> tuple[int, int, int]:
        return self.rows, self.columns, self.inner


class OperatorLadderSpec(_Ladder, frozen=True, kw_only=True):
    """Measure every rung that needs no compiler while it is measured."""

    verb: ClassVar[str] = "measure_operator_ladder"
    result: ClassVar[type[Result]] = OperatorLadder
    measured: ClassVar[bool] = True
    limits: ClassVar[Limits] = Limits(wall_s=120.0, cpu_s=240, memory_bytes=6 * GIBIBYTE)


class CompiledOperatorLadderSpec(_Ladder, frozen=True, kw_only=True):
    """Measure every rung and torch.compile, which starts a C++ compiler."""

    verb: ClassVar[str] = "measure_compiled_operator_ladder"
    result: ClassVar[type[Result]] = OperatorLadder
    measured: ClassVar[bool] = True
    needs: ClassVar[frozenset[Need]] = frozenset({"compiler"})
    limits: ClassVar[Limits] = Limits(wall_s=300.0, cpu_s=500, memory_bytes=8 * GIBIBYTE)


class RooflineSpec(Spec[Roofline], frozen=True, kw_only=True):
    """Measure what this machine can move (copies and in place, by size) and compute, the same way rungs are."""

    verb: ClassVar[str] = "measure_roofline"
    result: ClassVar[type[Result]] = Roofline
    measured: ClassVar[bool] = True
    limits: ClassVar[Limits] = Limits(wall_s=90.0, cpu_s=120, memory_bytes=3 * GIBIBYTE)

    dtype: LadderDtype = "float32"
    threads: Threads = 1
    rounds: Rounds = 9


class OperatorSweepSpec(Spec[OperatorSweep], frozen=True, kw_only=True):
    """Measure the rungs at `points` sizes from `smallest` to `largest`, evenly apart on a log scale.

    A size is rows and columns (and inner) alike; of an optimizer step the elements of each of `tensors` tensors.
    """

    verb: ClassVar[str] = "sweep_operator"
    result: ClassVar[type[Result]] = OperatorSweep
    measured: ClassVar[bool] = True
    limits: ClassVar[Limits] = Limits(wall_s=150.0, cpu_s=300, memory_bytes=6 * GIBIBYTE)

    operator: str = "gelu_tanh"
    smallest: Annotated[int, Meta(ge=1, le=4096)] = 8
    largest: Annotated[int, Meta(ge=2, le=4096)] = 2048
    points: Annotated[int, Meta(ge=2, le=12)] = 9
    first: str = "built-in"
    second: str = "atlas avx2"
    dtype: LadderDtype = "float32"
    work: Work = "forward + backward"
    threads: Threads = 1
    tensors: Annotated[int, Meta(ge=1, le=1000)] = 100
    rounds: Annotated[int, Meta(ge=5, le=31)] = 7
    seed: Seed = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_operator(self.operator)
        if self.smallest >= self.largest:
            raise ValueError(
                f"smallest must be below largest, {self.largest}; received {self.smallest}. Widen the sweep."
            )
        check_call(self.operator, self.shape_at(self.largest), self.dtype, self.work)
        for field in ("first", "second"):
            if getattr(self, field) not in self.row.rungs:
                raise ValueError(
                    f"{field} must be a rung of {self.operator}; received {getattr(self, field)[:40]!r}. "
                    f"Choose one of {', '.join(self.row.rungs)}."
                )
        if self.first == self.second:
            raise ValueError(f"second must be another rung than first; received {self.second!r}. Choose two.")

    @property
    def row(self) -> Row:
        return CATALOGUE[self.operator]

    def shape_at(self, size: int) -> tuple[int, int, int]:
        """(rows, columns, inner) at one size of the sweep."""
        return (self.tensors if self.row.is_step else size, size, size if self.row.sizes[2] else 1)

    def sizes(self) -> tuple[int, ...]:
        """Distinct whole sizes in rising order; fewer than `points` where they would coincide."""
        growth = (self.largest / self.smallest) ** (1 / (self.points - 1))
        return tuple(sorted({round(self.smallest * growth**number) for number in range(self.points)}))


class OperatorChecksSpec(Spec[OperatorChecks], frozen=True, kw_only=True):
    """Run torch.library.opcheck, gradcheck and gradgradcheck on an operator, at a size small enough for them."""

    verb: ClassVar[str] = "check_operator"
    result: ClassVar[type[Result]] = OperatorChecks
    limits: ClassVar[Limits] = Limits(wall_s=120.0, cpu_s=120)

    operator: str = "gelu_tanh"
    seed: Seed = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_operator(self.operator)


def check_operator(operator: str) -> None:
    """Raise ValueError for an operator the catalogue has no row of."""
    if operator not in CATALOGUE:
        raise ValueError(
            f"The operator must be in the catalogue; received {operator[:40]!r}. Choose one of {', '.join(CATALOGUE)}."
        )


def check_call(operator: str, sizes: tuple[int, int, int], dtype: LadderDtype, work: Work) -> None:
    """Raise ValueError for a call that does not exist or would be too large."""
    check_operator(operator)
    row, (rows, columns, inner) = CATALOGUE[operator], sizes
    largest = max(rows * columns, *((rows * inner, inner * columns) if row.sizes[2] else ()), 1)
    if largest > MOST_ELEMENTS:
        raise ValueError(
            f"rows * columns must be at most {MOST_ELEMENTS:,} elements a tensor; received {largest:,}. "
            f"Choose fewer rows or columns."
        )
    if row.sizes[2] and rows * columns * inner > MOST_MULTIPLICATIONS:
        raise ValueError(
            f"rows * columns * inner must be at most {MOST_MULTIPLICATIONS:,}; received "
            f"{rows * columns * inner:,}. Choose smaller matrices."
        )
    if dtype not in row.dtypes:
        raise ValueError(
            f"The dtype of {operator} must be one of {', '.join(row.dtypes)}; received {dtype!r}. Choose one of these."
        )
    if work != "forward" and row.backward is None:
        raise ValueError(f"The work of {operator} must be 'forward': it has no backward; received {work!r}.")


def check_rungs(row: Row, left_out: tuple[str, ...]) -> None:
    """Raise ValueError for an unknown rung, or where fewer than two are left to compare."""
    unknown = [rung for rung in left_out if rung not in row.rungs]
    if unknown:
        raise ValueError(
            f"Rungs left out must be those of {row.operator}; received {unknown[0][:40]!r}. "
            f"Choose among {', '.join(row.rungs)}."
        )
    if len(set(row.rungs) - set(left_out)) < 2:
        raise ValueError(
            f"At least two rungs are needed to compare; received {len(set(row.rungs) - set(left_out))} of "
            f'{len(row.rungs)}. Choose another one in "rungs", under "Measuring".'
        )


AnyLadderSpec = OperatorLadderSpec | CompiledOperatorLadderSpec


def flops_of(spec: AnyLadderSpec | OperatorSweepSpec, sizes: tuple[int, int, int]) -> int:
    """Operations on numbers of one call, by the row's formulas."""
    return sum(value_of(cost.flops_formula, named_sizes(sizes, spec.dtype)) for cost in _costs(spec.row, spec.work))


def least_bytes_of(spec: AnyLadderSpec | OperatorSweepSpec, sizes: tuple[int, int, int]) -> int:
    """Bytes of one call when every input is read and every result written once, by the row's formulas."""
    return sum(value_of(cost.moved, named_sizes(sizes, spec.dtype)) for cost in _costs(spec.row, spec.work))


def formulas_of(row: Row, work: Work) -> tuple[str, str]:
    """(bytes, operations) as they are shown."""
    costs = _costs(row, work)
    return " + ".join(cost.moved for cost in costs), " + ".join(cost.flops_formula for cost in costs)


def named_sizes(sizes: tuple[int, int, int], dtype: LadderDtype) -> dict[str, int]:
    """What the formulas name."""
    return dict(zip(("rows", "columns", "inner"), sizes, strict=True)) | {"item": ITEM_BYTES[dtype]}


def _costs(row: Row, work: Work) -> tuple[Cost, ...]:
    return (row.forward,) if work == "forward" or row.backward is None else (row.forward, row.backward)
