"""trace_policy: the graph under one policy, with what backward runs again for every node."""

from __future__ import annotations

import warnings

from engine.checkpointing.counted import Operations
from engine.checkpointing.held_for_backward import HeldForBackward
from engine.checkpointing.policies import applied
from engine.checkpointing.policy import Policy
from engine.checkpointing.reruns import Reruns
from engine.checkpointing.spec import PolicyGraph, PolicyGraphSpec
from engine.graph.model_run import module_calls
from engine.graph.recording import record_forward
from engine.graph.roots import named_tensors
from engine.graph.spec import Graph
from engine.graph.walk import read_graph
from engine.models.build import Built, build
from engine.pytorch_said import PyTorchSaid, attempt
from engine.runner.contract import ProgressSink

REENTRANT = "CheckpointFunctionBackward"
INSIDE = (
    f"A reentrant checkpoint is one node, {REENTRANT}: what is inside has no nodes until backward runs it again, "
    f"with a graph of its own that is gone before the step ends."
)
ALL_DROPPED = (
    "Inside a selective checkpoint every slot is dropped; the outputs of the operations to keep are in a cache beside "
    "the graph, and what runs again reads them there."
)


def trace_policy(spec: PolicyGraphSpec, progress: ProgressSink) -> PolicyGraph:
    """The graph of one forward under the policy, read before backward, then backward with every operation watched."""
    progress("building the model", 0.0)
    built = build(spec.model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        progress("forward and backward", 0.3)
        traced = _Traced(built, spec.policy)
        progress("counting held bytes", 0.8)
        held = attempt(lambda: _held_bytes(built, spec.policy))[0]
    numbers = traced.graph.node_sequence_nrs.tolist()
    return PolicyGraph(
        graph=traced.graph,
        modules=module_calls(built.model, traced.graph, traced.calls),
        recomputed=tuple(map(traced.times, numbers, traced.graph.node_names)),
        cached=tuple(node for node, number in enumerate(numbers) if number in traced.cached),
        kept_bytes=held or 0,
        dropped_slots=traced.graph.dropped_slots,
        error=traced.error,
        notes=_notes(traced.graph, spec.policy),
    )


class _Traced:
    """One step under a policy, or as much of it as PyTorch runs."""

    def __init__(self, built: Built, policy: Policy) -> None:
        self.graph = Graph.of([], [])
        self.calls: dict[str, int] = {}
        self.cached: frozenset[int] = frozenset()
        self._reruns = Reruns()
        self._policy = policy
        self.error: PyTorchSaid | None = attempt(lambda: self._step(built))[1]

    def _step(self, built: Built) -> None:
        operations = Operations(self._reruns.note)
        with applied(built, self._policy, self._reruns.watch) as one:
            with record_forward(built.model) as recording, operations:
                outputs, loss = one.run()
            self.calls = dict(recording.calls)
            roots = [("loss", loss), *named_tensors(outputs, "output")]
            self.graph, ids = read_graph(roots, built.model, built.inputs)
            ids.clear()
            if self._policy.kind == "selective":
                self.cached = self._reruns.made_by(self._policy.keep)
            operations.in_backward = True
            with operations:
                loss.backward()  # type: ignore[no-untyped-call]

    def times(self, number: int, name: str) -> int:
        """How often what made this node ran again: one operation, or all of a reentrant checkpoint."""
        if name != REENTRANT:
            return self._reruns.times[number]
        inside = [block for block, before in self._reruns.number_before.items() if before == number]
        return max((self._reruns.block_times[block] for block in inside), default=0)


def _held_bytes(built: Built, policy: Policy) -> int:
    with applied(built, policy) as one:
        held = HeldForBackward(one)
        with held.hooks():
            kept = one.forward()
        found = held.held_bytes()
        del kept
    return found


def _notes(graph: Graph, policy: Policy) -> tuple[str, ...]:
    reentrant = (INSIDE,) if REENTRANT in graph.node_names else ()
    return (*reentrant, *((ALL_DROPPED,) if policy.kind == "selective" and policy.keep else ()))
