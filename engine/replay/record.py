"""record_backward: run backward with a hook on every node and tell what the engine did."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn

from engine import recorded
from engine.graph.leaves import Backward, leaf_table, uses_of
from engine.graph.model_run import module_calls, pytorch_error
from engine.graph.recording import latest_recording
from engine.graph.roots import named_inputs, named_tensors
from engine.graph.spec import Graph, Leaf, PyTorchError
from engine.graph.walk import read_graph
from engine.replay.inner_nodes import MOST_NODES, InnerNodes
from engine.replay.recomputation import recomputation_recorded
from engine.replay.recorder import Recorder
from engine.replay.spec import GradientHook, HookCall, Replay
from engine.replay.watching import same_structure, watch_graph

Ids = dict[Any, int]
Seeds = Sequence[torch.Tensor | None]


def record_backward(
    outputs: Any,
    grad_outputs: Any = None,
    model: nn.Module | None = None,
    *,
    inputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
) -> Replay:
    """Run `torch.autograd.backward(outputs, grad_outputs)` and return every step of the engine.

    `outputs`: a tensor, or tuples, lists, mappings and dataclasses of tensors; `grad_outputs` likewise, in the same
    order. `model` names parameters and modules when its forward ran inside `engine.graph.record_forward(model)`, and
    lets recomputation be told by module; `inputs` (mapping, sequence or tensor) names inputs. `.grad` becomes what it
    would without recording, bit for bit. An error of PyTorch is in `passes[0].error`, not raised.
    """
    roots = list(named_tensors(outputs, "output"))
    tensors = [value for _, value in roots if isinstance(value, torch.Tensor)]
    seeds = _listed(grad_outputs, len(tensors))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        graph, ids = read_graph(roots, model, named_inputs(inputs))
        recording = Recording(model, graph)
        uses = uses_of(graph, ids, {})
        recording.run(graph, ids, tensors, seeds, retain_graph, create_graph)
    calls = {} if (forward := latest_recording(model)) is None else forward.calls
    return recording.replay(
        modules=() if model is None else module_calls(model, graph, calls),
        leaves=recording.leaves(uses, calls),
        warnings=words(caught),
    )


def words(caught: Sequence[warnings.WarningMessage]) -> tuple[str, ...]:
    """What was warned of, each once."""
    return tuple(dict.fromkeys(f"{warning.category.__name__}: {warning.message}" for warning in caught))


def _listed(grad_outputs: Any, count: int) -> Seeds:
    if grad_outputs is None:
        return [None] * count
    return [value if isinstance(value, torch.Tensor) else None for _, value in named_tensors(grad_outputs, "grad")]


@dataclass
class Recording:
    """Passes over the graph of one model, or over graphs of its later forwards."""

    model: nn.Module | None
    graph: Graph
    """The graph of the result: the first forward's."""
    recorder: Recorder = field(default_factory=Recorder)
    hook_calls: list[HookCall] = field(default_factory=list)
    notes: dict[str, None] = field(default_factory=dict)
    variables: dict[str, torch.Tensor] = field(default_factory=dict)

    def run(
        self,
        graph: Graph,
        ids: Ids,
        tensors: Sequence[torch.Tensor],
        seeds: Seeds,
        retain_graph: bool | None,
        create_graph: bool,
        passes: int = 1,
    ) -> None:
        """Call backward `passes` times on roots whose graph was read as `graph`; lets go of the graph's nodes."""
        self.variables.update({graph.node_variables[n]: node.variable for node, n in ids.items() if _is_leaf(node)})
        inner = InnerNodes(self.recorder, ids.get, self._leaf_name)
        try:
            watch_graph(self.recorder, graph, ids, self._places(graph))
            for _ in range(passes):
                self._seed(ids, tensors, seeds)
                with recomputation_recorded(self.recorder, inner, self.model, create_graph):
                    self.run_unwatched(tensors, seeds, retain_graph, create_graph)
        finally:
            self.recorder.release()
            ids.clear()
        if inner.left_out:
            self.notes[f"Of the graphs that reentrant checkpoints built, {MOST_NODES:,} nodes are shown."] = None

    def run_unwatched(
        self, tensors: Sequence[torch.Tensor], seeds: Seeds, retain_graph: bool | None, create_graph: bool
    ) -> None:
        """One pass as it is, for its time and error."""
        with self.recorder.backward(lambda error: pytorch_error("backward", error)):
            torch.autograd.backward(tensors, seeds, retain_graph=retain_graph, create_graph=create_graph)

    def note_module_hook(
        self, at: str, received: Sequence[torch.Tensor | None], gave: Sequence[torch.Tensor | None]
    ) -> None:
        """A hook of a module has run: one row per gradient it got."""
        with self.recorder.not_counted():
            for one, other in zip(received, gave, strict=True):
                came, went = self.recorder.gradients.indices((one, other))
                if came is not None:
                    self.hook_calls.append(HookCall(self.recorder.next_step, "module hook", at, came, went, None))

    def note_silent_hook(self, hook: GradientHook) -> None:
        """Say so where a hook that was placed has not run."""
        calls = [*self.hook_calls, *self.recorder.accumulations.hook_calls]
        if hook.kind != "none" and not calls and self.recorder.passes and not self.notes:
            self.notes[f"The hook on {hook.at or 'the input'} never ran: no gradient came by."] = None

    def replay(self, **fields: Any) -> Replay:
        """The result; `fields` are those the recording does not know."""
        recorder = self.recorder
        self._note_what_is_left_out()
        steps = recorder.steps()
        ran = {step.node for step in steps}
        reached = {one for one in ran if one is not None}
        calls = sorted([*recorder.accumulations.hook_calls, *self.hook_calls], key=lambda call: call.step)
        return Replay(
            graph=self.graph,
            steps=steps,
            gradients=tuple(recorder.gradients.summaries),
            accumulations=tuple(recorder.accumulations.done),
            passes=tuple(recorder.passes),
            hook_calls=tuple(calls),
            not_run=tuple(sorted(set(range(len(self.graph.nodes))) - reached)),
            notes=tuple(self.notes),
            **fields,
        )

    def leaves(self, uses: Mapping[tuple[str, str], int], calls: Mapping[str, int]) -> tuple[Leaf, ...]:
        """The leaf table of the library form: parameters of the model, then the other leaves of the graph."""
        model = nn.Module() if self.model is None else self.model
        names = {id(parameter) for parameter in model.parameters()}
        others = {name: leaf for name, leaf in self.variables.items() if id(leaf) not in names}
        return leaf_table(model, others, {}, Backward(True, self.error, calls, None, uses))

    @property
    def error(self) -> PyTorchError | None:
        """The first error of backward."""
        return next((one.error for one in self.recorder.passes if one.error is not None), None)

    def _places(self, graph: Graph) -> Sequence[int | None]:
        if graph is self.graph or same_structure(self.graph, graph):
            return range(len(graph.nodes))
        self.notes["A later forward made another graph: its steps belong to no node of the graph shown."] = None
        return [None] * len(graph.nodes)

    def _leaf_name(self, variable: torch.Tensor) -> str:
        parameters = () if self.model is None else self.model.named_parameters()
        named = [*((name, one) for name, one in parameters), *self.variables.items()]
        return next((name for name, one in named if one is variable), "input of a checkpoint")

    def _seed(self, ids: Ids, tensors: Sequence[torch.Tensor], seeds: Seeds) -> None:
        """Roots that are leaves: what AccumulateGrad gets from them is no step's doing."""
        for position, (tensor, seed) in enumerate(zip(tensors, seeds, strict=False)):
            if tensor.is_leaf and tensor.requires_grad:
                node = torch.autograd.graph.get_gradient_edge(tensor).node
                if node in ids:
                    self.recorder.seed(ids[node], position, torch.ones_like(tensor) if seed is None else seed)

    def _note_what_is_left_out(self) -> None:
        recorder = self.recorder
        if recorder.left_out:
            self.notes[f"{recorder.left_out:,} steps after the first {len(recorder.steps()):,} are not shown."] = None
        if left := recorder.gradients.without_detail:
            total = len(recorder.gradients.summaries)
            self.notes[
                f"Values and histograms are kept for {total - left:,} of {total:,} gradients, the first that came; "
                f"norms and counts for all."
            ] = None


def _is_leaf(node: Any) -> bool:
    return bool(node.name() == recorded.ACCUMULATE)
