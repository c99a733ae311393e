"""Toggles put on a built model from outside: freezing, checkpointing, gradient modes. Plain torch, no hooks.

Every model with blocks runs them through its `run_blocks(x)`; a toggle replaces that one method on the instance.
Blocks are still called as modules, so hooks on them fire as before.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any, Protocol

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint, checkpoint_sequential

from engine.models.spec import ModelSpec

Step = Callable[[torch.Tensor], torch.Tensor]


class Checkpoints(Protocol):
    """What decides which blocks are checkpointed and how: the fields of ModelSpec that do."""

    @property
    def checkpoint(self) -> str: ...
    @property
    def checkpoint_k(self) -> int: ...
    @property
    def checkpoint_segments(self) -> int: ...
    @property
    def use_reentrant(self) -> bool: ...
    @property
    def preserve_rng_state(self) -> bool: ...


def apply_toggles(model: nn.Module, spec: ModelSpec) -> None:
    """Freeze, set train or eval, and replace `model.run_blocks` where `spec` asks for it."""
    model.train(spec.train)
    freeze(model, spec.frozen)
    if spec.checkpoint != "off" or (spec.grad_mode != "grad" and spec.grad_mode_block >= 0):
        model.run_blocks = partial(run_steps, steps_of(model, spec), spec)  # type: ignore[assignment]


def steps_of(model: nn.Module, spec: ModelSpec) -> list[Step]:
    """The blocks of `model`, the one that has a gradient mode of its own under it."""
    steps: list[Step] = list(model.blocks)  # type: ignore[arg-type]
    block = spec.grad_mode_block
    if spec.grad_mode != "grad" and block >= 0:
        steps[block] = partial(run_under, spec.grad_mode, steps[block])
    return steps


def freeze(model: nn.Module, groups: tuple[str, ...]) -> None:
    """requires_grad_(False) on every parameter below the named module paths."""
    for group in groups:
        model.get_submodule(group).requires_grad_(False)


def run_steps(steps: list[Step], spec: Checkpoints, x: torch.Tensor) -> torch.Tensor:
    """Run `steps` one after the other under the checkpoint policy of `spec`."""
    keep: dict[str, Any] = {"use_reentrant": spec.use_reentrant, "preserve_rng_state": spec.preserve_rng_state}
    if spec.checkpoint == "segments":
        segments = spec.checkpoint_segments  # all but the last are checkpointed
        out: torch.Tensor = checkpoint_sequential(steps, segments, x, **keep)  # type: ignore[no-untyped-call]
        return out
    for i, step in enumerate(steps):
        x = checkpoint(step, x, **keep) if is_checkpointed(spec, i) else step(x)
    return x


def is_checkpointed(spec: Checkpoints, block: int) -> bool:
    """Whether block number `block` is checkpointed by itself under "every_k" or "each_block"."""
    if spec.checkpoint == "every_k":
        return block % spec.checkpoint_k == 0
    return spec.checkpoint == "each_block"


def run_under(mode: str, step: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call `step` under no_grad or inference_mode, or detach every tensor it returns."""
    with gradient_context(mode):
        outputs = step(*args, **kwargs)
    return map_tensors(torch.Tensor.detach, outputs) if mode == "detach" else outputs


def gradient_context(mode: str) -> AbstractContextManager[Any]:
    """torch.no_grad(), torch.inference_mode() or nothing."""
    if mode == "no_grad":
        return torch.no_grad()
    return torch.inference_mode() if mode == "inference_mode" else nullcontext()


def map_tensors(function: Callable[[torch.Tensor], torch.Tensor], outputs: Any) -> Any:
    """`function` of every tensor in a tensor, tuple, list or dict; other values stay as they are."""
    if isinstance(outputs, torch.Tensor):
        return function(outputs)
    if isinstance(outputs, dict):
        return {name: map_tensors(function, value) for name, value in outputs.items()}
    if isinstance(outputs, list | tuple):
        return type(outputs)(map_tensors(function, value) for value in outputs)
    return outputs
