"""What is trained: a model, or the one weight of `loss = (w * factor).sum()`."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

import torch
from msgspec.structs import replace
from torch import nn

from engine.grad_scaler.spec import GradScalerSpec
from engine.models.build import Built, build


class Program:
    """Parameters by name, the loss of one pass, and the gradients that float32 would give."""

    def __init__(self, spec: GradScalerSpec) -> None:
        self.spec = spec
        self.built: Built | None = None if spec.model is None else build(replace(spec.model, autocast="off"))
        self.parameters: dict[str, nn.Parameter] = self._parameters()

    def _parameters(self) -> dict[str, nn.Parameter]:
        if self.built is None:
            names = ("w", "v")[: self.spec.optimizers]
            return {name: nn.Parameter(torch.ones(1)) for name in names}
        if self.spec.mistake == "float16 parameters":
            self.built.model.half()
            floats = {k: x for k, x in self.built.inputs.items() if x.is_floating_point()}
            self.built.inputs |= {k: x.detach().half().requires_grad_(x.requires_grad) for k, x in floats.items()}
        return {name: one for name, one in self.built.model.named_parameters() if one.requires_grad}

    def loss(self, injected: str | None, autocast: bool = True) -> torch.Tensor:
        """The loss of one pass; an injected value takes the place of `factor`, or is multiplied with the loss."""
        with self._autocast(autocast):
            if self.built is None:
                return self._scalar(float(injected) if injected else self.spec.factor)
            loss = self.built.loss(self.built.forward())
        return loss * float(injected) if injected else loss

    def _scalar(self, factor: float) -> torch.Tensor:
        total: torch.Tensor = self.parameters["w"] * factor
        if "v" in self.parameters:
            total = total + self.parameters["v"]
        return total.sum()

    def _autocast(self, wanted: bool) -> AbstractContextManager[Any]:
        chosen = self.spec.autocast
        dtype = torch.bfloat16 if chosen == "off" else getattr(torch, chosen)
        return torch.autocast("cpu", dtype=dtype, enabled=wanted and chosen != "off")

    def true_gradients(self) -> dict[str, list[torch.Tensor]]:
        """Gradients of parameters and of module outputs, without autocast and without scale; .grad is not touched."""
        outputs: list[torch.Tensor] = []
        hooks = [module.register_forward_hook(_noting(outputs)) for module in self._leaf_modules()]
        try:
            loss = self.loss(None, autocast=False)
        finally:
            for hook in hooks:
                hook.remove()
        parameters = list(self.parameters.values())
        found = torch.autograd.grad(loss, [*parameters, *outputs], allow_unused=True)
        return {
            "parameters": [grad for grad in found[: len(parameters)] if grad is not None],
            "activations": [grad for grad in found[len(parameters) :] if grad is not None],
        }

    def _leaf_modules(self) -> list[nn.Module]:
        model = self.built.model if self.built is not None else nn.Module()
        return [module for module in model.modules() if not any(True for _ in module.children())]


def _noting(outputs: list[torch.Tensor]) -> Any:
    def note(module: nn.Module, arguments: Any, output: Any) -> None:
        if isinstance(output, torch.Tensor) and output.requires_grad:
            outputs.append(output)

    return note
