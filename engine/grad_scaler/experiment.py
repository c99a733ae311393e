"""train_with_scaler: a training run under the real torch.amp.GradScaler on the CPU."""

from __future__ import annotations

import math
import warnings

import torch

from engine.grad_scaler.loop import Loop
from engine.grad_scaler.results import Run, Scaled
from engine.grad_scaler.spec import MOST_ELEMENTS, GradScalerSpec
from engine.grad_scaler.spread import FORMATS, Collected, range_of, spread_of
from engine.models.build import price as price_model
from engine.runner.contract import Price, ProgressSink

__all__ = ["price", "train_with_scaler"]

COPIES = 6
"""Parameters, their copies, gradients of two kinds, and optimizer state."""


def price(spec: GradScalerSpec) -> Price | None:
    """What the model needs once, and copies of its gradients to convert; nothing to tell of one weight."""
    if spec.model is None:
        return None
    found = price_model(spec.model)
    return Price(predicted_bytes=COPIES * found.predicted_bytes, what=f"{COPIES} times: {found.what}")


def train_with_scaler(spec: GradScalerSpec, progress: ProgressSink) -> Scaled:
    """Every step of the run and of the one it is compared with, and its gradients by power of two."""
    sources = (Collected("parameters", math.inf), Collected("activations", MOST_ELEMENTS))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        loop = Loop("as set", spec)

        def look(number: int) -> None:
            progress(f"step {number} of {spec.steps}", 0.5 * number / spec.steps)
            if number in spec.gradient_steps and spec.mistake != "float16 parameters":
                found = loop.program.true_gradients()
                for one in sources:
                    one.add(number, found[one.source])

        run = loop.run(look)
        progress("the run beside it", 0.6)
        beside = _beside(spec)
        cuda_enabled = torch.amp.GradScaler("cuda").is_enabled()
    progress("converting gradients", 0.8)
    scales = tuple(dict.fromkeys((1.0, spec.init_scale, _last_scale(run, spec))))
    return Scaled(
        run=run,
        beside=beside,
        ranges=tuple(range_of(name) for name in FORMATS),
        spreads=tuple(spread_of(one, scales) for one in sources if one.gradients),
        cuda_enabled=cuda_enabled,
    )


def _beside(spec: GradScalerSpec) -> Run | None:
    if spec.beside is None:
        return None
    name, other = spec.beside
    return Loop(name, other).run(lambda number: None)


def _last_scale(run: Run, spec: GradScalerSpec) -> float:
    return run.steps[-1].scale_after if run.steps else spec.init_scale
