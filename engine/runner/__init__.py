"""run(spec) -> result: the one verb."""

from __future__ import annotations

from importlib import import_module

from engine.runner.contract import Result, Spec
from engine.runner.faults import Fault

__all__ = ["Fault", "run"]


def run(spec: Spec, *, inline: bool = False) -> Result:
    """Compute `spec` and return its result."""
    experiment = import_module(type(spec).__module__.rpartition(".")[0] + ".experiment")
    result: Result = getattr(experiment, spec.verb)(spec, lambda stage, fraction: None)
    return result
