"""Ways the tests look at a replay, independent of how it was recorded."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from engine import run
from engine.models.build import Built, build
from engine.models.spec import ModelSpec
from engine.replay.spec import Accumulation, Replay, ReplaySpec, Step
from engine.summary import TensorSummary


def replayed(model: ModelSpec | Any, **fields: Any) -> Replay:
    """The replay of a model, or of an architecture under the default settings."""
    spec = model if isinstance(model, ModelSpec) else ModelSpec(architecture=model)
    return run(ReplaySpec(model=spec, **fields), inline=True)


def values(summary: TensorSummary) -> Any:
    """The tensor a summary holds in full, as nested lists."""
    assert summary.values is not None
    return np.frombuffer(summary.values.data, summary.values.dtype).reshape(summary.values.shape).tolist()


def names(replay: Replay, kind: str = "") -> list[str]:
    return [step.name for step in replay.steps if kind in ("", step.kind)]


def step_of(replay: Replay, name: str) -> Step:
    """The only step whose name starts with `name`."""
    (found,) = [step for step in replay.steps if step.name.startswith(name)]
    return found


def received(replay: Replay, step: Step) -> list[Any]:
    return [None if index is None else values(replay.gradients[index]) for index in step.received]


def returned(replay: Replay, step: Step) -> list[Any]:
    return [None if index is None else values(replay.gradients[index]) for index in step.returned]


def accumulation(replay: Replay, leaf: str, pass_number: int = 0) -> Accumulation:
    """What happened to one leaf in one pass."""
    (found,) = [
        one for one in replay.accumulations if one.leaf == leaf and replay.steps[one.step].pass_number == pass_number
    ]
    return found


def leaves_of(built: Built) -> dict[str, torch.Tensor]:
    return {**dict(built.model.named_parameters()), **built.inputs}


def plain_gradients(model: ModelSpec, passes: int = 1, **how: Any) -> dict[str, torch.Tensor | None]:
    """`.grad` of every leaf after plain backward passes on a model of its own, nothing hooked."""
    built = build(model)
    for _ in range(passes):
        torch.autograd.backward(built.loss(built.forward()), **how)
    return {name: leaf.grad for name, leaf in leaves_of(built).items()}
