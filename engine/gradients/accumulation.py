"""accumulate_gradients: the same examples in one batch and in micro-batches, with three ways to scale their losses."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Literal

import torch
from torch import nn

from engine.gradients.distance import distances
from engine.gradients.leaves import backward, clear, gradients_of
from engine.gradients.results import Accumulated, Distance
from engine.gradients.spec import AccumulationSpec
from engine.models.build import Built, build
from engine.models.loss import model_loss
from engine.models.shape import has_dropout
from engine.models.spec import ModelSpec
from engine.models.toggles import run_under
from engine.pytorch_said import attempt
from engine.runner.contract import ProgressSink

Gradient = dict[str, torch.Tensor | None]
Scale = Callable[[int, int, int], float]
"""(examples of this micro-batch, examples of all, micro-batches) -> factor of its loss."""

BATCH_NORMS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)

WAYS: dict[str, Scale] = {
    "loss as it is": lambda n, total, k: 1.0,
    "loss / k": lambda n, total, k: 1 / k,
    "loss × its share": lambda n, total, k: n / total,
}


def accumulate_gradients(spec: AccumulationSpec, progress: ProgressSink) -> Accumulated:
    """The large batch's gradients against the accumulated ones, per way of scaling."""
    built = build(spec.model)
    sizes = tuple(len(part) for part in torch.arange(spec.model.batch).tensor_split(spec.micro_batches))
    reduction: Literal["sum", "mean"] = "sum" if spec.model.loss == "sum" else "mean"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found, error = attempt(lambda: _every_way(built, sizes, progress))
    rows, whole = found if found is not None else ((), ())
    return Accumulated(
        sizes=sizes,
        ways=tuple(WAYS),
        rows=rows,
        whole=whole,
        reduction=reduction,
        right_way=_right_way(reduction, sizes),
        notes=_notes(built, spec.model),
        error=error,
    )


def _right_way(reduction: str, sizes: tuple[int, ...]) -> str:
    """The way that gives the large batch's gradient in exact arithmetic; the simplest where several do."""
    if reduction == "sum" or len(sizes) == 1:
        return "loss as it is"
    return "loss / k" if len(set(sizes)) == 1 else "loss × its share"


Found = tuple[tuple[tuple[Distance, ...], ...], tuple[Distance, ...]]


def _every_way(built: Built, sizes: tuple[int, ...], progress: ProgressSink) -> Found:
    start = {name: buffer.clone() for name, buffer in built.model.named_buffers()}
    progress("the large batch", 0.1)
    large = _accumulated(built, (sum(sizes),), WAYS["loss as it is"], start)
    rows, whole = [], []
    for number, (name, scale) in enumerate(WAYS.items()):
        progress(f"micro-batches, {name}", 0.25 * (number + 1))
        by_leaf, of_all = distances(
            large, _accumulated(built, sizes, scale, start), names=("the batch", "micro-batches")
        )
        rows.append(by_leaf)
        whole.append(of_all)
    return tuple(rows), tuple(whole)


def _accumulated(built: Built, sizes: tuple[int, ...], scale: Scale, buffers: dict[str, torch.Tensor]) -> Gradient:
    """`.grad` after one backward per micro-batch; random numbers run on from one to the next, as in training."""
    clear(built)
    for name, buffer in built.model.named_buffers():
        buffer.copy_(buffers[name])
    torch.manual_seed(built.spec.seed)
    first, total = 0, sum(sizes)
    for size in sizes:
        loss = _loss_of(built, first, first + size)
        backward(loss * scale(size, total, len(sizes)))
        first += size
    return {name: grad if grad is None else grad.clone() for name, grad in gradients_of(built).items()}


def _loss_of(built: Built, first: int, end: int) -> torch.Tensor:
    """The loss of some examples, run as Built.forward runs all of them, but with the random numbers going on."""
    spec = built.spec
    part = {name: tensor[first:end] for name, tensor in built.inputs.items()}
    target = None if built.target is None else built.target[first:end]
    mode = spec.grad_mode if spec.grad_mode_block < 0 else "grad"
    with built.autocast():
        return model_loss(spec, run_under(mode, built.model, **part), target)


def _notes(built: Built, spec: ModelSpec) -> tuple[str, ...]:
    """Why this model's micro-batches cannot give the large batch's gradient even in exact arithmetic."""
    notes = []
    if spec.train and any(isinstance(module, BATCH_NORMS) for module in built.model.modules()):
        notes.append("BatchNorm in train mode: every micro-batch is normalised by its own mean and variance.")
    if spec.train and has_dropout(spec.architecture):
        notes.append("Dropout: the masks of the micro-batches are other draws than those of the large batch.")
    return tuple(notes)
