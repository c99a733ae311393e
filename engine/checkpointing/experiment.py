"""The verbs of checkpointing policies: run, time and trace them, forecast them, search for one."""

from __future__ import annotations

from engine.checkpointing.outcome import run_policies
from engine.checkpointing.pricing import price
from engine.checkpointing.spec import (
    Forecasts,
    ForecastSpec,
    Searched,
    SearchSpec,
)
from engine.checkpointing.timing import time_policies
from engine.checkpointing.trace import trace_policy
from engine.runner.contract import ProgressSink

__all__ = ["forecast_policies", "price", "run_policies", "search_policy", "time_policies", "trace_policy"]


def forecast_policies(spec: ForecastSpec, progress: ProgressSink) -> Forecasts:
    """Bytes and recomputation of each policy, worked out without running the model."""
    from engine.checkpointing.forecast import forecast_policies

    return forecast_policies(spec, progress)


def search_policy(spec: SearchSpec, progress: ProgressSink) -> Searched:
    """The policy that recomputes least under a budget of bytes."""
    from engine.checkpointing.search import search_policy

    return search_policy(spec, progress)
