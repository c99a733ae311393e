"""The verbs of checkpointing policies: run, time and trace them, forecast them, search for one."""

from __future__ import annotations

from engine.checkpointing.outcome import run_policies
from engine.checkpointing.pricing import price
from engine.checkpointing.spec import (
    Forecasts,
    ForecastSpec,
    PolicyGraph,
    PolicyGraphSpec,
    PolicyTimes,
    PolicyTimingSpec,
    Searched,
    SearchSpec,
)
from engine.runner.contract import ProgressSink

__all__ = ["forecast_policies", "price", "run_policies", "search_policy", "time_policies", "trace_policy"]


def time_policies(spec: PolicyTimingSpec, progress: ProgressSink) -> PolicyTimes:
    """Forward, loss and backward of every policy, timed in interleaved rounds."""
    from engine.checkpointing.timing import time_policies

    return time_policies(spec, progress)


def trace_policy(spec: PolicyGraphSpec, progress: ProgressSink) -> PolicyGraph:
    """The autograd graph under one policy, with what is kept, dropped and run again."""
    from engine.checkpointing.trace import trace_policy

    return trace_policy(spec, progress)


def forecast_policies(spec: ForecastSpec, progress: ProgressSink) -> Forecasts:
    """Bytes and recomputation of each policy, worked out without running the model."""
    from engine.checkpointing.forecast import forecast_policies

    return forecast_policies(spec, progress)


def search_policy(spec: SearchSpec, progress: ProgressSink) -> Searched:
    """The policy that recomputes least under a budget of bytes."""
    from engine.checkpointing.search import search_policy

    return search_policy(spec, progress)
