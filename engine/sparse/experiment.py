"""The verbs of the sparse page."""

from __future__ import annotations

from typing import Any

from engine.runner.contract import Price, ProgressSink, Spec
from engine.sparse.build import build_coo, build_dense, entries_of, to_layout
from engine.sparse.coalescing import read_coalesce
from engine.sparse.embedding import price_embedding, trace_embedding_grad
from engine.sparse.entries import Entry
from engine.sparse.invariants import check_invariants, read_unchecked
from engine.sparse.matmul import price_matmul, time_matmul
from engine.sparse.matrix import LAYOUTS, LayoutName, Matrix
from engine.sparse.reading import comparable, read_layout, read_member
from engine.sparse.results import LayoutArrays, SparseTrace
from engine.sparse.spec import EmbeddingGradSpec, MatmulTimingSpec, SparseSpec, WeightsSpec
from engine.sparse.support import probe_support
from engine.sparse.weights import price_weights, weigh_layouts

__all__ = [
    "check_invariants",
    "price",
    "probe_support",
    "read_unchecked",
    "time_matmul",
    "trace_embedding_grad",
    "trace_sparse",
    "weigh_layouts",
]


def trace_sparse(spec: SparseSpec, progress: ProgressSink) -> SparseTrace:
    """The matrix dense and in every layout, with what `coalesce()` does to it."""
    matrix = spec.matrix
    dense = build_dense(matrix)
    places, values = entries_of(matrix)
    built = read_layout(lambda: build_coo(matrix), "coo")
    return SparseTrace(
        shape=tuple(dense.shape),
        dense=read_member("dense", dense),
        nonzeros=int(comparable(dense).count_nonzero()),
        entries=tuple(
            Entry(row, column, value) for (row, column), value in zip(places.T.tolist(), values.tolist(), strict=True)
        ),
        layouts=tuple(_layout(matrix, layout) for layout in LAYOUTS),
        coalesce=None if built.error else read_coalesce(build_coo(matrix), dense),
    )


def _layout(matrix: Matrix, layout: LayoutName) -> LayoutArrays:
    blocksize = (matrix.block_rows, matrix.block_columns)
    return read_layout(
        lambda: to_layout(build_coo(matrix), layout, blocksize, matrix.index_dtype), layout, build_dense(matrix)
    )


def price(spec: Spec[Any]) -> Price | None:
    """What the questions that can get big will need; the others are bounded by their ranges."""
    if isinstance(spec, WeightsSpec):
        return price_weights(spec)
    if isinstance(spec, MatmulTimingSpec):
        return price_matmul(spec)
    return price_embedding(spec) if isinstance(spec, EmbeddingGradSpec) else None
