"""map_autocast, probe_lists, time_autocast: one model plain and under autocast, and what autocast knows here."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import msgspec

from engine.devices import require_device
from engine.mixed_precision.lists import probe_operators
from engine.mixed_precision.mapped import map_run
from engine.mixed_precision.spec import (
    AutocastLists,
    AutocastListsSpec,
    AutocastMap,
    AutocastSpec,
    AutocastTiming,
    AutocastTimingSpec,
)
from engine.mixed_precision.support import probe_support
from engine.mixed_precision.timed import time_steps
from engine.mixed_precision.trials import run_trials
from engine.models.build import price as price_model
from engine.runner.contract import Price, ProgressSink

__all__ = ["map_autocast", "price", "probe_lists", "time_autocast"]

RUNS_KEPT = 2
"""Outputs, gradients and saved tensors of the plain run live on beside those of the run under autocast."""


def price(spec: AutocastSpec | AutocastListsSpec | AutocastTimingSpec) -> Price | None:
    """What both runs of the model will need; the lists need next to nothing."""
    if isinstance(spec, AutocastListsSpec):
        return None
    one = price_model(_casting(spec))
    told = f"two runs, each of {one.what}"
    return msgspec.structs.replace(one, predicted_bytes=RUNS_KEPT * one.predicted_bytes, what=told)


def _casting(spec: AutocastSpec | AutocastTimingSpec) -> Any:
    # Of a float64 model autocast casts nothing, and a bfloat16 one needs no more than its own bytes.
    applies = spec.model.dtype == "float32"
    return msgspec.structs.replace(spec.model, autocast=spec.dtype) if applies else spec.model


def map_autocast(spec: AutocastSpec, progress: ProgressSink) -> AutocastMap:
    """Both runs of the model, operation by operation, with their memory and the distance of what they compute."""
    return _with_warnings(lambda: map_run(spec, progress))


def _with_warnings(run: Callable[[], AutocastMap]) -> AutocastMap:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = run()
    texts = tuple(dict.fromkeys(str(one.message) for one in caught))
    return msgspec.structs.replace(found, warnings=texts)


def probe_lists(spec: AutocastListsSpec, progress: ProgressSink) -> AutocastLists:
    """Every operator with an autocast kernel, what it does to its inputs, and lines that fail or change under it."""
    require_device(spec.device, "AutocastListsSpec.device")
    progress("asking the dispatcher", 0.1)
    operators = probe_operators(spec.device, spec.dtype)
    progress("trying lines that mix dtypes", 0.7)
    trials = run_trials(spec.device, spec.dtype)
    return AutocastLists(operators=operators, trials=trials, support=probe_support(spec.device))


def time_autocast(spec: AutocastTimingSpec, progress: ProgressSink) -> AutocastTiming:
    """Steps in interleaved rounds, then matrix products and casts alone."""
    return time_steps(spec, progress)
