"""A ModelSpec built from tensors that hold nothing and yet take the path of their device."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from engine import recorded_search
from engine.models.architecture import Expression
from engine.models.build import Built, build
from engine.models.modules import module_for
from engine.models.spec import ModelSpec
from engine.models.toggles import apply_toggles


def build_holding_nothing(spec: ModelSpec, mode: Any) -> Built:
    """The model, inputs and target of `spec` as tensors of `mode`, which must not be entered yet.

    On plain device="meta" attention and recurrent layers take another path than on the device; under `mode` every
    tensor claims to be there. Drawing is done on meta first: no number is made.
    """
    if isinstance(spec.architecture, Expression):
        with mode:
            return build(spec)
    with torch.device("meta"):
        model = module_for(spec.architecture)
    model.to(dtype=getattr(torch, spec.dtype))
    if spec.memory_format == "channels_last":
        model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    with mode:
        _put_on_device(model, spec.device)
        inputs = {name: _leaf(x, spec) for name, x in model.example_inputs(spec.batch).items()}  # type: ignore[operator]
        wants_target = spec.loss == "cross_entropy"
        target = model.example_target(spec.batch).to(spec.device) if wants_target else None  # type: ignore[operator]
    apply_toggles(model, spec)
    return Built(spec, model, inputs, target)


def _put_on_device(model: nn.Module, device: str) -> None:
    """Replace each parameter and buffer, a shared one by one."""
    made: dict[int, torch.Tensor] = {}
    for module in model.modules():
        parameters, buffers = recorded_search.members_of(module)
        for members in (parameters, buffers):
            for name, tensor in members.items():
                if tensor is not None:
                    members[name] = made.setdefault(id(tensor), _like(tensor, device))
        recorded_search.follow_recurrent_weights(module)


def _like(tensor: torch.Tensor, device: str) -> torch.Tensor:
    empty = torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device=device)
    return nn.Parameter(empty, tensor.requires_grad) if isinstance(tensor, nn.Parameter) else empty


def _leaf(x: torch.Tensor, spec: ModelSpec) -> torch.Tensor:
    if not x.is_floating_point():
        return x.to(spec.device)
    layout = torch.channels_last if spec.memory_format == "channels_last" else torch.preserve_format
    moved = x.to(device=spec.device, dtype=getattr(torch, spec.dtype), memory_format=layout)
    return moved.detach().requires_grad_(spec.input_requires_grad)
