"""differentiate: autograd.grad of autograd.grad, order by order, with the graph that each leaves."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec
import torch
from torch import Tensor

from engine.expression.evaluate import evaluate
from engine.expression.language import Tree
from engine.expression.written import python_of
from engine.graph.spec import Graph
from engine.graph.walk import read_graph
from engine.higher_order.functions import CLOSED_FORMS, is_elementwise, read_scalar
from engine.higher_order.results import Curve, Derivatives, Order, Outcome, Setting
from engine.higher_order.spec import DerivativeSpec
from engine.pytorch_said import PyTorchSaid, attempt
from engine.runner.contract import ProgressSink
from engine.summarise import array_of

POINTS, FEW_POINTS = 241, 61
"""Of a curve; the fewer where every point must be differentiated alone."""
STEP = 6e-6
"""Of central differences, relative to x: the cube root of float64's rounding."""
grad: Callable[..., tuple[Tensor, ...]] = torch.autograd.grad
Function = Callable[[Tensor], Tensor]


def differentiate(spec: DerivativeSpec, progress: ProgressSink) -> Derivatives:
    """Every order at x with the spec's arguments, the curves of each, and the last order with other arguments."""
    x = _leaf(spec, spec.x)
    a = _leaf(spec, spec.a)
    y, error = attempt(lambda: _tensor(evaluate(spec.tree, {"x": x, "a": a}), x))
    progress("differentiating at x", 0.1)
    steps = [] if y is None else _steps(spec, y, x, a)
    progress("the curves", 0.4)
    over, curves, refused = _curves(spec) if y is not None else (torch.empty(0), (), None)
    return Derivatives(
        orders=tuple(_checked(spec, step) for step in steps),
        x=array_of(over),
        curves=curves,
        settings=_settings(spec, x, a) if y is not None else (),
        error=error or refused,
    )


def arguments(spec: DerivativeSpec) -> dict[str, bool]:
    """What autograd.grad is given; what is not switched on is left out, as one would write it."""
    names = ("create_graph", "allow_unused", "materialize_grads")
    return {name: True for name in names if getattr(spec, name)}


def _leaf(spec: DerivativeSpec, value: float) -> Tensor:
    return torch.tensor(value, dtype=getattr(torch, spec.dtype), requires_grad=True)


def _tensor(value: Any, like: Tensor) -> Tensor:
    """The function's value as a tensor: an expression without x is a number, a comparison a bool."""
    found = value if isinstance(value, Tensor) else torch.as_tensor(value, dtype=like.dtype)
    return found if found.is_floating_point() else found.to(like.dtype)


def _steps(spec: DerivativeSpec, y: Tensor, x: Tensor, a: Tensor) -> list[Order]:
    found = [_described(0, y, None, x, a)]
    current: Tensor | None = y
    for order in range(1, spec.order + 1):
        if current is None:
            found.append(Order(order=order, outcome="not reached"))
            continue
        below = current
        current, error = attempt(lambda below=below: grad(below, x, **arguments(spec))[0])  # type: ignore[misc]
        found.append(_described(order, current, error, x, a))
    return found


def _described(order: int, value: Tensor | None, error: PyTorchSaid | None, x: Tensor, a: Tensor) -> Order:
    if value is None:
        return Order(order=order, outcome="None" if error is None else "error", error=error)
    return Order(
        order=order,
        outcome="value",
        value=value.item(),
        grad_fn="" if value.grad_fn is None else value.grad_fn.name(),
        requires_grad=value.requires_grad,
        graph=recorded_graph(value, _called(order), x, a),
    )


def _called(order: int) -> str:
    return "y" if order == 0 else f"d{order}"


def recorded_graph(value: Tensor, name: str, x: Tensor, a: Tensor) -> Graph | None:
    """The graph behind a value, read before anything frees it; None where nothing was recorded."""
    if value.grad_fn is None:
        return None
    return read_graph([(name, value)], None, {"x": x, "a": a})[0]


def _checked(spec: DerivativeSpec, one: Order) -> Order:
    """The order with its references; a function that they cannot be had for keeps None."""
    reference = _References(spec)
    return msgspec.structs.replace(
        one,
        closed_form=reference.closed_form(one.order),
        closed_form_text=reference.closed_text(one.order),
        forward_mode=reference.forward_mode(one.order),
        finite_difference=reference.finite_difference(one.order),
    )


class _References:
    """Second methods at x, in float64."""

    def __init__(self, spec: DerivativeSpec) -> None:
        self.spec, self.forms = spec, closed_trees(spec)
        self.x = torch.tensor(spec.x, dtype=torch.float64)

    def closed_form(self, order: int) -> float | None:
        """None also at a kink, where there is no derivative."""
        value = _values_of(self.forms[order], self.spec.a, self.x).item() if self.forms else math.nan
        return None if math.isnan(value) else value

    def closed_text(self, order: int) -> str:
        return "" if not self.forms else python_of(self.forms[order])

    def forward_mode(self, order: int) -> float | None:
        value, _ = attempt(lambda: nested_jvp(scalar_function(self.spec), order)(self.x))
        return None if value is None else value.item()

    def finite_difference(self, order: int) -> float | None:
        """Of the derivative one order below, which autograd computed."""
        if order == 0:
            return None
        step = STEP * max(1.0, abs(self.spec.x))
        ends = torch.stack([self.x + step, self.x - step])
        found, _ = attempt(lambda: torch.stack([derivative_values(self.spec, end, order - 1)[-1] for end in ends]))
        return None if found is None else ((found[0] - found[1]) / (2 * step)).item()


def closed_trees(spec: DerivativeSpec) -> tuple[Tree, ...]:
    """The function and its derivatives by hand; () of a typed one."""
    forms = CLOSED_FORMS.get(spec.text.strip())
    return () if forms is None else (spec.tree, *map(read_scalar, forms))


def scalar_function(spec: DerivativeSpec) -> Function:
    """The function over float64 numbers, `a` a constant."""
    a = torch.tensor(spec.a, dtype=torch.float64)
    return lambda x: _tensor(evaluate(spec.tree, {"x": x, "a": a}), x).expand(x.shape)


def nested_jvp(function: Function, order: int) -> Function:
    """The derivative by forward mode alone: `torch.func.jvp` inside `torch.func.jvp`, no graph recorded."""
    for _ in range(order):
        function = _jvp_of(function)
    return function


def _jvp_of(function: Function) -> Function:
    def derivative(x: Tensor) -> Tensor:
        found: Tensor = torch.func.jvp(function, (x,), (torch.ones_like(x),))[1]
        return found

    return derivative


def derivative_values(spec: DerivativeSpec, x: Tensor, order: int) -> list[Tensor]:
    """Order 0 to `order` by autograd at every entry of x, zero where there is no path: create_graph throughout."""
    leaf = x.detach().clone().requires_grad_()
    found = [scalar_function(spec)(leaf)]
    for _ in range(order):
        found.append(_next(found[-1], leaf))
    return [one.detach() for one in found]


def _next(value: Tensor, leaf: Tensor) -> Tensor:
    if not value.requires_grad:
        return torch.zeros_like(leaf)
    return torch.autograd.grad(value.sum(), leaf, create_graph=True, materialize_grads=True)[0]


class _Over(NamedTuple):
    x: Tensor
    at_once: bool


def _over(spec: DerivativeSpec) -> _Over:
    at_once = is_elementwise(spec.tree)
    low, high = min(-spec.span, spec.x), max(spec.span, spec.x)
    x = torch.linspace(low, high, POINTS if at_once else FEW_POINTS, dtype=torch.float64)
    x[x.abs() <= 1e-12 * max(-low, high)] = 0.0  # rounding leaves 1e-16 in the middle, where a pole reaches 1e33
    return _Over(x, at_once)


def _curves(spec: DerivativeSpec) -> tuple[Tensor, tuple[Curve, ...], PyTorchSaid | None]:
    over, forms = _over(spec), closed_trees(spec)
    autograd, error = attempt(lambda: _each(over, lambda x: torch.stack(derivative_values(spec, x, spec.order))))
    if autograd is None:
        return over.x, (), error
    curves = []
    for order in range(spec.order + 1):
        nested = nested_jvp(scalar_function(spec), order)
        forward, _ = attempt(lambda nested=nested: _each(over, nested))  # type: ignore[misc]
        by_hand = _values_of(forms[order], spec.a, over.x) if forms else None
        curves.append(
            Curve(
                order=order,
                autograd=array_of(autograd[order]),
                closed_form=None if by_hand is None else array_of(by_hand),
                forward_mode=None if forward is None else array_of(forward),
            )
        )
    return over.x, tuple(curves), None


def _each(over: _Over, function: Function) -> Tensor:
    """The function over all x: in one call, or where entries would meet one by one."""
    return function(over.x) if over.at_once else torch.stack([function(x) for x in over.x], dim=-1)


def _values_of(tree: Tree, a: float, x: Tensor) -> Tensor:
    found = _tensor(evaluate(tree, {"x": x, "a": torch.tensor(a, dtype=torch.float64)}), x)
    return found.expand(x.shape).clone()


def _settings(spec: DerivativeSpec, x: Tensor, a: Tensor) -> tuple[Setting, ...]:
    """The last order by other arguments; the ones below it with create_graph, or there would be no last."""
    y = _tensor(evaluate(spec.tree, {"x": x, "a": a}), x)
    for _ in range(spec.order - 1):
        following, _ = attempt(lambda y=y: torch.autograd.grad(y, x, create_graph=True)[0])  # type: ignore[misc]
        if following is None:
            break
        y = following
    tried: tuple[dict[str, bool], ...] = ({}, {"allow_unused": True}, {"materialize_grads": True})
    return tuple(_setting(y, x, more) for more in tried)


def _setting(y: Tensor, x: Tensor, more: dict[str, bool]) -> Setting:
    value, error = attempt(lambda: grad(y, x, retain_graph=True, **more)[0])
    outcome: Outcome = "value" if value is not None else "None" if error is None else "error"
    words = "".join(f", {name}={given}" for name, given in more.items())
    return Setting(
        code=f"grad(·, x{words})", outcome=outcome, value=None if value is None else value.item(), error=error
    )
