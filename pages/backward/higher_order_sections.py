"""Each section: its result, what is pinned beside it, its files, and the part of the page that draws it."""

from __future__ import annotations

from typing import Any, TypeVar

from streamlit.delta_generator import DeltaGenerator

from engine.higher_order.spec import ArticleSpec, CurvatureSpec, DerivativeSpec, MatrixSpec, ProductSpec
from engine.runner.contract import Spec
from pages.backward.higher_order_article import draw_article
from pages.backward.higher_order_controls import AnySpec
from pages.backward.higher_order_curvature import draw_curvature
from pages.backward.higher_order_derivatives import draw_derivatives
from pages.backward.higher_order_exports import downloads
from pages.backward.higher_order_matrices import draw_matrix
from pages.backward.higher_order_products import draw_products
from pages.backward.higher_order_rulings import draw_rulings
from pages.shared.frame import draw_exports
from pages.shared.jobs import compute, compute_beside
from pages.shared.pin import pinned_spec

S = TypeVar("S", bound=Spec[Any])


def draw_section(spec: AnySpec, exports: DeltaGenerator) -> None:
    """Compute what the section asks, then picture, numbers and details."""
    found: Any = compute(spec)
    draw_exports(exports, downloads(spec, found))
    before: Any = beside(type(spec))
    if isinstance(spec, DerivativeSpec):
        draw_derivatives(spec, found, before)
    elif isinstance(spec, MatrixSpec):
        draw_matrix(spec, found, before)
    elif isinstance(spec, ProductSpec):
        draw_products(spec, found, before)
    elif isinstance(spec, CurvatureSpec):
        draw_curvature(spec, found, before)
    elif isinstance(spec, ArticleSpec):
        draw_article(spec, found, before)
    else:
        draw_rulings(spec, found, before)


def beside(kind: type[S]) -> tuple[S, Any] | None:
    """The pinned spec of this kind with its result; None where A is of another section or has no result."""
    pinned = pinned_spec(kind)
    result = compute_beside(pinned, "A", slot="pinned") if pinned is not None else None
    return None if pinned is None or result is None else (pinned, result)
