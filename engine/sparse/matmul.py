"""time_matmul: sparse @ dense against dense @ dense over density, every layout in the same interleaved rounds."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Literal

import torch

from engine.pytorch_said import PyTorchSaid, said
from engine.runner.contract import Price, ProgressSink
from engine.sparse.build import to_layout
from engine.sparse.matrix import LayoutName
from engine.sparse.results import BreakEven, MatmulTiming, TimingPoint
from engine.sparse.spec import MatmulTimingSpec
from engine.timing import compare
from engine.timing.spec import Ratio

Product = Callable[[], torch.Tensor]

BUDGET_S = 60.0
"""Wall seconds for all densities together; at least five rounds are taken of each."""
HOPELESS = 15.0
"""A layout this many times slower than dense is not timed at higher densities, where it only gets slower."""
DENSE_AGAIN = "dense again"
"""Stands in where no layout is left to time, so that the dense time is still measured."""


def price_matmul(spec: MatmulTimingSpec) -> Price:
    """Dense operands, and the largest sparse one with its index arrays and conversions."""
    return Price(predicted_bytes=spec.size**2 * 96, what="a dense matrix, and index arrays for all its cells")


def time_matmul(spec: MatmulTimingSpec, progress: ProgressSink) -> MatmulTiming:
    """One comparison per density; a layout that PyTorch refuses or that is hopelessly slow is left out, and named."""
    refused: dict[str, PyTorchSaid] = {}
    left_out: dict[str, float] = {}
    points = []
    for number, density in enumerate(spec.densities):
        start, share = number / len(spec.densities), 1 / len(spec.densities)
        report = _within(progress, start, share, f"density {density:.3%}")
        layouts = tuple(layout for layout in spec.layouts if layout not in refused and layout not in left_out)
        points.append(_point(spec, density, layouts, refused, report))
        if number + 1 < len(spec.densities):
            left_out |= {ratio.name: density for ratio in points[-1].comparison.ratios if ratio.low > HOPELESS}
    timed = [layout for layout in spec.layouts if layout not in refused]
    return MatmulTiming(
        points=tuple(points),
        break_even=tuple(find_break_even(layout, points) for layout in timed),
        refused=tuple(refused.items()),
        left_out=tuple(left_out.items()),
    )


def _within(progress: ProgressSink, start: float, share: float, what: str) -> ProgressSink:
    return lambda stage, fraction: progress(f"{what}: {stage}", start + share * fraction)


def _point(
    spec: MatmulTimingSpec,
    density: float,
    layouts: Sequence[LayoutName],
    refused: dict[str, PyTorchSaid],
    progress: ProgressSink,
) -> TimingPoint:
    dense, right = _operands(spec, density)
    expected = dense @ right
    products: dict[str, Product] = {"dense": lambda: dense @ right}
    differences = []
    for layout in layouts:
        try:
            product = _product(dense, right, layout, spec.block)
            result = product()
        except Exception as error:
            refused[layout] = said(error)
            continue
        differences.append(float((result - expected).abs().max() / expected.abs().max().clamp(min=1e-30)))
        products[layout] = product
    products = products if len(products) > 1 else products | {DENSE_AGAIN: products["dense"]}
    comparison = compare(
        products,
        rounds=spec.rounds,
        threads=spec.threads,
        on_progress=progress,
        budget_s=BUDGET_S / len(spec.densities),
    )
    nnz = int(dense.count_nonzero())
    return TimingPoint(nnz / dense.numel(), nnz, comparison, tuple(differences))


def _operands(spec: MatmulTimingSpec, density: float) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(spec.seed)
    dtype: torch.dtype = getattr(torch, spec.dtype)
    cells = spec.size**2
    dense = torch.zeros(cells, dtype=dtype)
    filled = torch.randperm(cells, generator=generator)[: max(round(density * cells), 1)]
    dense[filled] = torch.rand(filled.numel(), generator=generator, dtype=dtype) + 0.5
    shape = (spec.size, spec.right_columns) if spec.right_columns else (spec.size,)
    return dense.reshape(spec.size, spec.size), torch.rand(shape, generator=generator, dtype=dtype)


def _product(dense: torch.Tensor, right: torch.Tensor, layout: LayoutName, block: int) -> Product:
    sparse = to_layout(dense.to_sparse(), layout, (block, block))
    return lambda: sparse @ right


def find_break_even(layout: LayoutName, points: Sequence[TimingPoint]) -> BreakEven:
    """Where the ratio to dense crosses 1 for the last time, by a straight line between the logarithms of both.

    Only densities count whose band lies on one side of 1, so that noise near break-even is not taken for a crossing.
    """
    ratios = [(p.density, ratio) for p in points for ratio in p.comparison.ratios if ratio.name == layout]
    told = [(density, ratio.ratio) for density, ratio in ratios if ratio.shows_a_difference]
    crossings = [(a, b) for a, b in pairwise(told) if a[1] < 1.0 < b[1]]
    if crossings:
        (low, before), (high, after) = crossings[-1]
        return BreakEven(layout, "crosses", _interpolate(low, before, high, after), (low, high))
    return BreakEven(layout, _verdict([ratio for _, ratio in ratios]))


def _verdict(ratios: Sequence[Ratio]) -> Literal["always faster", "always slower", "unclear"]:
    if all(ratio.high < 1.0 for ratio in ratios):
        return "always faster"
    return "always slower" if all(ratio.low > 1.0 for ratio in ratios) else "unclear"


def _interpolate(low: float, before: float, high: float, after: float) -> float:
    share = math.log(before) / (math.log(before) - math.log(after))
    return math.exp(math.log(low) + share * (math.log(high) - math.log(low)))
