"""What can be asked of a policy for saved tensors, and what comes back: bytes, recomputation, time, gradients."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

import msgspec
from msgspec import Meta

from engine.checkpointing.policy import Policy
from engine.graph.spec import Graph, ModuleCall
from engine.models.spec import ModelSpec, block_count, describe
from engine.pytorch_said import PyTorchSaid
from engine.runner.contract import MEBIBYTE, Limits, Result, Spec
from engine.timing.comparison import Comparison

MOST_POLICIES = 16
DEFAULT_POLICIES = (Policy(), Policy(kind="each_block"))


class OperationCount(msgspec.Struct, frozen=True):
    """How often one dispatched operation ran, and its FLOPs (torch.utils.flop_counter; 0 for one it does not count)."""

    operation: str
    calls: int
    flops: int


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """One policy, run once: exact bytes and counts, and whether its gradients are those of `off`.

    `held_bytes`: storages kept between forward and backward for backward alone, each once, parameters, buffers and
    inputs left out; what an offload moved away is in `moved_bytes` instead (one that two nodes save is moved twice).
    `peak_bytes`: the most the allocator had given out during forward and backward, above what was there before.
    `live_bytes`: what it had given out when the forward ended; outputs are in it, and the generator's state that every
    checkpoint keeps unless told not to (5,056 bytes on the CPU), which are not in `held_bytes`. All three are None when
    PyTorch raised `error`.
    """

    policy: Policy
    held_bytes: int | None = None
    live_bytes: int | None = None
    peak_bytes: int | None = None
    moved_bytes: int = 0
    forward_operations: int = 0
    forward_flops: int = 0
    backward_flops: int = 0
    """Of backward, recomputation included."""
    recomputed_operations: int = 0
    recomputed_flops: int = 0
    recomputed: tuple[OperationCount, ...] = ()
    loss_identical: bool | None = None
    gradients_identical: bool | None = None
    """Bit for bit those of `off`, every parameter and every input that requires one."""
    differing: tuple[str, ...] = ()
    """Names of the gradients that are not, or that are missing."""
    missing: tuple[str, ...] = ()
    """Of those, the ones that `off` has and this policy has not: backward never reached them."""
    differing_elements: int = 0
    """Elements of gradients, over all of them, whose bits are not those of `off`; of `gradient_elements`."""
    gradient_elements: int = 0
    differing_buffers: tuple[str, ...] = ()
    """Buffers that are not what `off` leaves: batch norm counts a batch twice that runs through it twice."""
    largest_difference: float | None = None
    """Largest relative difference of norms ||g - g_off|| / ||g_off|| over the gradients both have."""
    error: PyTorchSaid | None = None
    warnings: tuple[str, ...] = ()


class Outcomes(Result, frozen=True, kw_only=True):
    """One Outcome per policy asked for, in order; `off` first."""

    outcomes: tuple[Outcome, ...]
    blocks: int
    """Blocks of the model that policies choose among; 0 where it has none."""
    before_bytes: int
    """Parameters, buffers, inputs: what was there before and counts in no figure above."""
    operations: tuple[OperationCount, ...]
    """Of one plain forward, by name: what `Policy.keep` may name."""
    notes: tuple[str, ...] = ()


def check_policies(owner: str, policies: tuple[Policy, ...]) -> None:
    """Raise ValueError unless there are 1 to 16 different ones and the first is off."""
    wanted = f"{owner}.policies must be 1 to {MOST_POLICIES} different policies, off first"
    if not 1 <= len(policies) <= MOST_POLICIES:
        raise ValueError(f"{wanted}; received {len(policies)}. Leave some out, or add Policy().")
    if policies[0] != Policy():
        raise ValueError(f"{wanted}; received {policies[0].kind!r} first. Put Policy() before it.")
    if len(set(policies)) < len(policies):
        raise ValueError(f"{wanted}; received one of them twice. Leave the second out.")


def check_plain(owner: str, model: ModelSpec) -> None:
    """Raise ValueError where the model brings a checkpoint of its own."""
    if model.checkpoint != "off":
        raise ValueError(
            f"{owner}.model must not checkpoint by itself, the policies do; received {model.checkpoint!r}. "
            f'Leave ModelSpec.checkpoint at "off".'
        )


def check_fits(owner: str, model: ModelSpec, policies: tuple[Policy, ...]) -> None:
    """Raise ValueError for a policy over blocks that `model` has not; more segments than blocks PyTorch refuses."""
    blocks, label = block_count(model.architecture), describe(model.architecture)
    for policy in policies:
        if policy.is_checkpoint and not blocks:
            raise ValueError(
                f"{owner}.policies: {label} has no sequence of blocks to checkpoint; received {policy.kind!r}. "
                f"Take off, save_on_cpu or save_on_disk, or another model."
            )
        if policy.kind == "groups" and policy.groups and policy.groups[-1][1] > blocks:
            raise ValueError(
                f"{owner}.policies: groups must lie within the {blocks} blocks of {label}; received "
                f"{policy.groups[-1]!r}. End the last run at {blocks} or before."
            )


class _OfPolicies(Spec[Any], frozen=True, kw_only=True):
    """A plain model and the policies to look at it under."""

    model: ModelSpec = ModelSpec()
    policies: tuple[Policy, ...] = DEFAULT_POLICIES

    def __post_init__(self) -> None:
        super().__post_init__()
        check_plain(type(self).__name__, self.model)
        check_policies(type(self).__name__, self.policies)
        check_fits(type(self).__name__, self.model, self.policies)


class PolicySpec(_OfPolicies, Spec[Outcomes], frozen=True, kw_only=True):
    """Run one forward, loss and backward of `model` under each policy and count; nothing is timed."""

    verb: ClassVar[str] = "run_policies"
    result: ClassVar[type[Result]] = Outcomes
    limits: ClassVar[Limits] = Limits()


class PolicyTimes(Result, frozen=True, kw_only=True):
    """Forward, loss and backward of each policy in interleaved rounds; names are `label_of(policy)`, `off` first.

    A policy that PyTorch refuses is left out. None where fewer than two are left.
    """

    comparison: Comparison | None
    timed: tuple[Policy, ...]


class PolicyTimingSpec(_OfPolicies, Spec[PolicyTimes], frozen=True, kw_only=True):
    """Time one forward, loss and backward under each policy against `off`."""

    verb: ClassVar[str] = "time_policies"
    result: ClassVar[type[Result]] = PolicyTimes
    measured: ClassVar[bool] = True
    limits: ClassVar[Limits] = Limits(wall_s=120.0, cpu_s=240)

    rounds: Annotated[int, Meta(ge=5, le=51)] = 11


class PolicyGraph(Result, frozen=True, kw_only=True):
    """The autograd graph under one policy: what each slot keeps, and what backward runs again.

    `recomputed` has one entry per node of `graph`: how often the operation that made it ran again in backward; for the
    node of a reentrant checkpoint how often all of it did. `kept_bytes` is `held_bytes` of Outcome.
    """

    graph: Graph
    modules: tuple[ModuleCall, ...]
    recomputed: tuple[int, ...]
    cached: tuple[int, ...] = ()
    """Nodes whose outputs a selective checkpoint keeps beside the graph, so that they are not made again."""
    kept_bytes: int
    dropped_slots: int
    error: PyTorchSaid | None = None
    notes: tuple[str, ...] = ()


class PolicyGraphSpec(Spec[PolicyGraph], frozen=True, kw_only=True):
    """Trace the graph of `model` under one policy with kept, dropped and recomputed told apart."""

    verb: ClassVar[str] = "trace_policy"
    result: ClassVar[type[Result]] = PolicyGraph
    limits: ClassVar[Limits] = Limits()

    model: ModelSpec = ModelSpec()
    policy: Policy = Policy(kind="each_block")

    def __post_init__(self) -> None:
        super().__post_init__()
        check_plain(type(self).__name__, self.model)
        check_fits(type(self).__name__, self.model, (self.policy,))


class Forecast(msgspec.Struct, frozen=True, kw_only=True):
    """What a policy will take, worked out on device="meta" before anything is allocated; estimated.

    Same meanings as in Outcome. `held_is_exact`: every operation of the forward is the one that runs for real, so that
    held bytes are promised, not estimated; `why_not` says what stands against it.
    """

    policy: Policy
    held_bytes: int | None = None
    peak_bytes: int | None = None
    recomputed_flops: int | None = None
    recomputed_operations: int | None = None
    held_is_exact: bool = False
    why_not: str = ""
    peak_leaves_out: str = ""
    """What only the kernels know the size of, "the working space of convolutions": with it the peak has no bound."""
    error: PyTorchSaid | None = None


class Forecasts(Result, frozen=True, kw_only=True):
    """One Forecast per policy, in order."""

    forecasts: tuple[Forecast, ...]
    before_bytes: int
    """Parameters, buffers and inputs."""
    limit_bytes: int
    """What one job here may use: above it the run is refused before it starts."""


class ForecastSpec(_OfPolicies, Spec[Forecasts], frozen=True, kw_only=True):
    """Forecast bytes and recomputation of each policy without running the model."""

    verb: ClassVar[str] = "forecast_policies"
    result: ClassVar[type[Result]] = Forecasts
    limits: ClassVar[Limits] = Limits()


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """A policy the search looked at: its forecast, and what was counted where it was run."""

    policy: Policy
    found_by: str
    """"√n segments", "segments by dynamic programming", "torch knapsack over blocks", ..."""
    budgeted_bytes: int
    """Of what the budget is on; forecast, also where it was run."""
    measured_bytes: int | None = None
    """The same, counted in a real run; None where there was none."""
    recomputed_flops: int
    """Forecast."""
    recomputed_s: float | None = None
    """Seconds of the operations run again, measured one by one; estimated."""
    fits: bool = True
    """By `measured_bytes` where they are known."""
    chosen: bool = False


class Searched(Result, frozen=True, kw_only=True):
    """The policy of least recomputation under a byte budget, and everything it was chosen from."""

    policy: Policy | None
    """None when nothing fits: `smallest_bytes` is the least that is possible."""
    candidates: tuple[Candidate, ...]
    budget_bytes: int
    off_bytes: int
    smallest_bytes: int
    """Both counted where that policy was run, else forecast."""
    measured: tuple[Outcome, ...] = ()
    """The chosen policy, sqrt(n) segments and off, run for real, so that forecast and fact stand side by side."""
    error: PyTorchSaid | None = None
    notes: tuple[str, ...] = ()


class SearchSpec(Spec[Searched], frozen=True, kw_only=True):
    """Find the policy that recomputes least while staying under `budget_bytes`."""

    verb: ClassVar[str] = "search_policy"
    result: ClassVar[type[Result]] = Searched
    limits: ClassVar[Limits] = Limits()

    model: ModelSpec = ModelSpec()
    budget_bytes: Annotated[int, Meta(ge=0, le=1 << 40)] = MEBIBYTE
    budget_of: Literal["held_bytes", "peak_bytes"] = "held_bytes"
    selective: bool = True
    """Whether single operations may be kept inside a checkpoint, beside whole blocks."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_plain(type(self).__name__, self.model)
