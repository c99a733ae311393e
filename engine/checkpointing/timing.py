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
from engine.timing.comparison import Comparison

BUDGET_S = 70.0
"""Of wall time for the rounds, well within the limit of the job."""


def time_policies(spec: PolicyTimingSpec, progress: ProgressSink) -> PolicyTimes:
    """Forward, loss and backward under each policy that PyTorch runs, against off; all on one model."""
    built = build(spec.model)
    timed = runnable(built, spec.policies)
    return PolicyTimes(comparison=time_steps(built, timed, spec.rounds, progress), timed=timed)


def runnable(built: Built, policies: tuple[Policy, ...]) -> tuple[Policy, ...]:
    """Those that PyTorch does not refuse."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return tuple(policy for policy in policies if attempt(partial(step, built, policy))[1] is None)


def time_steps(
    built: Built, policies: tuple[Policy, ...], rounds: int, progress: ProgressSink | None = None
) -> Comparison | None:
    """Each against the first, which must be off; None for fewer than two."""
    if policies[:1] != (Policy(),) or len(policies) < 2:
        return None
    named = {label_of(policy): partial(step, built, policy) for policy in policies}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return compare(named, rounds=rounds, budget_s=BUDGET_S, on_progress=progress)


def step(built: Built, policy: Policy) -> torch.Tensor:
    """One forward, loss and backward; the gradients are dropped again. Returns the loss."""
    with applied(built, policy) as one:
        outputs, loss = one.run()
        loss.backward()  # type: ignore[no-untyped-call]
        del outputs
    for leaf in (*built.model.parameters(), *built.inputs.values()):
        leaf.grad = None
    return loss.detach()
