"""time_policies: a step under every policy, in interleaved rounds."""

from __future__ import annotations

import warnings
from functools import partial

import torch

from engine.checkpointing.policies import applied
from engine.checkpointing.policy import Policy, label_of
from engine.checkpointing.spec import PolicyTimes, PolicyTimingSpec
from engine.models.build import Built, build
from engine.pytorch_said import attempt
from engine.runner.contract import ProgressSink
from engine.timing import compare

BUDGET_S = 70.0
"""Of wall time for the rounds, well within the limit of the job."""


def time_policies(spec: PolicyTimingSpec, progress: ProgressSink) -> PolicyTimes:
    """Forward, loss and backward under each policy that PyTorch runs, against off; all on one model."""
    built = build(spec.model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        steps = {policy: partial(step, built, policy) for policy in spec.policies}
        steps = {policy: run for policy, run in steps.items() if attempt(run)[1] is None}
        if Policy() not in steps or len(steps) < 2:
            return PolicyTimes(comparison=None, timed=tuple(steps))
        named = {label_of(policy): run for policy, run in steps.items()}
        comparison = compare(named, rounds=spec.rounds, budget_s=BUDGET_S, on_progress=progress)
    return PolicyTimes(comparison=comparison, timed=tuple(steps))


def step(built: Built, policy: Policy) -> torch.Tensor:
    """One forward, loss and backward; the gradients are dropped again. Returns the loss."""
    with applied(built, policy) as one:
        outputs, loss = one.run()
        loss.backward()  # type: ignore[no-untyped-call]
        del outputs
    for leaf in (*built.model.parameters(), *built.inputs.values()):
        leaf.grad = None
    return loss.detach()
