"""measure_claim: every claim by the functions of its own module."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from engine.claims.measure import measure
from engine.claims.modules import module_name
from engine.claims.outcome import Measured
from engine.runner.contract import ProgressSink, Spec

__all__ = ["measure_claim"]


def measure_claim(spec: Spec[Any], progress: ProgressSink) -> Measured:
    """Counts, refusals and comparisons of the claim that `spec` is of."""
    return measure(import_module(module_name(type(spec))), spec, progress)
