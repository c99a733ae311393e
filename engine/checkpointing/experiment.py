"""The verbs of checkpointing policies: run, time and trace them, forecast them, search for one."""

from __future__ import annotations

import torch
from torch.utils.checkpoint import checkpoint

from engine.checkpointing.forecast import forecast_policies
from engine.checkpointing.outcome import run_policies
from engine.checkpointing.pricing import price
from engine.checkpointing.search import search_policy
from engine.checkpointing.timing import time_policies
from engine.checkpointing.trace import trace_policy

__all__ = ["forecast_policies", "price", "run_policies", "search_policy", "time_policies", "trace_policy"]


def warm() -> None:
    """Run one checkpoint: the first of a process imports torch._dynamo, two seconds that no job need pay."""
    x = torch.ones(2, requires_grad=True)
    torch.autograd.backward(checkpoint(torch.sin, x, use_reentrant=False).sum())
