"""What can be asked about sparse tensors; what comes back is in `results`."""

from __future__ import annotations

import math
from typing import Annotated, ClassVar, Literal

from msgspec import Meta

from engine.runner.contract import Limits, Result, Spec, check_ranges
from engine.sparse.matrix import LAYOUTS, LayoutName, Matrix
from engine.sparse.results import EmbeddingGrad, Invariants, MatmulTiming, SparseTrace, Supports, Unchecked, Weights

Corruption = Literal[
    "index out of range",
    "negative index",
    "unsorted indices",
    "duplicate index",
    "first pointer not 0",
    "last pointer not nnz",
    "pointers not monotonic",
    "one pointer missing",
    "one value missing",
    "one value too many dimensions",
    "float indices",
    "int32 mixed with int64",
    "called coalesced",
]
ProbeDtype = Literal["float32", "float64", "bfloat16", "complex64", "int64", "bool"]
WeighedDtype = Literal["float32", "float64", "float16", "bfloat16", "complex64", "int8", "int64", "bool"]

MAXIMUM_DENSITIES = 16


class SparseSpec(Spec[SparseTrace], frozen=True, kw_only=True):
    """Build the matrix, convert it to every layout and read the arrays."""

    verb: ClassVar[str] = "trace_sparse"
    result: ClassVar[type[Result]] = SparseTrace

    matrix: Matrix = Matrix()


class InvariantsSpec(Spec[Invariants], frozen=True, kw_only=True):
    """Break every invariant of `layout` in turn and construct it with `check_invariants=True`.

    `corruption` is the one that is looked at: its arrays are drawn and scripted, the result has all of them.
    """

    verb: ClassVar[str] = "check_invariants"
    result: ClassVar[type[Result]] = Invariants

    matrix: Matrix = Matrix()
    layout: LayoutName = "csr"
    corruption: Corruption = "index out of range"


class UncheckedSpec(Spec[Unchecked], frozen=True, kw_only=True):
    """Break one invariant and read the tensor without any check: PyTorch may read or write foreign memory and crash."""

    verb: ClassVar[str] = "read_unchecked"
    result: ClassVar[type[Result]] = Unchecked
    limits: ClassVar[Limits] = Limits(wall_s=10.0, cpu_s=10)

    matrix: Matrix = Matrix()
    layout: LayoutName = "csr"
    corruption: Corruption = "index out of range"


class SupportSpec(Spec[Supports], frozen=True, kw_only=True):
    """Try every operation of the list on a small matrix in each of `layouts`.

    Asked with one layout at a time, a crash costs the answers of that layout only.
    """

    verb: ClassVar[str] = "probe_support"
    result: ClassVar[type[Result]] = Supports

    layouts: tuple[LayoutName, ...] = LAYOUTS
    dtype: ProbeDtype = "float32"

    def __post_init__(self) -> None:
        check_ranges(self)
        _check_layouts(self)


class WeightsSpec(Spec[Weights], frozen=True, kw_only=True):
    """Weigh every layout at a ladder of densities, and find where it stops being smaller than dense."""

    verb: ClassVar[str] = "weigh_layouts"
    result: ClassVar[type[Result]] = Weights

    rows: Annotated[int, Meta(ge=1, le=1024)] = 256
    columns: Annotated[int, Meta(ge=1, le=1024)] = 256
    dtype: WeighedDtype = "float32"
    index_dtype: Literal["int64", "int32"] = "int64"
    block: Annotated[int, Meta(ge=1, le=64, description="block layouts cut it into block x block")] = 4
    clustered: bool = False
    """Fill whole blocks one after the other instead of cells at random."""
    seed: Annotated[int, Meta(ge=0, le=2**31 - 1)] = 0


class MatmulTimingSpec(Spec[MatmulTiming], frozen=True, kw_only=True):
    """Time `sparse @ dense` in each layout against `dense @ dense` over the densities."""

    verb: ClassVar[str] = "time_matmul"
    result: ClassVar[type[Result]] = MatmulTiming
    measured: ClassVar[bool] = True
    limits: ClassVar[Limits] = Limits(wall_s=180.0, cpu_s=240)

    size: Annotated[int, Meta(ge=16, le=2048, description="the sparse matrix is size x size")] = 1024
    right_columns: Annotated[int, Meta(ge=0, le=1024, description="columns of the right operand; 0 is a vector")] = 64
    densities: tuple[float, ...] = (0.001, 0.003, 0.01, 0.03, 0.1, 0.2, 0.3, 0.5)
    layouts: tuple[LayoutName, ...] = ("csr", "coo")
    dtype: Literal["float32", "float64"] = "float32"
    block: Annotated[int, Meta(ge=1, le=64)] = 16
    rounds: Annotated[int, Meta(ge=5, le=51)] = 11
    threads: Annotated[int, Meta(ge=1, le=2)] = 1
    seed: Annotated[int, Meta(ge=0, le=2**31 - 1)] = 0

    def __post_init__(self) -> None:
        check_ranges(self)
        _check_densities(self.densities)
        _check_layouts(self)


def _check_densities(densities: tuple[float, ...]) -> None:
    wrong = [d for d in densities if isinstance(d, bool) or not isinstance(d, int | float) or not 0.0 < d <= 1.0]
    if wrong or not 1 <= len(densities) <= MAXIMUM_DENSITIES or list(densities) != sorted(set(densities)):
        raise ValueError(
            f"MatmulTimingSpec.densities must be 1 to {MAXIMUM_DENSITIES} rising numbers above 0 and up to 1; received "
            f"{densities!r}. Write them as (0.01, 0.1, 0.5)."
        )


def _check_layouts(spec: SupportSpec | MatmulTimingSpec) -> None:
    layouts = spec.layouts
    if not layouts or len(set(layouts)) != len(layouts) or not set(layouts) <= set(LAYOUTS):
        raise ValueError(
            f"{type(spec).__name__}.layouts must be some of {', '.join(LAYOUTS)}, each once; received {layouts!r}. "
            f"Choose at least one."
        )


class EmbeddingGradSpec(Spec[EmbeddingGrad], frozen=True, kw_only=True):
    """Backward through an embedding with `sparse=True` and with `sparse=False`, and which optimizer takes what.

    The loss is the sum over lookups of (10 ** position % 3) times the row, so that summed rows can be told apart.
    """

    verb: ClassVar[str] = "trace_embedding_grad"
    result: ClassVar[type[Result]] = EmbeddingGrad

    num_embeddings: Annotated[int, Meta(ge=1, le=200_000)] = 5
    embedding_dim: Annotated[int, Meta(ge=1, le=256)] = 2
    lookups: Literal["typed", "random", "power law"] = "typed"
    indices: tuple[int, ...] = (1, 3, 1)
    batch: Annotated[int, Meta(ge=1, le=16_384, description="lookups when they are drawn")] = 256
    seed: Annotated[int, Meta(ge=0, le=2**31 - 1)] = 0

    def __post_init__(self) -> None:
        check_ranges(self)
        if self.lookups == "typed":
            _check_indices(self.indices, self.num_embeddings)


def _check_indices(indices: tuple[int, ...], rows: int) -> None:
    wrong = [i for i in indices if isinstance(i, bool) or not isinstance(i, int) or not 0 <= i < rows]
    if wrong or not 1 <= len(indices) <= 512:
        raise ValueError(
            f"EmbeddingGradSpec.indices must be 1 to 512 whole numbers from 0 to {rows - 1}; received "
            f"{(wrong or indices)[:8]!r}. Choose rows that the table has, or raise num_embeddings."
        )


def density_ladder(cells: int, steps: int = 13) -> tuple[int, ...]:
    """Numbers of entries from one to all cells, evenly spread on a logarithmic scale, each once."""
    spread = {round(math.exp(math.log(cells) * step / (steps - 1))) for step in range(steps)}
    return tuple(sorted(min(max(nnz, 1), cells) for nnz in spread))
