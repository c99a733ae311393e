"""What the sparse questions come back as: the arrays PyTorch keeps, its answers, its refusals."""

from __future__ import annotations

from typing import Literal

import msgspec

from engine.pytorch_said import PyTorchSaid
from engine.runner.contract import Result
from engine.sparse.entries import Entry
from engine.sparse.matrix import LayoutName
from engine.timing.spec import Comparison


class Member(msgspec.Struct, frozen=True):
    """One array of a sparse tensor, row-major: whole numbers in `numbers` for indices, else text in `texts`.

    `bytes` is `nbytes` of the array, `storage_bytes` that of the storage it lies in, which may hold more.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    bytes: int
    storage_bytes: int
    numbers: tuple[int, ...] = ()
    texts: tuple[str, ...] = ()


class Fact(msgspec.Struct, frozen=True):
    """What an expression about the tensor answered, or the error it raised."""

    expression: str
    answer: str
    error: PyTorchSaid | None = None


class LayoutArrays(msgspec.Struct, frozen=True, kw_only=True):
    """The matrix in one layout: its arrays, `_nnz()` (blocks in a block layout), and what it says of itself.

    `bytes` is the sum over the arrays; `held_bytes` that of the storages they keep alive, more where an array is
    a view of a larger one. `equals_dense` is whether `to_dense()` is the dense matrix. After an `error`
    (the conversion was refused) everything else is empty.
    """

    layout: LayoutName
    members: tuple[Member, ...] = ()
    nnz: int | None = None
    stored: int = 0
    """Values kept, padding zeros of blocks included."""
    bytes: int = 0
    held_bytes: int = 0
    is_coalesced: bool | None = None
    equals_dense: bool | None = None
    facts: tuple[Fact, ...] = ()
    warnings: tuple[str, ...] = ()
    error: PyTorchSaid | None = None

    def member(self, name: str) -> Member:
        """The array of that name, as in "crow_indices"; KeyError when this layout has none."""
        for member in self.members:
            if member.name == name:
                return member
        raise KeyError(name)


class Coalesce(msgspec.Struct, frozen=True, kw_only=True):
    """A COO tensor before and after `coalesce()`; `summed[i]` are the raw entries that became entry i.

    `values_error` is what `values()` says before. `square_of_values` are the raw values squared, `square` the values of
    `(s * s).coalesce()`: they differ where entries share a place. `sum_nnz` is the nnz of `s + s`.
    """

    before: LayoutArrays
    after: LayoutArrays
    summed: tuple[tuple[int, ...], ...]
    values_error: PyTorchSaid | None
    square_of_values: tuple[str, ...]
    square: tuple[str, ...]
    square_error: PyTorchSaid | None
    sum_nnz: int | None
    sum_error: PyTorchSaid | None


class SparseTrace(Result, frozen=True, kw_only=True):
    """One matrix in every layout, beside the dense tensor of the same values."""

    shape: tuple[int, ...]
    dense: Member
    nonzeros: int
    entries: tuple[Entry, ...]
    """What the COO tensor was built from, in order; values as real numbers."""
    layouts: tuple[LayoutArrays, ...]
    coalesce: Coalesce | None

    def layout(self, name: str) -> LayoutArrays:
        """The matrix in the layout called `name`."""
        return next(layout for layout in self.layouts if layout.layout == name)


class Violation(msgspec.Struct, frozen=True, kw_only=True):
    """One invariant broken on purpose: which array, how, and what construction with the check said.

    `complaint` is None when the check let it pass. `changed` are the positions of `member` that were edited.
    """

    name: str
    member: str
    before: Member | None
    after: Member | None
    changed: tuple[int, ...]
    complaint: PyTorchSaid | None
    not_possible: str = ""
    """Why this matrix cannot be broken in this way."""


class Invariants(Result, frozen=True, kw_only=True):
    """Every violation of one layout, each constructed with `check_invariants=True`."""

    violations: tuple[Violation, ...]
    error: PyTorchSaid | None = None


class Unchecked(Result, frozen=True, kw_only=True):
    """What a broken tensor does when nothing is checked: constructed or not, and what reading it gave.

    `expected` is the dense matrix of the unbroken one, `dense` what `to_dense()` of the broken one returned.
    """

    constructed: bool
    construction_error: PyTorchSaid | None
    reading_error: PyTorchSaid | None
    dense: Member | None
    expected: Member | None
    is_silently_wrong: bool
    not_possible: str = ""
    """Why this matrix or layout cannot be broken in this way."""


ProbeOutcome = Literal["sparse", "dense", "scalar", "masked", "refused", "wrong"]


class Probe(msgspec.Struct, frozen=True, kw_only=True):
    """One operation tried on one layout.

    `sparse`, `dense` (a full tensor: densified) and `scalar` say what came back with the dense operation's values,
    `layout` in which layout. `masked` is a sparse result that has them at its stored places only, `wrong` has others.
    `refused` has the error. `nnz` is that of a sparse result.
    """

    operation: str
    topic: str
    outcome: ProbeOutcome
    layout: str = ""
    nnz: int | None = None
    error: PyTorchSaid | None = None
    warnings: tuple[str, ...] = ()


class Support(msgspec.Struct, frozen=True, kw_only=True):
    """Every probed operation on one layout, in the order of the list."""

    layout: LayoutName
    dtype: str
    probes: tuple[Probe, ...]
    error: PyTorchSaid | None = None


class Supports(Result, frozen=True, kw_only=True):
    """What every operation made of each layout, in the order they were asked for."""

    supports: tuple[Support, ...]

    def support(self, layout: str) -> Support:
        """The answers of the layout called `layout`."""
        return next(support for support in self.supports if support.layout == layout)


class WeightPoint(msgspec.Struct, frozen=True):
    """Bytes of the arrays of one layout at one density; `members` bytes in the order of their names."""

    nnz: int
    bytes: int
    members: tuple[tuple[str, int], ...]


class WeightCurve(msgspec.Struct, frozen=True, kw_only=True):
    """Bytes of one layout over the densities; `most_nnz` is the most entries with which it is smaller than dense.

    Found by bisection over real tensors of the same matrix with more and more entries; -1 when it never is smaller.
    `formula_nnz` is the same from the sizes by formula, None for blocks, whose number depends on where entries lie.
    """

    layout: LayoutName
    points: tuple[WeightPoint, ...]
    most_nnz: int
    formula: str
    formula_nnz: int | None
    error: PyTorchSaid | None = None


class Weights(Result, frozen=True, kw_only=True):
    """Bytes against density, each read from real arrays."""

    cells: int
    dense_bytes: int
    curves: tuple[WeightCurve, ...]


class TimingPoint(msgspec.Struct, frozen=True):
    """All layouts against dense at one density that was really there."""

    density: float
    nnz: int
    comparison: Comparison
    """`names[0]` is "dense"."""
    largest_difference: tuple[float, ...] = ()
    """Per name after the first: largest absolute difference from the dense product, over the largest product."""


class BreakEven(msgspec.Struct, frozen=True):
    """Where a layout stops being faster than dense: estimated between two measured densities.

    `verdict` "crosses" has all three, "always faster" and "always slower" none; "unclear" says that some band straddles
    1 at every density.
    """

    layout: LayoutName
    verdict: Literal["crosses", "always faster", "always slower", "unclear"]
    density: float | None = None
    between: tuple[float, float] | None = None


class MatmulTiming(Result, frozen=True, kw_only=True):
    """Product of a sparse matrix with a dense one, against the dense product, over density."""

    points: tuple[TimingPoint, ...]
    break_even: tuple[BreakEven, ...]
    refused: tuple[tuple[str, PyTorchSaid], ...] = ()
    left_out: tuple[tuple[str, float], ...] = ()
    """Layouts that became so slow that they were not timed above this density."""


class OptimizerTrial(msgspec.Struct, frozen=True, kw_only=True):
    """One optimizer given the sparse gradient: accepted or its error, and how its step compares.

    `rows_changed` counts rows of the weight that moved. `difference` is the largest absolute difference from the same
    optimizer's step with the dense gradient; None where either was refused.
    """

    name: str
    accepted: bool
    error: PyTorchSaid | None = None
    rows_changed: int | None = None
    difference: float | None = None


class EmbeddingGrad(Result, frozen=True, kw_only=True):
    """`weight.grad` of an embedding with `sparse=True`, beside the dense one.

    `raw_indices` are as backward left them, one per lookup, duplicates and all (the first `shown` of them).
    `row_sums` has for every distinct row how many lookups it got, `merged_*` are the first rows after `coalesce()`.
    Values are those of the first column.
    """

    layout: str
    is_coalesced: bool
    nnz: int
    nnz_coalesced: int
    raw_indices: tuple[int, ...]
    raw_values: tuple[str, ...]
    row_sums: tuple[tuple[int, int], ...]
    merged_indices: tuple[int, ...]
    merged_values: tuple[str, ...]
    sparse_bytes: int
    coalesced_bytes: int
    dense_bytes: int
    dense_rows_of_zeros: int
    equals_dense: bool
    optimizers: tuple[OptimizerTrial, ...]
