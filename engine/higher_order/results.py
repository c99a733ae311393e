"""What comes back: derivatives by order, matrices, products with a vector, eigenvalues, and PyTorch's refusals."""

from __future__ import annotations

from typing import Literal

import msgspec

from engine.graph.spec import Graph
from engine.pytorch_said import PyTorchSaid
from engine.runner.contract import Array, Result
from engine.timing.comparison import Comparison

Outcome = Literal["value", "None", "error", "not reached"]


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """The derivative of one order at the chosen x; order 0 is the function itself.

    `closed_form` is by hand, `forward_mode` from nested `torch.func.jvp`, both in float64;
    `finite_difference` (estimated) is the central difference of the order below. None where there is none.
    `graph` is what was recorded behind the value: None when it has no grad_fn.
    """

    order: int
    outcome: Outcome
    value: float | None = None
    error: PyTorchSaid | None = None
    grad_fn: str = ""
    requires_grad: bool = False
    closed_form: float | None = None
    closed_form_text: str = ""
    forward_mode: float | None = None
    finite_difference: float | None = None
    graph: Graph | None = None

    @property
    def nodes(self) -> int:
        return 0 if self.graph is None else len(self.graph.nodes)

    @property
    def reference(self) -> float | None:
        """By hand where known, else from forward mode."""
        return self.forward_mode if self.closed_form is None else self.closed_form


class Curve(msgspec.Struct, frozen=True, kw_only=True):
    """One order over x, float64: autograd's, by hand where known, by nested `torch.func.jvp`."""

    order: int
    autograd: Array
    closed_form: Array | None
    forward_mode: Array | None


class Setting(msgspec.Struct, frozen=True, kw_only=True):
    """The last order asked for with other arguments: the call, and what it gave."""

    code: str
    outcome: Outcome
    value: float | None = None
    error: PyTorchSaid | None = None


class Derivatives(Result, frozen=True, kw_only=True):
    """Every order at x, the curves of each over `x` (create_graph=True throughout), and other settings tried.

    `error` is what PyTorch said to the function itself or to its curves.
    """

    orders: tuple[Order, ...]
    x: Array
    curves: tuple[Curve, ...]
    settings: tuple[Setting, ...]
    error: PyTorchSaid | None = None


class Way(msgspec.Struct, frozen=True, kw_only=True):
    """One way to a matrix: the call, its largest distance to the first way, or what PyTorch said."""

    name: str
    code: str
    max_abs_difference: float | None = None
    error: PyTorchSaid | None = None


class Matrix(Result, frozen=True, kw_only=True):
    """A Jacobian or Hessian at x as rows and columns, and how it was checked.

    `asymmetry` is the largest |H - H^T|, `eigenvalues` ascending, both of a Hessian. `finite_difference` (estimated) is
    the largest distance to central differences, `closed_form` to the one by hand; None where there is none.
    """

    x: Array
    value: Array | None
    matrix: Array | None
    ways: tuple[Way, ...]
    zeros: int = 0
    asymmetry: float | None = None
    eigenvalues: tuple[float, ...] = ()
    finite_difference: float | None = None
    closed_form: float | None = None
    closed_form_text: str = ""
    names: tuple[str, ...] = ()
    """Of every column, for networks: the parameter and the place in it, flattened."""
    error: PyTorchSaid | None = None


class Product(msgspec.Struct, frozen=True, kw_only=True):
    """One way to H @ v. `peak_bytes`: largest running sum of the CPU allocator's events during one call.

    `max_abs_error` is against the reference in float64. None where it was not run; `error` or `reason` says why.
    """

    name: str
    code: str
    seconds: float | None = None
    peak_bytes: int | None = None
    max_abs_error: float | None = None
    error: PyTorchSaid | None = None
    reason: str = ""


class Growth(msgspec.Struct, frozen=True, kw_only=True):
    """Peak bytes and median seconds of one way at growing n, and the powers of n fitted to both (estimated)."""

    name: str
    sizes: tuple[int, ...]
    peak_bytes: tuple[int, ...]
    seconds: tuple[float, ...]
    bytes_exponent: float | None
    seconds_exponent: float | None


class Products(Result, frozen=True, kw_only=True):
    """Hessian-vector products every way, against the full Hessian where it fits.

    `hessian_bytes` = n * n * itemsize, computed; `full_refused` says why it was not made, "" when it was.
    `reference` names what the errors are against; `saved_bytes` is what the graph of the gradient keeps for backward.
    """

    n: int
    hessian_bytes: int
    full_refused: str
    products: tuple[Product, ...]
    comparison: Comparison | None
    growth: tuple[Growth, ...]
    reference: str
    saved_bytes: int
    product_norm: float
    full_estimated_s: float | None = None
    """n products with a vector, one for every row: estimated from the time of one."""
    error: PyTorchSaid | None = None

    def product(self, name: str) -> Product | None:
        """The row called `name`."""
        return next((one for one in self.products if one.name == name), None)


class Iteration(msgspec.Struct, frozen=True, array_like=True):
    """One step of power iteration: v.Hv of the unit vector v, and |Hv - (v.Hv) v|."""

    eigenvalue: float
    residual: float


class Curvature(Result, frozen=True, kw_only=True):
    """The eigenvalue of largest magnitude by power iteration; `exact` are all of the full Hessian, ascending, if made.

    `expected_rate` is |second largest / largest| of them: by it the vector's error shrinks per step.
    """

    n: int
    iterations: tuple[Iteration, ...]
    converged: bool
    exact: tuple[float, ...] = ()
    not_exact: str = ""
    gradient_norm: float = 0.0
    loss: float = 0.0
    error: PyTorchSaid | None = None

    @property
    def eigenvalue(self) -> float | None:
        return self.iterations[-1].eigenvalue if self.iterations else None

    @property
    def largest(self) -> float | None:
        """Of the exact ones by magnitude."""
        return max(self.exact, key=abs, default=None)

    @property
    def expected_rate(self) -> float | None:
        sizes = sorted(map(abs, self.exact))
        return sizes[-2] / sizes[-1] if len(sizes) > 1 and sizes[-1] else None


class Tried(msgspec.Struct, frozen=True, kw_only=True):
    """One situation for the article's hvp: what it raised or gave, and the corrected one beside it.

    Distances are to the full Hessian of the parameters times v, in float64.
    """

    situation: str
    why: str
    error: PyTorchSaid | None = None
    distance: float | None = None
    returned: str = ""
    corrected_error: PyTorchSaid | None = None
    corrected_distance: float | None = None
    strides: tuple[str, ...] = ()
    """Name, shape and stride of every gradient, as `create_graph=True` gave them."""
    parameters: int = 0


class Article(Result, frozen=True, kw_only=True):
    """The article's hvp, word for word, in every situation."""

    tried: tuple[Tried, ...]

    def of(self, situation: str) -> Tried:
        return next(one for one in self.tried if one.situation == situation)


class Ruling(msgspec.Struct, frozen=True, kw_only=True):
    """One call, and what came of it: a value as text, or PyTorch's words; `why` in one sentence."""

    code: str
    value: str = ""
    error: PyTorchSaid | None = None
    warnings: tuple[str, ...] = ()
    why: str = ""


class Rulings(Result, frozen=True, kw_only=True):
    """What autograd answers to each call."""

    rulings: tuple[Ruling, ...]
