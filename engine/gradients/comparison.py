"""compare_gradients: two runs in one job, their gradients held against each other."""

from __future__ import annotations

import warnings

import torch

from engine.gradients.distance import distances
from engine.gradients.leaves import differentiate, gradients_of
from engine.gradients.results import Differences
from engine.gradients.spec import DifferenceSpec
from engine.models.build import build
from engine.models.spec import ModelSpec
from engine.pytorch_said import PyTorchSaid
from engine.runner.contract import ProgressSink

Gradient = dict[str, torch.Tensor | None]


def compare_gradients(spec: DifferenceSpec, progress: ProgressSink) -> Differences:
    """Run A, then B, each freed before the next is built; only their gradients stay."""
    a, b = spec.pair
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        progress("running A", 0.0)
        first, loss_a, error_a = _run(a)
        progress("running B", 0.4)
        second, loss_b, error_b = _run(b)
    progress("comparing", 0.8)
    rows, whole = distances(first, second)
    return Differences(rows=rows, whole=whole, loss_a=loss_a, loss_b=loss_b, error_a=error_a, error_b=error_b)


def _run(model: ModelSpec) -> tuple[Gradient, float | None, PyTorchSaid | None]:
    built = build(model)
    loss, error = differentiate(built)
    return gradients_of(built), loss, error
