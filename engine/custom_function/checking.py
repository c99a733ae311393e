"""torch.autograd.gradcheck and gradgradcheck as asked, their words and warnings, and the Jacobians behind them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch.autograd import gradcheck, gradgradcheck

from engine.custom_function.building import Made, Tensors, make_inputs
from engine.custom_function.jacobians import Pair
from engine.custom_function.results import Gradcheck, JacobianPair, OrderCheck, Worst
from engine.custom_function.spec import CustomFunctionSpec
from engine.pytorch_said import PyTorchSaid, attempt
from engine.runner.contract import Array

HIGHEST_ORDER = 4
MOST_ELEMENTS_OF_ORDERS = 48


def settings_of(spec: CustomFunctionSpec) -> dict[str, Any]:
    names = ("eps", "atol", "rtol", "nondet_tol", "fast_mode")
    return {name: getattr(spec, name) for name in names}


def ask(call: Callable[..., Any], inputs: Tensors, settings: dict[str, Any], seed: int) -> PyTorchSaid | None:
    """What gradcheck raises, None when it passes."""
    torch.manual_seed(seed)
    return attempt(lambda: gradcheck(call, inputs, **settings))[1]


def run_gradcheck(spec: CustomFunctionSpec, made: Made, found: list[Pair]) -> Gradcheck:
    """PyTorch's own answer, and the Jacobians entry by entry against atol + rtol * |numerical|."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        error = ask(made.call, make_inputs(spec), settings_of(spec), spec.seed)
    outside = [pair.outside(spec.atol, spec.rtol) for pair in found]
    return Gradcheck(
        passed=error is None,
        error=error,
        warnings=tuple(dict.fromkeys(str(one.message) for one in caught)),
        pairs=tuple(_pair(pair, int(mask.sum())) for pair, mask in zip(found, outside, strict=True)),
        worst=_worst(found, spec),
        mismatches=sum(int(mask.sum()) for mask in outside),
        entries=sum(mask.size for mask in outside),
    )


def _pair(pair: Pair, mismatches: int) -> JacobianPair:
    return JacobianPair(
        output=pair.output,
        input=pair.input,
        analytical=_array(pair.analytical),
        numerical=_array(pair.numerical),
        mismatches=mismatches,
    )


def _array(matrix: np.ndarray[Any, Any]) -> Array:
    return Array("float64", matrix.shape, np.ascontiguousarray(matrix).tobytes())


def _worst(found: list[Pair], spec: CustomFunctionSpec) -> Worst | None:
    """The entry furthest outside of its tolerance, one that is not finite first; else the largest difference."""
    best: tuple[tuple[float, float], Worst] | None = None
    for pair in found:
        if not pair.analytical.size:
            continue
        difference = np.abs(pair.analytical - pair.numerical)
        tolerance = spec.atol + spec.rtol * np.abs(pair.numerical)
        with np.errstate(invalid="ignore"):
            excess = np.nan_to_num(difference - tolerance, nan=np.inf, posinf=np.inf)
        ranked = excess if excess.max() > 0 else difference
        row, column = (int(i) for i in np.unravel_index(int(ranked.argmax()), ranked.shape))
        at = (row, column)
        rank = max(float(excess[at]), 0.0), float(difference[at])
        if best is None or rank > best[0]:
            best = rank, Worst(
                output=pair.output, input=pair.input, row=row, column=column,
                analytical=float(pair.analytical[at]), numerical=float(pair.numerical[at]),
                difference=float(difference[at]), tolerance=float(tolerance[at]),
            )  # fmt: skip
    return best[1] if best else None


def check_orders(spec: CustomFunctionSpec, made: Made, first: Gradcheck) -> tuple[OrderCheck, ...]:
    """Orders 1 to 4 with the spec's settings; those after one that cannot be computed are left out."""
    inputs = make_inputs(spec)
    elements = sum(one.numel() for one in inputs)
    found = [_order(spec, made, 1, first.error)]
    if not elements or elements > MOST_ELEMENTS_OF_ORDERS or not any(_is_tracked(made, inputs)):
        return tuple(found)
    for order in range(2, HIGHEST_ORDER + 1):
        if found[-1].error is not None and found[-1].error.type != "GradcheckError":
            break
        derived = derivative(made.call, order - 2)
        torch.manual_seed(spec.seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if not any(one.requires_grad for one in (attempt(lambda d=derived: d(*inputs))[0] or ())):  # type: ignore[misc]
                if not found[-1].passed:
                    break  # that the derivative before is not tracked is that failure, no constant
                found.append(_constant(spec, made, order))
                continue
            error = attempt(lambda d=derived: gradgradcheck(d, make_inputs(spec), **settings_of(spec)))[1]  # type: ignore[misc]
        found.append(_order(spec, made, order, error))
    return tuple(found)


def _is_tracked(made: Made, inputs: Tensors) -> list[bool]:
    outputs, _ = attempt(lambda: made.call(*inputs))
    return [one.requires_grad for one in outputs or ()]


def _constant(spec: CustomFunctionSpec, made: Made, order: int) -> OrderCheck:
    off = _off_formula(spec, made, order)
    words = "the derivative before it is a constant to autograd: nothing is left to differentiate"
    return OrderCheck(order=order, passed=not off, words=words, off_formula=off)


def _order(spec: CustomFunctionSpec, made: Made, order: int, error: PyTorchSaid | None) -> OrderCheck:
    if error is None:
        words = "gradcheck passes" if order == 1 else "gradgradcheck passes"
    else:
        words = error.message.split("\n")[0]
    return OrderCheck(
        order=order, passed=error is None, words=words, error=error, off_formula=_off_formula(spec, made, order)
    )


def derivative(call: Callable[..., Tensors], order: int) -> Callable[..., Tensors]:
    """The derivative of the given order of the sum of all outputs, by the first input, ready for the next one."""

    def derived(*inputs: torch.Tensor) -> Tensors:
        outputs = call(*inputs)
        for _ in range(order):
            used = [one for one in outputs if one.requires_grad]
            if not used:
                return (torch.zeros_like(inputs[0]),)
            seeds = [torch.ones_like(one) for one in used]
            grad = torch.autograd.grad(used, inputs[0], seeds, create_graph=True, allow_unused=True)[0]
            outputs = (torch.zeros_like(inputs[0]) if grad is None else grad,)
        return outputs

    return derived if order else call


def _off_formula(spec: CustomFunctionSpec, made: Made, order: int) -> float | None:
    """Largest distance between this derivative of the Function and that of its formula; None where one fails."""
    if made.plain is None or made.plain is made.call:
        return None
    torch.manual_seed(spec.seed)
    ours, _ = attempt(lambda: derivative(made.call, order)(*make_inputs(spec))[0])
    plain = made.plain
    formula, _ = attempt(lambda: derivative(plain, order)(*make_inputs(spec))[0])
    if ours is None or formula is None or not ours.numel():
        return None
    return float((materialised(ours) - materialised(formula)).abs().max())


def materialised(tensor: torch.Tensor) -> torch.Tensor:
    """A copy with memory: the derivative of sign has none, and subtracting such zeros loads a compiler."""
    return torch.zeros(tensor.shape, dtype=tensor.dtype).copy_(tensor.detach())
