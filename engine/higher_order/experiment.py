"""Higher derivatives: one verb per spec, and what the large ones will need."""

from __future__ import annotations

from engine.higher_order.article import try_article
from engine.higher_order.derivatives import differentiate
from engine.higher_order.matrices import compute_matrix
from engine.higher_order.measure import measure_products
from engine.higher_order.power import find_curvature
from engine.higher_order.rulings import try_calls
from engine.higher_order.spec import (
    ITEM_BYTES,
    LARGEST_FULL_BYTES,
    ArticleSpec,
    CurvatureSpec,
    DerivativeSpec,
    MatrixSpec,
    ProductSpec,
    RulingSpec,
)
from engine.runner.contract import Price
from engine.runner.faults import size

__all__ = [
    "compute_matrix",
    "differentiate",
    "find_curvature",
    "measure_products",
    "price",
    "try_article",
    "try_calls",
]

AnySpec = DerivativeSpec | MatrixSpec | ProductSpec | CurvatureSpec | ArticleSpec | RulingSpec
VECTORS = 600
"""Vectors of n entries that a product holds at once: of a network's loss every parameter meets 32 examples."""

PRODUCT_MATRICES = 6
"""n by n matrices that torch.func makes for `prod`: of a wrapped tensor it takes the way that is safe for zeros."""


def price(spec: AnySpec) -> Price | None:
    """Vectors of a product, and four of the full matrix where it is made; None for what is always small."""
    if isinstance(spec, MatrixSpec):
        n = len(spec.point) or spec.n
        return Price(predicted_bytes=12 * n * n * 8, what=f"matrices of {n} x {n}", remedy="Choose a smaller n.")
    if not isinstance(spec, ProductSpec | CurvatureSpec):
        return None
    item = ITEM_BYTES[spec.dtype]
    full = spec.n * spec.n * item
    held = VECTORS * spec.n * item + (4 * full if full <= LARGEST_FULL_BYTES else 0)
    what = f"vectors of {spec.n}, {size(held)}"
    if spec.function == "product" and isinstance(spec, ProductSpec):
        held += PRODUCT_MATRICES * full
        what = f"{PRODUCT_MATRICES} matrices of {spec.n} x {spec.n}, which torch.func makes to differentiate prod"
    return Price(predicted_bytes=held, what=what, remedy="Choose a smaller n.")
