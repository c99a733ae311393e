"""measure_products: time, peak bytes and agreement of every way to H @ v, and how bytes grow with n."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from statistics import linear_regression
from typing import NamedTuple

import msgspec
import torch
from torch import Tensor

from engine.graph.walk import read_graph
from engine.higher_order.allocated import peak_bytes
from engine.higher_order.problems import Problem, direction, problem_of
from engine.higher_order.products import FULL, PRODUCTS
from engine.higher_order.results import Growth, Product, Products
from engine.higher_order.spec import ITEM_BYTES, LARGEST_FULL_BYTES, ProductSpec
from engine.pytorch_said import attempt
from engine.runner.contract import ProgressSink
from engine.runner.faults import size
from engine.timing import compare
from engine.timing.comparison import Comparison
from engine.timing.rounds import FEWEST_ROUNDS

BUDGET_S = 12.0
Call = Callable[[], Tensor]
GROWTH_BUDGET_S = 2.0
SHARES = (8, 4, 2)
"""Growth is read at n/8, n/4 and n/2, beside n."""
GROWING = ("double backward", "forward over reverse", FULL)
LARGEST_REFERENCE_BYTES = 8 << 20
"""Of a full Hessian in float64 that errors are measured against; above it, double backward in float64."""


class _Point(NamedTuple):
    """Peak bytes and median seconds at one n, by way."""

    n: int
    peaks: dict[str, int]
    seconds: dict[str, float]


def measure_products(spec: ProductSpec, progress: ProgressSink) -> Products:
    """Every way that fits, once for its bytes and values, then all of them in interleaved rounds."""
    problem = problem_of(spec)
    v = direction(problem.x, spec.seed)
    n = problem.x.numel()
    hessian_bytes = n * n * ITEM_BYTES[spec.dtype]
    refused = "" if hessian_bytes <= LARGEST_FULL_BYTES else _refusal(n, hessian_bytes)
    progress("reference in float64", 0.02)
    reference, wanted = _reference(spec, n)
    names = [name for name in PRODUCTS if not (refused and name == FULL)]
    found = {name: _product(name, problem, v, wanted) for name in names}
    growing = _smaller(spec, bool(refused), progress)
    comparison = _timed(spec, problem, v, [name for name in names if found[name].error is None], progress)
    products = [_with_time(found[name], comparison) for name in names]
    growth = _growths(growing, n, products)
    if refused:
        products.append(Product(name=FULL, code=PRODUCTS[FULL][0], reason=refused))
    return Products(
        n=n,
        hessian_bytes=hessian_bytes,
        full_refused=refused,
        products=tuple(products),
        comparison=comparison,
        growth=growth,
        reference=reference,
        saved_bytes=_saved_bytes(problem),
        product_norm=float(torch.linalg.vector_norm(wanted)),
        full_estimated_s=n * products[0].seconds if products[0].seconds is not None else None,
    )


def _refusal(n: int, hessian_bytes: int) -> str:
    return (
        f"Not made: {n} x {n} entries are {hessian_bytes} bytes ({size(hessian_bytes)}, predicted), and the limit here "
        f"is {size(LARGEST_FULL_BYTES)}, since it would be made anew in every round. The products need no such matrix; "
        f"choose a smaller n to see it."
    )


def _reference(spec: ProductSpec, n: int) -> tuple[str, Tensor]:
    """What errors are against, always float64 and never the way itself in the spec's dtype."""
    exact = problem_of(msgspec.structs.replace(spec, dtype="float64"))
    v = direction(exact.x, spec.seed)
    if exact.closed_form is not None and n * n * 8 <= LARGEST_REFERENCE_BYTES:
        return f"the Hessian by hand, {exact.closed_form_text}, @ v in float64", exact.closed_form(exact.x) @ v
    if n * n * 8 <= LARGEST_REFERENCE_BYTES and spec.function != "product":
        hessian: Tensor = torch.func.hessian(exact.function)(exact.x)
        return "torch.func.hessian @ v in float64", hessian.detach() @ v
    step = 1e-5
    ahead, behind = (_gradient(exact, exact.x + sign * step * v) for sign in (1, -1))
    return "central differences of the gradient along v in float64 (estimated)", (ahead - behind) / (2 * step)


def _gradient(problem: Problem, x: Tensor) -> Tensor:
    leaf = x.detach().requires_grad_()
    return torch.autograd.grad(problem.function(leaf), leaf)[0]


def _product(name: str, problem: Problem, v: Tensor, wanted: Tensor) -> Product:
    """Value and bytes of one call each; the first call warms up what PyTorch loads once."""
    code, multiply = PRODUCTS[name]
    call = partial(multiply, problem.function, problem.x, v)
    found, error = attempt(call)
    if found is None:
        return Product(name=name, code=code, error=error)
    off = float((found.detach().double() - wanted).abs().max())
    return Product(name=name, code=code, peak_bytes=peak_bytes(call), max_abs_error=off if math.isfinite(off) else None)


def _smaller(spec: ProductSpec, refused: bool, progress: ProgressSink) -> list[_Point]:
    """Bytes and seconds at smaller n, the ways side by side, so that their ratio at each n is of the same moment."""
    points = []
    for n in sorted({max(2, spec.n // share) for share in SHARES}):
        problem = problem_of(msgspec.structs.replace(spec, n=n))
        progress(f"growth, n = {n}", 0.1 + 0.2 * n / spec.n)
        calls = _calls(problem, spec.seed, refused)
        compared = compare(calls, rounds=FEWEST_ROUNDS, budget_s=GROWTH_BUDGET_S) if len(calls) > 1 else None
        seconds = dict(zip(compared.names, compared.median_s, strict=True)) if compared else {}
        points.append(_Point(problem.x.numel(), {name: peak_bytes(call) for name, call in calls.items()}, seconds))
    return points


def _calls(problem: Problem, seed: int, refused: bool) -> dict[str, Call]:
    """The ways that work on this problem."""
    v = direction(problem.x, seed)
    names = [name for name in GROWING if not (refused and name == FULL)]
    calls: dict[str, Call] = {name: partial(PRODUCTS[name][1], problem.function, problem.x, v) for name in names}
    return {name: call for name, call in calls.items() if attempt(call)[0] is not None}


def _growths(smaller: list[_Point], n: int, products: list[Product]) -> tuple[Growth, ...]:
    """The smaller sizes and n itself, of every way that was measured at each."""
    last = _Point(
        n,
        {one.name: one.peak_bytes for one in products if one.peak_bytes is not None},
        {one.name: one.seconds for one in products if one.seconds is not None},
    )
    points = sorted({point.n: point for point in (*smaller, last)}.values(), key=lambda point: point.n)
    kept = [name for name in GROWING if all(name in point.peaks and name in point.seconds for point in points)]
    return tuple(_growth(name, points) for name in kept)


def _growth(name: str, points: list[_Point]) -> Growth:
    sizes, peaks = [point.n for point in points], [point.peaks[name] for point in points]
    seconds = [point.seconds[name] for point in points]
    return Growth(
        name=name,
        sizes=tuple(sizes),
        peak_bytes=tuple(peaks),
        seconds=tuple(seconds),
        bytes_exponent=fitted_exponent(sizes, peaks),
        seconds_exponent=fitted_exponent(sizes, seconds),
    )


def fitted_exponent(sizes: Sequence[float], values: Sequence[float]) -> float | None:
    """The p of value ~ n^p by least squares on logarithms; estimated, None with fewer than three sizes."""
    if len(sizes) < 3 or not all(value > 0 for value in values):
        return None
    return linear_regression([math.log(n) for n in sizes], [math.log(value) for value in values]).slope


def _timed(
    spec: ProductSpec, problem: Problem, v: Tensor, names: list[str], progress: ProgressSink
) -> Comparison | None:
    if len(names) < 2:
        return None
    calls = {name: partial(PRODUCTS[name][1], problem.function, problem.x, v) for name in names}
    return compare(
        calls,
        rounds=spec.rounds,
        budget_s=BUDGET_S,
        on_progress=lambda stage, fraction: progress(stage, 0.3 + 0.7 * fraction),
    )


def _with_time(product: Product, comparison: Comparison | None) -> Product:
    if comparison is None or product.name not in comparison.names:
        return product
    return msgspec.structs.replace(product, seconds=comparison.median_s[comparison.names.index(product.name)])


def _saved_bytes(problem: Problem) -> int:
    """What the graph of the gradient keeps for the second backward, every storage once."""
    leaf = problem.x.detach().requires_grad_()
    gradient = torch.autograd.grad(problem.function(leaf), leaf, create_graph=True)[0]
    return read_graph([("gradient", gradient)], None, {"x": leaf})[0].saved_bytes
