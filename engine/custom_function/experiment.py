"""check_function: call a Function, draw its curves, ask gradcheck, and find out why it says what it says."""

from __future__ import annotations

import warnings

import torch

from engine.custom_function import jacobians
from engine.custom_function.building import input_names, make, make_inputs
from engine.custom_function.calling import describe_call
from engine.custom_function.checking import check_orders, run_gradcheck
from engine.custom_function.curves import read_curves
from engine.custom_function.lifetime import observe_lifetime
from engine.custom_function.results import CheckedFunction, Gradcheck, Lifetime
from engine.custom_function.spec import CustomFunctionSpec
from engine.custom_function.verdict import reach_verdict
from engine.pytorch_said import PyTorchSaid, attempt
from engine.runner.contract import ProgressSink
from engine.summarise import array_of

__all__ = ["check_function"]


def check_function(spec: CustomFunctionSpec, progress: ProgressSink) -> CheckedFunction:
    """The call, its curves, gradcheck of orders 1 to 4 and the verdict."""
    torch.manual_seed(spec.seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = make(spec)
        progress("calling", 0.0)
        call = describe_call(spec, made)
        usable = call.forward_error is None and call.backward_error is None
        progress("curves", 0.2)
        curves = read_curves(spec, made) if call.forward_error is None else ()
        progress("gradcheck", 0.4)
        found, _ = attempt(lambda: jacobians.pairs(made.call, make_inputs(spec), spec.eps)) if usable else ([], None)
        check = run_gradcheck(spec, made, found or []) if call.forward_error is None else _unchecked(call.forward_error)
        progress("orders", 0.6)
        orders = check_orders(spec, made, check) if usable else ()
        progress("verdict", 0.8)
        verdict = reach_verdict(spec, made, call, check, orders)
        lifetime = observe_lifetime(spec, made) if call.forward_error is None else Lifetime()
    return CheckedFunction(
        inputs=tuple(array_of(one) for one in make_inputs(spec)),
        input_names=input_names(spec),
        call=call,
        lifetime=lifetime,
        curves=curves,
        check=check,
        verdict=verdict,
        orders=orders,
    )


def _unchecked(error: PyTorchSaid) -> Gradcheck:
    return Gradcheck(passed=False, error=error)
