"""Gradients by other means than `.backward()`: autograd.grad and torch.func on a model built a second time."""

from __future__ import annotations

import torch
from torch.func import functional_call

from engine.models.build import build
from engine.models.loss import model_loss
from engine.models.spec import ModelSpec


def by_autograd(model: ModelSpec) -> dict[str, torch.Tensor | None]:
    """`torch.autograd.grad` of the loss for every parameter and input that requires a gradient."""
    built = build(model)
    leaves = {**dict(built.model.named_parameters()), **built.inputs}
    asked = {name: leaf for name, leaf in leaves.items() if leaf.requires_grad}
    grads = torch.autograd.grad(built.loss(built.forward()), list(asked.values()), allow_unused=True)
    return dict(zip(asked, grads, strict=True))


def by_func(model: ModelSpec) -> dict[str, torch.Tensor]:
    """`torch.func.grad` of the loss as a function of the parameters, run without `.backward()`."""
    built = build(model)
    parameters = {name: parameter.detach() for name, parameter in built.model.named_parameters()}
    buffers = dict(built.model.named_buffers())

    def loss(values: dict[str, torch.Tensor]) -> torch.Tensor:
        torch.manual_seed(model.seed)
        outputs = functional_call(built.model, (values, buffers), (), built.inputs)
        return model_loss(model, outputs, built.target)

    found: dict[str, torch.Tensor] = torch.func.grad(loss)(parameters)
    return found
