"""step_after_zero_grad: what an optimizer does next when gradients are None, zeros, or still there."""

from __future__ import annotations

import warnings
from typing import Any

import torch

from engine.gradients.leaves import differentiate, wide
from engine.gradients.results import Step, Stepped, Way
from engine.gradients.spec import ZeroGradSpec
from engine.models.build import Built, build
from engine.pytorch_said import PyTorchSaid, attempt
from engine.runner.contract import ProgressSink

NAMES = ("set_to_none=True", "set_to_none=False", "not called")


def step_after_zero_grad(spec: ZeroGradSpec, progress: ProgressSink) -> Stepped:
    """The same first step for each way, from the same weights; then zero_grad, and the second step."""
    ways: list[Way] = []
    first_moved = error = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number, name in enumerate(NAMES):
            progress(f"zero_grad: {name}", number / len(NAMES))
            way, first_moved, error = _way(spec, name)
            if error is not None:
                break
            ways.append(way)
    return Stepped(ways=tuple(ways), first_moved=first_moved, error=error)


def optimizer_arguments(spec: ZeroGradSpec) -> dict[str, float]:
    """What the optimizer is made with, beside parameters."""
    arguments = {"lr": spec.learning_rate, "weight_decay": spec.weight_decay}
    return arguments | ({"momentum": spec.momentum} if spec.optimizer in ("SGD", "RMSprop") else {})


def _way(spec: ZeroGradSpec, name: Any) -> tuple[Way, float | None, PyTorchSaid | None]:
    built = build(spec.model)
    optimizer: torch.optim.Optimizer = getattr(torch.optim, spec.optimizer)(
        _stepped(built).values(), **optimizer_arguments(spec)
    )
    before = _copies(built)
    _, error = differentiate(built)
    if error is None:
        _, error = attempt(optimizer.step)
    first_moved = _moved(before, built)
    if name != "not called":
        optimizer.zero_grad(set_to_none=name == "set_to_none=True")
    if spec.backward_again and error is None:
        _, error = differentiate(built)
    kept = {key: _clone(leaf.grad) for key, leaf in _stepped(built).items()}
    before = _copies(built)
    _, second_error = attempt(optimizer.step) if error is None else (None, None)
    rows = tuple(_step(key, kept[key], before[key], leaf, optimizer) for key, leaf in _stepped(built).items())
    way = Way(
        name=name,
        rows=rows,
        grad_bytes=sum(_bytes(grad) for grad in kept.values() if grad is not None),
        moved=_moved(before, built),
        error=second_error,
    )
    return way, first_moved, error


def _stepped(built: Built) -> dict[str, torch.Tensor]:
    """What the optimizer is given: every parameter, or the leaves of an expression."""
    parameters: dict[str, torch.Tensor] = dict(built.model.named_parameters())
    return parameters or {name: leaf for name, leaf in built.inputs.items() if leaf.is_leaf}


def _copies(built: Built) -> dict[str, torch.Tensor]:
    return {name: leaf.detach().clone() for name, leaf in _stepped(built).items()}


def _clone(grad: torch.Tensor | None) -> torch.Tensor | None:
    return None if grad is None else grad.detach().clone()


def _moved(before: dict[str, torch.Tensor], built: Built) -> float:
    squares = [float((wide(leaf) - wide(before[name])).square().sum()) for name, leaf in _stepped(built).items()]
    return float(sum(squares) ** 0.5)


def _step(
    name: str, grad: torch.Tensor | None, before: torch.Tensor, leaf: torch.Tensor, optimizer: torch.optim.Optimizer
) -> Step:
    norm = 0.0 if grad is None else float(wide(grad).norm())
    counted = optimizer.state[leaf].get("step") if leaf in optimizer.state else None
    return Step(
        name=name,
        grad="None" if grad is None else "values" if norm else "zeros",
        grad_norm=norm,
        moved=float((wide(leaf) - wide(before)).norm()),
        steps_counted=None if counted is None else int(counted),
    )


def _bytes(grad: torch.Tensor) -> int:
    if grad.layout == torch.strided:
        return grad.nbytes
    whole = grad.coalesce()
    return whole.values().nbytes + whole.indices().nbytes
