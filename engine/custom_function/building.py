"""From a spec to tensors and a callable: the inputs, the Function with its arguments, the same forward in plain ops."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch.autograd import Function

from engine.custom_function import functions, functions_arguments, functions_ctx
from engine.custom_function.catalogue import TYPED
from engine.custom_function.spec import CustomFunctionSpec
from engine.custom_function.typed import typed_function, value_of
from engine.expression.language import parse_expression

Tensors = tuple[torch.Tensor, ...]
EXPANDED_TO = 4
LINEAR_OUTPUTS = 2
_MODULES = {one.__name__.rpartition(".")[2]: one for one in (functions, functions_arguments, functions_ctx)}


@dataclass(frozen=True)
class Made:
    """A Function ready to be applied to its differentiable inputs.

    `call(*inputs)` gives a tuple of outputs; `arguments(*inputs)` what apply is given; `plain(*inputs)` the outputs of
    the forward formula in ordinary operations. `function` is None where autograd differentiates a typed forward.
    """

    function: type[Function] | None
    names: tuple[str, ...]
    arguments: Callable[..., tuple[Any, ...]]
    call: Callable[..., Tensors]
    plain: Callable[..., Tensors] | None


def make(spec: CustomFunctionSpec, function: type[Function] | None = None) -> Made:
    """The Function of a spec; `function` is applied in its place where given."""
    kind = function or _function(spec)
    plain = _plain(spec)
    if kind is None:
        assert plain is not None
        return Made(None, ("x", "z") if spec.names_z else ("x",), lambda *inputs: inputs, plain, plain)

    def call(*inputs: torch.Tensor) -> Tensors:
        return as_tuple(kind.apply(*_arguments(spec, inputs)))  # type: ignore[no-untyped-call]

    names = ("x", "z") if spec.names_z else spec.entry.names
    return Made(kind, names, lambda *inputs: _arguments(spec, inputs), call, plain)


def as_tuple(outputs: Any) -> Tensors:
    return tuple(outputs) if isinstance(outputs, tuple | list) else (outputs,)


def _function(spec: CustomFunctionSpec) -> type[Function] | None:
    if spec.function == TYPED:
        return typed_function(spec.trees) if "backward" in spec.trees else None
    found: type[Function] = getattr(_MODULES[spec.entry.module], spec.function)
    return found


def _arguments(spec: CustomFunctionSpec, inputs: Tensors) -> tuple[Any, ...]:
    x = inputs[0]
    match spec.function:
        case "Fixed":
            return x, torch.full_like(x, spec.scale, requires_grad=False)
        case "Joined":
            return tuple(x.tensor_split(2))
        case "JoinedList":
            return (list(x.tensor_split(2)),)
        case "ScaleInPlace":
            return x.clone(), spec.scale
    return (*inputs, *(spec.parameters[name] for name in spec.entry.parameters))


def _plain(spec: CustomFunctionSpec) -> Callable[..., Tensors] | None:
    if spec.function == "LinearFunction":
        return lambda x, weight, bias: (torch.nn.functional.linear(x, weight, bias),)
    trees = [parse_expression(text, ("x", "z")) for text in spec.plain]
    return lambda *inputs: tuple(value_of(tree, dict(zip("xz", inputs, strict=False))) for tree in trees)


def input_names(spec: CustomFunctionSpec) -> tuple[str, ...]:
    if spec.function == "LinearFunction":
        return "x", "weight", "bias"
    return ("x", "z") if spec.names_z else ("x",)


def make_inputs(spec: CustomFunctionSpec, dtype: str = "") -> Tensors:
    """Fresh leaves for the Function, the first of them the points as the spec lays them out in memory."""
    kind = getattr(torch, dtype or spec.dtype)
    x = points_of(spec, kind)
    if spec.function == "LinearFunction":
        x = x if x.dim() == 2 else x[None]
        generator = torch.Generator().manual_seed(spec.seed)
        shapes = (LINEAR_OUTPUTS, x.shape[1]), (LINEAR_OUTPUTS,)
        others = [torch.randn(shape, generator=generator, dtype=torch.float64).to(kind) for shape in shapes]
    elif spec.names_z:
        others = [torch.linspace(0.5, 1.5, max(1, x.numel()), dtype=torch.float64)[: x.numel()].to(kind).view(x.shape)]
    else:
        others = []
    leaves = [x.requires_grad_(), *(other.requires_grad_() for other in others)]
    if spec.names_z and "backward" in spec.trees and "backward_z" not in spec.trees:
        leaves[1].requires_grad_(False)
    return tuple(leaves)


def points_of(spec: CustomFunctionSpec, kind: torch.dtype) -> torch.Tensor:
    """The points as a tensor; complex ones get imaginary parts 0.3, 0.5, 0.7, ..."""
    values = torch.tensor(spec.values, dtype=torch.float64)
    if kind.is_complex:
        values = torch.complex(values, 0.3 + 0.2 * torch.arange(len(values), dtype=torch.float64))
    values = values.to(kind)
    if spec.inputs == "expanded":
        return values.expand(EXPANDED_TO)
    if spec.inputs == "overlapping windows":
        return values.as_strided((2, 2), (1, 1))
    return values
