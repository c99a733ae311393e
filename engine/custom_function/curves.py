"""Curves over x: forward, the Function's backward, and three derivatives that do not use it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

from engine.custom_function.building import Made, Tensors, as_tuple
from engine.custom_function.catalogue import TYPED
from engine.custom_function.results import Curve
from engine.custom_function.spec import CustomFunctionSpec
from engine.expression.language import Call, Index, Operation, Tree
from engine.pytorch_said import attempt
from engine.runner.contract import Array
from engine.summarise import array_of

STEP = 1e-5
"""Of central differences in float64: near the best for a derivative of order 1, about eps ** (1 / 3)."""
COMPLEX_STEP = 1e-30
BRANCH = 1e-9
"""How near the complex value must be to the real one, relative and absolute."""
PROBES = (-1.3, 1.2)
"""Where the outputs are probed; the second for functions that are NaN below 1, as acosh."""
NOT_ANALYTIC = {
    "abs", "ceil", "floor", "round", "sign", "trunc", "relu", "elu", "selu", "softplus", "logsigmoid", "hardtanh",
    "hardsigmoid", "hardswish", "leaky_relu", "clamp", "where", "heaviside", "maximum", "minimum", "amax", "amin",
    "norm", "var", "std", "erf", "erfc", "lgamma", "atan2", "gelu", "mish", "softsign", "detach", "sinc",
}  # fmt: skip


def read_curves(spec: CustomFunctionSpec, made: Made) -> tuple[Curve, ...]:
    """One curve per output that is elementwise in x; z and other inputs are held at 1."""
    if not spec.entry.elementwise or made.plain is None:
        return ()
    x = torch.linspace(spec.x_from, spec.x_to, spec.samples, dtype=torch.float64)
    found, _ = attempt(lambda: _outputs(spec, made, x))
    if found is None or any(one.shape != x.shape for one in found):
        return ()
    curves = [_curve(spec, made, x, number) for number in range(len(found))]
    return tuple(curve for curve in curves if _is_elementwise(spec, made, curve.output))


def _others(spec: CustomFunctionSpec, x: torch.Tensor) -> Tensors:
    return (torch.ones_like(x, requires_grad=False),) if spec.names_z else ()


def _outputs(spec: CustomFunctionSpec, made: Made, x: torch.Tensor) -> Tensors:
    with torch.no_grad():
        return made.call(x, *_others(spec, x))


def _is_elementwise(spec: CustomFunctionSpec, made: Made, number: int) -> bool:
    """Whether elements of the output stay as they are, bit for bit, when all before or all after them change."""
    for low in PROBES:
        x = torch.linspace(low, low + 3, 6, dtype=torch.float64)
        for kept, moved in ((slice(0, 3), slice(3, 6)), (slice(3, 6), slice(0, 3))):
            other = x.clone()
            other[moved] += 0.37
            first, second = _outputs(spec, made, x)[number], _outputs(spec, made, other)[number]
            if not torch.allclose(first[kept], second[kept], 0.0, 0.0, equal_nan=True):
                return False
    return True


def _curve(spec: CustomFunctionSpec, made: Made, x: torch.Tensor, number: int) -> Curve:
    scale = spec.grad_output
    forward = _outputs(spec, made, x)[number]
    up, down = _outputs(spec, made, x + STEP)[number], _outputs(spec, made, x - STEP)[number]
    numeric = scale * (up - down) / (2 * STEP)
    assert made.plain is not None
    ours, error = attempt(lambda: _derivative(spec, made.call, x, number))
    plain, _ = attempt(lambda: _derivative(spec, made.plain, x, number))
    return Curve(
        output=number,
        x=array_of(x),
        forward=array_of(forward),
        analytic=_column(ours),
        autograd=_column(plain),
        numeric=array_of(numeric),
        complex_step=_column(_complex_step(spec, made, x, number)),
        note="" if ours is not None else error.message if error else "This output does not require grad.",
    )


def _column(tensor: torch.Tensor | None) -> Array | None:
    return None if tensor is None else array_of(tensor)


def _derivative(
    spec: CustomFunctionSpec, call: Callable[..., Any] | None, x: torch.Tensor, number: int
) -> torch.Tensor | None:
    """What backward gives for grad_output at every x; None where the output is not tracked."""
    assert call is not None
    leaf = x.clone().requires_grad_()
    output = as_tuple(call(leaf, *_others(spec, x)))[number]
    if not output.requires_grad:
        return None
    (grad,) = torch.autograd.grad(output, leaf, torch.full_like(x, spec.grad_output), allow_unused=True)
    return torch.zeros_like(x) if grad is None else grad


def _complex_step(spec: CustomFunctionSpec, made: Made, x: torch.Tensor, number: int) -> torch.Tensor | None:
    """Im f(x + ih) / h of an analytic formula: no subtraction, so exact to rounding (Squire and Trapp, 1998).

    NaN where the complex function is no continuation of the real one, as log below 0.
    """
    if not (is_analytic(spec.trees["forward"]) if spec.function == TYPED else spec.entry.analytic):
        return None
    step = torch.complex(x, torch.full_like(x, COMPLEX_STEP))
    others = tuple(one.to(torch.complex128) for one in _others(spec, x))
    plain = made.plain
    assert plain is not None
    found, _ = attempt(lambda: plain(step, *others)[number])
    if found is None or not found.is_complex():
        return None
    real = _outputs(spec, made, x)[number]
    same_branch = torch.isclose(found.real, real, BRANCH, BRANCH)
    return torch.where(same_branch, spec.grad_output * found.imag / COMPLEX_STEP, math.nan)


def is_analytic(tree: Tree) -> bool:
    """Whether an expression is made of operations that have a complex derivative."""
    match tree:
        case Call(function, tensors):
            return function not in NOT_ANALYTIC and all(map(is_analytic, tensors))
        case Operation(sign, left, right):
            return (
                sign not in ("<", "<=", ">", ">=", "==") and is_analytic(right) and (left is None or is_analytic(left))
            )
        case Index(of):
            return is_analytic(of)
    return True
