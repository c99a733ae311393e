"""The verbs of checkpointing policies: run, time and trace them, forecast them, search for one."""

from __future__ import annotations

from engine.checkpointing.forecast import forecast_policies
from engine.checkpointing.outcome import run_policies
from engine.checkpointing.pricing import price
from engine.checkpointing.search import search_policy
from engine.checkpointing.timing import time_policies
from engine.checkpointing.trace import trace_policy

__all__ = ["forecast_policies", "price", "run_policies", "search_policy", "time_policies", "trace_policy"]
