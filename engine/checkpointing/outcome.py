"""run_policies: one forward, loss and backward per policy, counted and compared with off."""

from __future__ import annotations

import warnings

import msgspec
import torch

from engine import recorded
from engine.checkpointing.counted import Operations
from engine.checkpointing.gradients import Gradients, compared, take_gradients
from engine.checkpointing.held_for_backward import HeldForBackward
from engine.checkpointing.peak import live_and_peak_bytes
from engine.checkpointing.policies import applied
from engine.checkpointing.policy import Policy, label_of
from engine.checkpointing.spec import OperationCount, Outcome, Outcomes, PolicySpec
from engine.models.build import Built, build
from engine.models.spec import block_count
from engine.pytorch_said import PyTorchSaid, attempt
from engine.runner.contract import ProgressSink

ON_CPU = "save_on_cpu: what is on the CPU stays where it is, no tensor is copied and nothing is saved on this device."

UNCOUNTED = ("aten._scaled_dot_product", "aten.mkldnn_rnn_layer")
"""What does much arithmetic and may have no formula."""


def run_policies(spec: PolicySpec, progress: ProgressSink) -> Outcomes:
    """Every policy three times: plain for loss and gradients, counted for bytes and operations, profiled for the peak.

    All on one model, whose buffers and gradients are put back in between; every forward begins from its seed.
    """
    progress("building the model", 0.0)
    built = build(spec.model)
    bench = Bench(built)
    outcomes = []
    for number, policy in enumerate(spec.policies):
        progress(label_of(policy)[:60], number / len(spec.policies))
        outcomes.append(bench.outcome(policy))
    return Outcomes(
        outcomes=tuple(outcomes),
        blocks=block_count(spec.model.architecture),
        before_bytes=before_bytes(built),
        operations=bench.operations,
        notes=_notes(spec, bench.operations),
    )


def _notes(spec: PolicySpec, operations: tuple[OperationCount, ...]) -> tuple[str, ...]:
    on_cpu = spec.model.device == "cpu" and any(policy.kind == "save_on_cpu" for policy in spec.policies)
    uncounted = [row.operation for row in operations if row.operation.startswith(UNCOUNTED) and not row.flops]
    without = f"torch.utils.flop_counter has no formula for {', '.join(uncounted)}: its FLOPs count as 0."
    return (*((ON_CPU,) if on_cpu else ()), *((without,) if uncounted else ()))


def before_bytes(built: Built) -> int:
    """Parameters, buffers and inputs, the target among them, each storage once."""
    tensors = [*built.model.parameters(), *built.model.buffers(), *built.inputs.values()]
    tensors += [built.target] if built.target is not None else []
    return sum(dict(pair for tensor in tensors for pair in recorded.storages_of(tensor)).values())


class Bench:
    """One built model to run policies on, and the gradients of `off` to compare theirs with."""

    def __init__(self, built: Built) -> None:
        self.built = built
        self.operations: tuple[OperationCount, ...] = ()
        self._buffers = [buffer.clone() for buffer in built.model.buffers()]
        self._of_off: Gradients | None = None

    def outcome(self, policy: Policy) -> Outcome:
        """Run `policy` three times; the first one asked for must be off."""
        found, said, error = self._plain(policy)
        if self._of_off is None:
            self._of_off = found
        outcome = Outcome(policy=policy, error=error)
        if error is None:
            counted, again = self._counted(policy)
            outcome = msgspec.structs.replace(counted, **self._profiled(policy))
            found = again if policy == Policy() else found  # off is compared with its own second run
        return msgspec.structs.replace(outcome, warnings=said, **compared(found, self._of_off))

    def _plain(self, policy: Policy) -> tuple[Gradients, tuple[str, ...], PyTorchSaid | None]:
        """(loss and gradients, warnings, error) without anything of ours in between."""
        losses: list[torch.Tensor] = []

        def step() -> None:
            with applied(self.built, policy) as one:
                losses.append(one.run()[1])
                losses[0].backward()  # type: ignore[no-untyped-call]

        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            _, error = attempt(step)
        found = self._take(losses[0] if losses else None)
        return found, tuple(dict.fromkeys(f"{one.category.__name__}: {one.message}" for one in caught)), error

    def _counted(self, policy: Policy) -> tuple[Outcome, Gradients]:
        with warnings.catch_warnings(), applied(self.built, policy) as one, Operations() as operations:
            warnings.simplefilter("ignore")
            held = HeldForBackward(one)
            with held.hooks():
                outputs, loss = one.forward()
            held_bytes, operations.in_backward = held.held_bytes(), True
            loss.backward()  # type: ignore[no-untyped-call]
            del outputs
        if policy == Policy():
            self.operations = operations.table("forward")
        calls, flops = operations.calls, operations.flops
        outcome = Outcome(
            policy=policy,
            held_bytes=held_bytes,
            moved_bytes=held.moved_bytes,
            forward_operations=calls["forward"].total(),
            forward_flops=flops["forward"].total(),
            backward_flops=flops["backward"].total() + flops["again"].total(),
            recomputed_operations=calls["again"].total(),
            recomputed_flops=flops["again"].total(),
            recomputed=operations.table("again"),
        )
        return outcome, self._take(loss)

    def _profiled(self, policy: Policy) -> dict[str, int]:
        with warnings.catch_warnings(), applied(self.built, policy) as one:
            warnings.simplefilter("ignore")
            live, peak = live_and_peak_bytes(one)
        self._take(None)
        return {"live_bytes": live, "peak_bytes": peak}

    def _take(self, loss: torch.Tensor | None) -> Gradients:
        """Loss and gradients of the run that is over; buffers become what they were."""
        taken = take_gradients(self.built, loss)
        for buffer, before in zip(self.built.model.buffers(), self._buffers, strict=True):
            buffer.copy_(before)
        return taken
