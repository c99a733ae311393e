"""Faults put into a built model on purpose, so that any model can be made to go wrong."""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch

from engine.diagnostics.spec import OF_WEIGHTS, Fault
from engine.models.build import Built


def inject(built: Built, fault: Fault) -> str:
    """Put `fault` into the model or its inputs; what was done, in words ("" for nothing)."""
    if fault.kind == "nothing":
        return ""
    with torch.no_grad():
        if fault.kind in OF_WEIGHTS:
            return _into_weights(built, fault)
        return _into_inputs(built, fault)


def _into_inputs(built: Built, fault: Fault) -> str:
    floating = {name: one for name, one in built.inputs.items() if one.is_floating_point() or one.is_complex()}
    if not floating:
        return "Nothing was changed: the inputs are integer ids."
    for tensor in floating.values():
        if fault.kind == "scale input":
            tensor.mul_(10.0**fault.exponent)
        elif fault.kind == "zero input":
            tensor.zero_()
    names = ", ".join(floating)
    if fault.kind == "scale input":
        return f"{names} times 1e{fault.exponent}"
    if fault.kind == "zero input":
        return f"{names} set to 0"
    name, first = next(iter(floating.items()))
    first.view(-1)[0] = math.inf
    return f"inf put into the first element of {name}"


def _into_weights(built: Built, fault: Fault) -> str:
    chosen = dict(_parameters(built, fault))
    if not chosen:
        return "Nothing was changed: there is no such parameter."
    where = fault.group or "the model"
    if fault.kind == "a layer in float64":
        built.model.get_submodule(fault.group or _first_layer(built)).double()
        return f"{fault.group or _first_layer(built)} converted to float64"
    if fault.kind == "NaN in a parameter":
        name, tensor = next(iter(chosen.items()))
        tensor.view(-1)[0] = math.nan
        return f"NaN put into the first element of {name}"
    for tensor in chosen.values():
        if fault.kind == "scale weights":
            tensor.mul_(10.0**fault.exponent)
        elif fault.kind == "zero weights":
            tensor.zero_()
        else:
            tensor.fill_(-1e4)
    what = {"scale weights": f"times 1e{fault.exponent}", "zero weights": "set to 0"}.get(fault.kind, "set to -1e4")
    return f"{len(chosen)} parameters of {where} {what}"


def _parameters(built: Built, fault: Fault) -> Iterator[tuple[str, torch.Tensor]]:
    for name, tensor in built.model.named_parameters():
        inside = not fault.group or name.startswith(f"{fault.group}.")
        if inside and (fault.kind != "bias of -1e4" or name.endswith("bias")):
            yield name, tensor


def _first_layer(built: Built) -> str:
    """The module that owns the last parameters: what comes before it still computes in the first dtype."""
    owners = [
        path for path, one in built.model.named_modules() if next(one.parameters(recurse=False), None) is not None
    ]
    return str(owners[-1])
