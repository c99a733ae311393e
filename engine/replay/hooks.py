"""The hook a ReplaySpec asks for, placed on a leaf or a module."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from engine.models.build import Built
from engine.replay.record import Recording
from engine.replay.spec import GradientHook

Gradient = torch.Tensor | None
Change = Callable[[torch.Tensor], torch.Tensor]


def change_of(hook: GradientHook) -> Change:
    """What the hook makes of a gradient."""
    changes: dict[str, Change] = {
        "observe": lambda gradient: gradient,
        "scale": lambda gradient: gradient * hook.amount,
        "clip by value": lambda gradient: gradient.clamp(-abs(hook.amount), abs(hook.amount)),
        "zero": torch.zeros_like,
        "replace by ones": torch.ones_like,
        "returns nan": lambda gradient: torch.full_like(gradient, torch.nan),
    }
    return changes[hook.kind]


class PlacedHook:
    """The hooks of one spec on one model; where they could not be placed, `note` has PyTorch's reason."""

    def __init__(self, hook: GradientHook, built: Built) -> None:
        self.note = ""
        self.recording: Recording | None = None
        self._hook = hook
        self._handles: list[Any] = []
        if hook.kind == "none":
            return
        change = change_of(hook)
        modules, parameters = dict(built.model.named_modules()), dict(built.model.named_parameters())
        if hook.at in parameters:
            self._on_leaf(hook.at, parameters[hook.at], change)
        elif hook.at in built.inputs:
            self._on_leaf(hook.at, built.inputs[hook.at], change)
        elif not hook.at:
            self._on_inputs(built, change)
        elif hook.at in modules:
            self._on_module(modules[hook.at], change)
        else:
            raise ValueError(_unknown(hook, parameters, modules, built))

    def remove(self) -> None:
        for handle in self._handles:
            handle.remove()
        self._handles.clear()

    def _on_inputs(self, built: Built, change: Change) -> None:
        wanting = {name: tensor for name, tensor in built.inputs.items() if tensor.requires_grad}
        for name, tensor in (wanting or built.inputs).items():
            self._on_leaf(name, tensor, change)

    def _on_leaf(self, name: str, leaf: torch.Tensor, change: Change) -> None:
        try:
            self._handles.append(leaf.register_hook(change))  # type: ignore[no-untyped-call]
            self._handles.append(leaf.register_post_accumulate_grad_hook(lambda _: None))  # type: ignore[no-untyped-call]
        except RuntimeError as error:
            self.note = f"No hook on {name}: {error}."

    def _on_module(self, module: nn.Module, change: Change) -> None:
        def on_outputs(module: nn.Module, gradients: Any) -> Any:
            return self._changed(gradients, change)

        def on_inputs(module: nn.Module, gradients: Any, _: Any) -> Any:
            return self._changed(gradients, change)

        if self._hook.side == "outputs":
            self._handles.append(module.register_full_backward_pre_hook(on_outputs))
        else:
            self._handles.append(module.register_full_backward_hook(on_inputs))

    def _changed(self, gradients: tuple[Gradient, ...], change: Change) -> tuple[Gradient, ...]:
        gave = tuple(None if gradient is None else change(gradient) for gradient in gradients)
        if self.recording is not None:
            self.recording.note_module_hook(self._hook.at, gradients, gave)
        return gave


def _unknown(hook: GradientHook, parameters: dict[str, Any], modules: dict[str, Any], built: Built) -> str:
    listed = ", ".join([*parameters, *built.inputs, *filter(None, modules)][:12])
    return (
        f"GradientHook.at must name a parameter, an input or a module of the model; received {hook.at!r}. "
        f"Choose among {listed}, ..., or leave it empty for the input."
    )
