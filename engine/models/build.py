"""A ModelSpec made real: the module, its inputs, its one forward and its loss."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn

from engine.devices import require_device
from engine.models.architecture import Expression
from engine.models.loss import model_loss
from engine.models.modules import module_for
from engine.models.price import price
from engine.models.spec import ModelSpec
from engine.models.toggles import apply_toggles, run_under

__all__ = ["Built", "build", "price"]


@dataclass
class Built:
    """A model ready for one forward. `inputs` are leaves by argument name; `named_extra` fills during forward."""

    spec: ModelSpec
    model: nn.Module
    inputs: dict[str, torch.Tensor]
    target: torch.Tensor | None = None
    named_extra: dict[str, torch.Tensor] = field(default_factory=dict)

    def forward(self) -> Any:
        """Run `model(**inputs)` once under the seed, autocast and gradient mode asked for; any structure of tensors.

        Errors PyTorch raises pass through.
        """
        torch.manual_seed(self.spec.seed)
        mode = self.spec.grad_mode if self.spec.grad_mode_block < 0 else "grad"
        with self.autocast():
            outputs = run_under(mode, self.model, **self.inputs)
        self.named_extra.update(getattr(self.model, "named", {}))
        return outputs

    def loss(self, outputs: Any) -> torch.Tensor:
        """The scalar to call backward on; computed under autocast like the forward, with gradients on."""
        with self.autocast():
            return model_loss(self.spec, outputs, self.target)

    def autocast(self) -> AbstractContextManager[Any]:
        """torch.autocast as asked for, or nothing."""
        if self.spec.autocast == "off":
            return nullcontext()
        return torch.autocast(self.spec.device, dtype=getattr(torch, self.spec.autocast))


def build(spec: ModelSpec) -> Built:
    """Build model, inputs and target of `spec` on its device, drawn from its seed.

    Raises ValueError when the device is not there. Weights are drawn on the CPU in float32, so they agree between
    devices and dtypes.
    """
    require_device(spec.device, "ModelSpec.device")
    torch.manual_seed(spec.seed)
    if isinstance(spec.architecture, Expression):
        return _build_expression(spec)
    model = module_for(spec.architecture)
    drawn = model.example_inputs(spec.batch)  # type: ignore[operator]
    target = model.example_target(spec.batch).to(spec.device) if spec.loss == "cross_entropy" else None  # type: ignore[operator]
    model.to(device=spec.device, dtype=getattr(torch, spec.dtype))
    if spec.memory_format == "channels_last":
        model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    apply_toggles(model, spec)
    return Built(spec, model, {name: _leaf(tensor, spec) for name, tensor in drawn.items()}, target)


def _build_expression(spec: ModelSpec) -> Built:
    model = module_for(spec.architecture)
    leaves: dict[str, torch.Tensor] = model.example_leaves(getattr(torch, spec.dtype))  # type: ignore[operator]
    if spec.device != "cpu":
        leaves = {k: v.detach().to(spec.device).requires_grad_(v.requires_grad) for k, v in leaves.items()}
    apply_toggles(model, spec)
    return Built(spec, model, leaves)


def _leaf(tensor: torch.Tensor, spec: ModelSpec) -> torch.Tensor:
    if not tensor.is_floating_point():
        return tensor.to(spec.device)
    moved = tensor.to(device=spec.device, dtype=getattr(torch, spec.dtype), memory_format=_memory_format(spec))
    return moved.requires_grad_(spec.input_requires_grad)


def _memory_format(spec: ModelSpec) -> torch.memory_format:
    return torch.channels_last if spec.memory_format == "channels_last" else torch.preserve_format
