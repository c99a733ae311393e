"""What record_memory refuses, before anything is recorded: what was asked for, what came, what to pass instead."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import nn

from engine.graph.roots import named_inputs


def check_arguments(step: Any, model: Any, inputs: Any, optimizer: Any, steps: Any) -> None:
    """TypeError for a value of the wrong kind, ValueError for a number of steps below 1."""
    if isinstance(step, nn.Module) or not callable(step):
        _refuse("step", "a function without arguments that does one training step", step, "Pass `lambda: ...`.")
    if model is not None and not isinstance(model, nn.Module):
        _refuse("model", "an nn.Module or None", model, "Leave it out where there is none.")
    if inputs is not None and not named_inputs(inputs) and not _is_empty(inputs):
        _refuse("inputs", "tensors: one, a list or tuple, or a dict by name", inputs, "Leave it out.")
    if optimizer is not None and not isinstance(optimizer, torch.optim.Optimizer):
        _refuse("optimizer", "a torch.optim.Optimizer or None", optimizer, "Leave it out where there is none.")
    if isinstance(steps, bool) or not isinstance(steps, int):
        _refuse("steps", "a whole number", steps, "Pass 1 or more.")
    if steps < 1:
        raise ValueError(f"record_memory: steps must be at least 1, received {steps}. Pass 1 or more.")


def _is_empty(inputs: Any) -> bool:
    return isinstance(inputs, Mapping | list | tuple) and not len(inputs)


def _refuse(name: str, expected: str, received: Any, remedy: str) -> None:
    kind = type(received).__name__
    raise TypeError(f"record_memory: {name} must be {expected}, received {kind}. {remedy}")
