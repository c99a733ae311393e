"""weigh_layouts: bytes of real arrays against density, and the number of entries up to which each layout is smaller."""

from __future__ import annotations

from collections.abc import Callable

import torch

from engine.pytorch_said import said
from engine.runner.contract import Price, ProgressSink
from engine.sparse.build import MEMBERS, arrays_of, to_layout
from engine.sparse.formula import bytes_formula
from engine.sparse.matrix import LAYOUTS, LayoutName
from engine.sparse.results import WeightCurve, WeightPoint, Weights
from engine.sparse.spec import WeightsSpec, density_ladder

Weigh = Callable[[int], WeightPoint]


def weigh_layouts(spec: WeightsSpec, progress: ProgressSink) -> Weights:
    """The curve of every layout over one matrix that is filled entry by entry in one fixed order."""
    cells = spec.rows * spec.columns
    order = _filling_order(spec)
    dense_bytes = cells * torch.empty((), dtype=getattr(torch, spec.dtype)).element_size()
    curves = []
    for number, layout in enumerate(LAYOUTS):
        progress(f"weighing {layout.upper()}", number / len(LAYOUTS))
        curves.append(_curve(spec, layout, order, dense_bytes))
    return Weights(cells=cells, dense_bytes=dense_bytes, curves=tuple(curves))


def price_weights(spec: WeightsSpec) -> Price:
    """Indices of a full matrix, twice during a conversion, dominate."""
    return Price(predicted_bytes=spec.rows * spec.columns * 96, what="index arrays of a full matrix, and its copies")


def _filling_order(spec: WeightsSpec) -> torch.Tensor:
    """Cell numbers in the order in which they are filled: at random, or block after block."""
    generator = torch.Generator().manual_seed(spec.seed)
    cells = torch.randperm(spec.rows * spec.columns, generator=generator)
    if not spec.clustered:
        return cells
    across = -(-spec.columns // spec.block)
    blocks = cells // spec.columns // spec.block * across + cells % spec.columns // spec.block
    rank = torch.randperm(int(blocks.max()) + 1, generator=generator)
    return cells[rank[blocks].argsort(stable=True)]


def _curve(spec: WeightsSpec, layout: LayoutName, order: torch.Tensor, dense_bytes: int) -> WeightCurve:
    def weigh(nnz: int) -> WeightPoint:
        return _weigh(spec, layout, order[:nnz])

    item, index = dense_bytes // order.numel(), 4 if spec.index_dtype == "int32" else 8
    formula, formula_nnz = bytes_formula(layout, (spec.rows, spec.columns), item, index, spec.block)
    try:
        points = tuple(weigh(nnz) for nnz in (0, *density_ladder(order.numel())))
        most = _bisect(weigh, order.numel(), dense_bytes)
    except Exception as error:
        return WeightCurve(
            layout=layout, points=(), most_nnz=-1, formula=formula, formula_nnz=formula_nnz, error=said(error)
        )
    return WeightCurve(layout=layout, points=points, most_nnz=most, formula=formula, formula_nnz=formula_nnz)


def _weigh(spec: WeightsSpec, layout: LayoutName, cells: torch.Tensor) -> WeightPoint:
    places = torch.stack([cells // spec.columns, cells % spec.columns])
    values = torch.ones(cells.numel(), dtype=getattr(torch, spec.dtype))
    coo = torch.sparse_coo_tensor(places, values, (spec.rows, spec.columns), check_invariants=False)
    tensor = to_layout(coo, layout, (spec.block, spec.block), spec.index_dtype)
    sizes = tuple((name, array.nbytes) for name, array in zip(MEMBERS[layout], arrays_of(tensor, layout), strict=True))
    return WeightPoint(cells.numel(), sum(size for _, size in sizes), sizes)


def _bisect(weigh: Weigh, cells: int, dense_bytes: int) -> int:
    """The most entries with which the layout takes fewer bytes than dense; bytes only grow with entries."""
    low, high = -1, cells + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if weigh(middle).bytes < dense_bytes else (low, middle)
    return low
