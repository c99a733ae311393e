"""From an observation to a diagnosis: what spread where, which birth is the origin, and the rest as data."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from functools import cache

import msgspec
import torch

from engine.diagnostics.hooks import hook_rows
from engine.diagnostics.observe import Observation
from engine.diagnostics.results import Birth, Diagnosis, ModuleState, Noted, Watched
from engine.diagnostics.scan import scan
from engine.diagnostics.trace import watched_rows
from engine.pytorch_said import PyTorchSaid

MOST_REACHED = 12


def conclude(
    seen: Observation,
    inputs: Mapping[str, torch.Tensor],
    after: str,
    injected: str,
    anomaly: PyTorchSaid | None,
    calls: Mapping[str, int],
    noted: tuple[Noted, ...],
) -> Diagnosis:
    """The diagnosis; `after` is what cleared the gradients, `calls` how often counted hooks ran."""
    watched = watched_rows(seen, after)
    births = _spread(seen)
    loss = seen.ran.loss
    return Diagnosis(
        loss=None if loss is None or loss.numel() != 1 or loss.is_complex() else float(loss.detach()),
        injected=injected,
        watched=watched,
        modules=_modules(seen),
        births=births,
        more_births=seen.births.more,
        origin=_origin(births),
        anomaly=anomaly,
        findings=scan(seen.ran.model, inputs),
        units=seen.activity.units(seen.watch, seen.ids),
        hooks=hook_rows(seen.hooks, calls),
        unused=_unused(seen, watched),
        nodes=0 if seen.graph is None else len(seen.graph.nodes),
        noted=noted,
        error=seen.error,
        error_stage=seen.stage,
        warnings=seen.warnings,
        grad_of_non_leaf=grad_of_non_leaf(),
    )


def _spread(seen: Observation) -> tuple[Birth, ...]:
    """Every birth with the names of what its values came to: the loss, and gradients."""
    reached: dict[int, list[str]] = {}
    if seen.ran.loss is not None:
        for birth in seen.births.carried_by(seen.ran.loss):
            reached.setdefault(birth, []).append("loss")
    for one in seen.ran.named:
        grad = one.tensor.grad if one.tensor.is_leaf or one.tensor.retains_grad else None
        for birth in seen.births.carried_by(grad) if grad is not None else ():
            reached.setdefault(birth, []).append(f"{one.name}.grad")
    return tuple(
        msgspec.structs.replace(birth, reached=tuple(reached.get(number, ())[:MOST_REACHED]))
        for number, birth in enumerate(seen.births.births)
    )


def _origin(births: tuple[Birth, ...]) -> int | None:
    """The first that spread and was not written down on purpose; only if there is none, one that was."""
    spread = [number for number, birth in enumerate(births) if birth.reached]
    return next((number for number in spread if not births[number].on_purpose), spread[0] if spread else None)


def _modules(seen: Observation) -> tuple[ModuleState, ...]:
    calls = seen.recording.calls
    order = {path: number for number, path in enumerate(calls)}
    rows = [
        ModuleState(
            path=path,
            type=type(module).__name__,
            calls=calls.get(path, 0),
            training=module.training,
            parameters=sum(one.numel() for one in module.parameters(recurse=False)),
        )
        for path, module in seen.ran.model.named_modules()
    ]
    return tuple(sorted(rows, key=lambda row: order.get(row.path, len(order))))


def _unused(seen: Observation, watched: tuple[Watched, ...]) -> tuple[str, ...]:
    """Parameters that DistributedDataParallel would wait for in vain."""
    if seen.stage == "forward":
        return ()
    return tuple(
        one.name
        for one in watched
        if one.kind == "parameter" and one.requires_grad and one.name not in seen.numbers and one.grad is None
    )


@cache
def grad_of_non_leaf() -> str:
    """What PyTorch warns when .grad of a tensor that is no leaf is read, asked of a tensor of our own."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        _ = (torch.ones(1, requires_grad=True) * 1).grad
    return str(caught[0].message).split(" (Triggered internally")[0] if caught else ""
