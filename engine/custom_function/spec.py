"""What can be asked of a custom autograd Function."""

from __future__ import annotations

import math
from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta

from engine.custom_function.catalogue import CATALOGUE, TYPED, Entry, FunctionName
from engine.custom_function.results import CheckedFunction
from engine.expression.language import ExpressionError, Tree, parse_expression
from engine.expression.written import names_in
from engine.runner.contract import Limits, Result, Spec, check_ranges

InputName = Literal["smooth points", "at a kink", "saturated", "expanded", "overlapping windows", "empty", "own points"]
Dtype = Literal["float64", "float32", "complex128"]
MOST_POINTS = 12
LARGEST_POINT = 1e6
POINTS: dict[str, tuple[float, ...]] = {
    "smooth points": (-1.7, -0.6, 0.4, 1.3),
    "at a kink": (-1.0, 0.0, 0.5, 1.0),
    "saturated": (-14.0, -6.0, 6.0, 14.0),
    "expanded": (0.7,),
    "overlapping windows": (-0.6, 0.4, 1.3),
    "empty": (),
}
Tolerance = Annotated[float, Meta(ge=0.0, le=10.0)]


class CustomFunctionSpec(Spec[CheckedFunction], frozen=True, kw_only=True):
    """Call `function` on points, run its backward, compare that with differences, and say why they differ."""

    verb: ClassVar[str] = "check_function"
    result: ClassVar[type[Result]] = CheckedFunction
    limits: ClassVar[Limits] = Limits(wall_s=30.0)

    function: FunctionName = "CustomSigmoid"
    beta: Annotated[float, Meta(ge=-8.0, le=8.0, description="slope of the sigmoid")] = 2.0
    clip: Annotated[float, Meta(ge=0.0, le=2.0, description="largest derivative that backward lets through")] = 0.1
    scale: Annotated[float, Meta(ge=-8.0, le=8.0, description="the number that forward is given")] = 4.0
    limit: Annotated[float, Meta(ge=0.0, le=10.0, description="of the gradient, or of |x| where it passes")] = 1.0
    factor: Annotated[float, Meta(ge=-4.0, le=4.0, description="what backward is wrong by")] = 0.25
    noise: Annotated[float, Meta(ge=0.0, le=1.0, description="relative, new at each backward")] = 1e-7
    forward: str = "x * sigmoid(x)"
    backward: str = "g * (y + sigmoid(x) * (1 - y))"
    """Over x, y (the output), g (grad_output) and z; empty: autograd differentiates forward."""
    backward_z: str = ""
    """The gradient of z, a second input that forward may name; empty: z gets none."""
    inputs: InputName = "smooth points"
    points: tuple[float, ...] = (-1.0, 0.0, 2.0)
    """Used when `inputs` is "own points"."""
    dtype: Dtype = "float64"
    eps: Annotated[float, Meta(ge=1e-12, le=1.0, description="step of the differences")] = 1e-6
    atol: Tolerance = 1e-5
    rtol: Tolerance = 1e-3
    nondet_tol: Tolerance = 0.0
    fast_mode: bool = False
    grad_output: Annotated[float, Meta(ge=-1000.0, le=1000.0, description="what arrives from above")] = 1.0
    x_from: Annotated[float, Meta(ge=-100.0, le=100.0)] = -6.0
    x_to: Annotated[float, Meta(ge=-100.0, le=100.0)] = 6.0
    samples: Annotated[int, Meta(ge=11, le=2001, description="points of the curves")] = 401
    seed: Annotated[int, Meta(ge=0, le=2**31 - 1, description="of random gradients and weights")] = 0

    def __post_init__(self) -> None:
        check_ranges(self)
        if not self.x_from < self.x_to:
            raise ValueError(
                f"CustomFunctionSpec.x_from must be below x_to; received {self.x_from} and {self.x_to}. "
                "Swap or spread them."
            )
        _check_points(self.points)
        if self.function == TYPED:
            self.trees  # noqa: B018 - reading them raises for text that is no expression

    @property
    def entry(self) -> Entry:
        return CATALOGUE[self.function]

    @property
    def values(self) -> tuple[float, ...]:
        """The points in memory; expanded and overlapping inputs show some of them more than once."""
        return self.points if self.inputs == "own points" else POINTS[self.inputs]

    @property
    def parameters(self) -> dict[str, float]:
        return {name: getattr(self, name) for name in ("beta", "clip", "scale", "limit", "factor", "noise")}

    @property
    def call(self) -> str:
        """The Python that applies a Function of the catalogue to x."""
        return self.entry.call.format(**self.parameters)

    @property
    def plain(self) -> tuple[str, ...]:
        """The forward of every output as an expression over x (and z)."""
        if self.function == TYPED:
            return (self.forward,)
        return tuple(text.format(**self.parameters) for text in self.entry.plain)

    @property
    def clips_at(self) -> float | None:
        """Where backward declares to clamp the derivative."""
        name = self.entry.clips_at
        return None if not name else self.parameters[name] if name in self.parameters else float(name)

    @property
    def names_z(self) -> bool:
        """Whether the typed forward or backward has the second input."""
        return self.function == TYPED and any("z" in names for names in map(names_in, self.trees.values()))

    @property
    def leaves_z_out(self) -> bool:
        """Whether forward reads z and a typed backward gives it no gradient."""
        trees = self.trees if self.function == TYPED else {}
        return "backward" in trees and "backward_z" not in trees and "z" in names_in(trees["forward"])

    @property
    def trees(self) -> dict[str, Tree]:
        """The typed texts as read: forward, and backward and backward_z where they are not empty.

        ValueError names the text, the place and the remedy.
        """
        texts: dict[str, tuple[str, tuple[str, ...]]] = {"forward": (self.forward, ("x", "z"))}
        texts |= {
            name: (text, ("x", "y", "g", "z"))
            for name, text in (("backward", self.backward), ("backward_z", self.backward_z))
            if str(text).strip()
        }
        return {name: _read(name, text, names) for name, (text, names) in texts.items()}


def _read(name: str, text: Any, names: tuple[str, ...]) -> Tree:
    if not isinstance(text, str):
        raise ValueError(f"CustomFunctionSpec.{name} must be text; received {text!r}. Write an expression.")
    try:
        return parse_expression(text, names)
    except ExpressionError as error:
        raise ValueError(
            f"CustomFunctionSpec.{name} cannot be read at character {error.column + 1}; received {text[:80]!r}. {error}"
        ) from None


def _check_points(points: Any) -> None:
    if not isinstance(points, tuple) or len(points) > MOST_POINTS:
        raise ValueError(
            f"CustomFunctionSpec.points takes at most {MOST_POINTS} numbers; received {str(points)[:80]}. "
            "Leave some out."
        )
    for point in points:
        is_number = isinstance(point, int | float) and not isinstance(point, bool)
        if not is_number or not math.isfinite(point) or abs(point) > LARGEST_POINT:
            raise ValueError(
                f"CustomFunctionSpec.points must be finite numbers up to {LARGEST_POINT:g}; received {point!r}. "
                "Write them as -1, 0, 2.5."
            )
