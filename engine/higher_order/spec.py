"""What can be asked of higher derivatives."""

from __future__ import annotations

import math
from typing import Annotated, ClassVar, Literal

from msgspec import Meta

from engine.expression.language import Tree
from engine.higher_order.functions import ProductFunction, ScalarFunction, VectorFunction, read_scalar, read_vector
from engine.higher_order.results import Article, Curvature, Derivatives, Matrix, Products, Rulings
from engine.runner.contract import Limits, Result, Spec

__all__ = [
    "ArticleSpec",
    "CurvatureSpec",
    "DerivativeSpec",
    "MatrixSpec",
    "ProductSpec",
    "RulingSpec",
]

Dtype = Literal["float64", "float32"]
Situation = Literal[
    "flat v, contiguous gradients",
    "v as a list, one tensor per parameter",
    "a parameter that the loss does not use",
    "an output bias without a second derivative",
    "a channels_last convolution",
    "a frozen parameter",
    "a linear loss",
    "after loss.backward()",
]
Topic = Literal["unused and copies", "create_graph leaks", "complex numbers"]
ITEM_BYTES = {"float64": 8, "float32": 4}
LARGEST_FULL_BYTES = 4 << 20
"""Up to here the full Hessian is made, again in every round and by n backward passes each time; above, refused."""
MOST_ENTRIES = 256
Seed = Annotated[int, Meta(ge=0, le=2**31 - 1)]
Parameter = Annotated[float, Meta(ge=-10.0, le=10.0)]


class DerivativeSpec(Spec[Derivatives], frozen=True, kw_only=True):
    """Differentiate `function` `order` times at `x` with autograd.grad, and over [-span, span] stretched to hold x."""

    verb: ClassVar[str] = "differentiate"
    result: ClassVar[type[Result]] = Derivatives

    function: ScalarFunction = "x**3"
    expression: str = "x * sin(x)"
    order: Annotated[int, Meta(ge=1, le=4, description="how often autograd.grad is called")] = 2
    x: Parameter = 2.0
    a: Annotated[float, Meta(ge=-10.0, le=10.0, description="the second leaf, in a * x")] = 0.3
    span: Annotated[float, Meta(ge=0.5, le=10.0, description="the curves reach from -span to span")] = 3.0
    dtype: Dtype = "float64"
    create_graph: bool = True
    allow_unused: bool = False
    materialize_grads: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        assert self.tree

    @property
    def text(self) -> str:
        """The function as it is written."""
        return self.expression if self.function == "typed" else self.function

    @property
    def tree(self) -> Tree:
        return read_scalar(self.text)


class MatrixSpec(Spec[Matrix], frozen=True, kw_only=True):
    """The Jacobian or Hessian of `function`; x is `point`, or where that is empty `n` normal numbers."""

    verb: ClassVar[str] = "compute_matrix"
    result: ClassVar[type[Result]] = Matrix

    function: VectorFunction = "Rosenbrock"
    expression: str = "sum(x**2) + x[0] * x[1]"
    matrix: Literal["Hessian", "Jacobian"] = "Hessian"
    n: Annotated[int, Meta(ge=2, le=128, description="entries of x; parameters of a network come near to it")] = 8
    point: tuple[float, ...] = ()
    dtype: Dtype = "float64"
    seed: Seed = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        assert self.function != "typed" or self.tree
        check_point(self.point)
        if self.function == "softmax" and self.matrix == "Hessian":
            raise ValueError(
                "MatrixSpec.matrix: softmax returns a vector, so it has a Jacobian and no Hessian; received 'Hessian'. "
                "Choose the Jacobian, or logsumexp, whose Hessian it is."
            )
        if self.is_network and self.point:
            raise ValueError(
                f"MatrixSpec.point: the parameters of a network come from the seed; received {len(self.point)} numbers."
                " Leave x empty."
            )

    @property
    def is_network(self) -> bool:
        return "network" in self.function

    @property
    def tree(self) -> Tree:
        return read_vector(self.expression)


def check_point(point: tuple[float, ...]) -> None:
    """ValueError for one number, too many, or one that is not finite."""
    if len(point) == 1 or len(point) > MOST_ENTRIES:
        raise ValueError(f"MatrixSpec.point has 2 to {MOST_ENTRIES} numbers; received {len(point)}. Write 2, 3, 0, 0.")
    wrong = [
        one for one in point if isinstance(one, bool) or not isinstance(one, int | float) or not math.isfinite(one)
    ]
    if wrong or any(abs(one) > 1e6 for one in point):
        raise ValueError(f"MatrixSpec.point has finite numbers up to 1e6; received {point!r}. Write 2, 3, 0, 0.")


class ProductSpec(Spec[Products], frozen=True, kw_only=True):
    """Measure every way to H @ v, and the full Hessian where n * n * itemsize is at most 4 MiB."""

    verb: ClassVar[str] = "measure_products"
    result: ClassVar[type[Result]] = Products
    measured: ClassVar[bool] = True
    limits: ClassVar[Limits] = Limits(wall_s=90.0, cpu_s=180)

    function: ProductFunction = "tanh network loss"
    n: Annotated[int, Meta(ge=2, le=200_000, description="entries of x; parameters of a network come near to it")] = 200
    dtype: Dtype = "float64"
    rounds: Annotated[int, Meta(ge=5, le=51)] = 9
    seed: Seed = 0

    @property
    def hessian_bytes(self) -> int:
        """n * n * itemsize, before a network's real number of parameters is known."""
        return self.n * self.n * ITEM_BYTES[self.dtype]


class CurvatureSpec(Spec[Curvature], frozen=True, kw_only=True):
    """Find the eigenvalue of largest magnitude by `steps` Hessian-vector products, until |Hv - (v.Hv) v| is small."""

    verb: ClassVar[str] = "find_curvature"
    result: ClassVar[type[Result]] = Curvature

    function: ProductFunction = "tanh network loss"
    n: Annotated[int, Meta(ge=2, le=20_000, description="entries of x; parameters of a network come near to it")] = 100
    steps: Annotated[int, Meta(ge=1, le=300, description="at most so many products")] = 60
    tolerance: Annotated[float, Meta(ge=0.0, le=0.1, description="of the residual, relative to the eigenvalue")] = 1e-4
    dtype: Dtype = "float64"
    seed: Seed = 0


class ArticleSpec(Spec[Article], frozen=True, kw_only=True):
    """Run the article's hvp as it is written, and a corrected one, in every situation."""

    verb: ClassVar[str] = "try_article"
    result: ClassVar[type[Result]] = Article

    situation: Situation = "v as a list, one tensor per parameter"
    seed: Seed = 0


class RulingSpec(Spec[Rulings], frozen=True, kw_only=True):
    """What autograd.grad answers about unused tensors, about reference cycles, and about complex numbers."""

    verb: ClassVar[str] = "try_calls"
    result: ClassVar[type[Result]] = Rulings

    topic: Topic = "unused and copies"
