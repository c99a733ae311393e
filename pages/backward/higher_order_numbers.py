"""The key numbers of every section."""

from __future__ import annotations

from typing import Any

from engine.figures.higher_order_charts import savings
from engine.higher_order.results import Article, Curvature, Derivatives, Matrix, Order, Products, Rulings
from engine.higher_order.spec import ArticleSpec, CurvatureSpec, DerivativeSpec, MatrixSpec, ProductSpec
from pages.shared.key_numbers import KeyNumber

FULL = "full Hessian @ v"
NO_VALUE = {"None": "None", "error": "raised", "not reached": "not reached"}


def numbers_of(spec: Any, found: Any) -> tuple[KeyNumber, ...]:
    """Three to five numbers of a section's result."""
    if isinstance(spec, DerivativeSpec):
        return _derivatives(found)
    if isinstance(spec, MatrixSpec):
        return _matrix(found)
    if isinstance(spec, ProductSpec):
        return _products(found)
    if isinstance(spec, CurvatureSpec):
        return _curvature(found)
    if isinstance(spec, ArticleSpec):
        return _article(spec, found)
    return _rulings(found)


def _derivatives(found: Derivatives) -> tuple[KeyNumber, ...]:
    if not found.orders:
        return ()
    last = found.orders[-1]
    missing = NO_VALUE.get(last.outcome, "not run")
    return (
        KeyNumber("Value at x", last.value, "", f"`autograd.grad`, called {last.order} times", missing),
        KeyNumber("Second method", last.reference, "", _reference_words(last), "no derivative"),
        KeyNumber("Off by", _distance(last), "", "the difference of the two; the second is in float64", missing),
        KeyNumber("Nodes", last.nodes, "count", "`grad_fn` and every node behind the value; 0 without a grad_fn"),
        KeyNumber("Nodes of f", found.orders[0].nodes, "count", "`grad_fn` and every node behind f itself"),
    )


def _reference_words(last: Order) -> str:
    by_hand = f"the derivative by hand, `{last.closed_form_text}`, in float64"
    return by_hand if last.closed_form_text else "nested `torch.func.jvp` in float64: forward mode, no graph"


def _distance(last: Order) -> float | None:
    return None if last.value is None or last.reference is None else abs(last.value - last.reference)


def _matrix(found: Matrix) -> tuple[KeyNumber, ...]:
    if found.matrix is None:
        return ()
    rows, columns = found.matrix.shape
    largest = max(map(abs, found.eigenvalues), default=None)
    return (
        KeyNumber("Entries", rows * columns, "count", "`matrix.numel()`"),
        KeyNumber("Zeros", found.zeros / (rows * columns), "%", "`(matrix == 0).sum()` of all entries"),
        KeyNumber("Asymmetry", found.asymmetry, "", "`(H - H.T).abs().max()`", "a Jacobian"),
        KeyNumber("Largest |λ|", largest, "", "`torch.linalg.eigvalsh(H).abs().max()`", "a Jacobian"),
        KeyNumber(
            "Off differences",
            found.finite_difference,
            "",
            "the largest distance to central differences in float64 (estimated)",
            "float64 only",
        ),
    )


def _products(found: Products) -> tuple[KeyNumber, ...]:
    first, full = found.product("double backward"), found.product(FULL)
    saved = next((share for n, share, _ in savings(found) if n == found.n), None)
    ratios = found.comparison.ratios if found.comparison else ()
    times = next((one.ratio for one in ratios if one.name == FULL), None)
    peak = "the largest running sum of the CPU allocator's events in `torch.profiler` during one call"
    return (
        KeyNumber("Hessian", found.hessian_bytes, "bytes", "n * n * itemsize, computed"),
        KeyNumber("Peak, product", first.peak_bytes if first else None, "bytes", f"double backward: {peak}"),
        KeyNumber("Peak, full", full.peak_bytes if full else None, "bytes", f"full Hessian @ v: {peak}", "refused"),
        KeyNumber("Less memory", saved, "%", "1 - the first peak / the second", "refused"),
        KeyNumber(
            "Times as fast",
            times,
            "",
            "the median of paired ratios: time of the full Hessian / of double backward",
            "refused",
        ),
    )


def _curvature(found: Curvature) -> tuple[KeyNumber, ...]:
    off = None if found.eigenvalue is None or found.largest is None else abs(found.eigenvalue - found.largest)
    residual = found.iterations[-1].residual if found.iterations else None
    return (
        KeyNumber("Eigenvalue", found.eigenvalue, "", "v · Hv after the last product, v of length 1"),
        KeyNumber("eigvalsh", found.largest, "", "`torch.linalg.eigvalsh` of the full Hessian", "not made"),
        KeyNumber("Off by", off, "", "the difference of the two", "not made"),
        KeyNumber("Products", len(found.iterations), "count", "`autograd.grad(gradient, x, v)` calls"),
        KeyNumber("Residual", residual, "", "`(Hv - eigenvalue * v).norm()` of the last step"),
    )


def _article(spec: ArticleSpec, found: Article) -> tuple[KeyNumber, ...]:
    one = found.of(spec.situation)
    against = "to torch.func.hessian over all trainable parameters, times v, in float64"
    return (
        KeyNumber("Raises in", sum(t.error is not None for t in found.tried), "count", "situations tried, of eight"),
        KeyNumber("Article off by", one.distance, "", f"the largest distance {against}", "raised"),
        KeyNumber("Corrected off by", one.corrected_distance, "", f"the largest distance {against}", "raised"),
        KeyNumber("Entries of v", one.parameters, "count", "`numel()` of all trainable parameters"),
    )


def _rulings(found: Rulings) -> tuple[KeyNumber, ...]:
    return (
        KeyNumber("Calls", len(found.rulings), "count", "the list above"),
        KeyNumber("Raise", sum(one.error is not None for one in found.rulings), "count", "calls with an exception"),
        KeyNumber("Warn", sum(bool(one.warnings) for one in found.rulings), "count", "calls with a Python warning"),
    )
