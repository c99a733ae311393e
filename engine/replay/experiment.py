"""replay_backward: run a model, then its backward with every step recorded."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from statistics import median
from time import perf_counter

import torch

from engine.graph.cut import cut_of
from engine.graph.leaves import Backward, leaf_table, uses_of
from engine.graph.model_run import ModelRun, module_calls
from engine.graph.roots import named_tensors
from engine.graph.spec import Graph
from engine.graph.walk import read_graph
from engine.models.build import build
from engine.models.build import price as price_model
from engine.replay.hooks import PlacedHook
from engine.replay.record import Ids, Recording, words
from engine.replay.spec import Replay, ReplaySpec
from engine.runner.contract import Price, ProgressSink

__all__ = ["price", "replay_backward"]

PLAIN_ROUNDS = 3
PLAIN_S = 3.0
"""No further plain backward, and forward before it, once these took so long."""


def price(spec: ReplaySpec) -> Price:
    """What building and running the model will need."""
    return price_model(spec.model)


def replay_backward(spec: ReplaySpec, progress: ProgressSink) -> Replay:
    """Every step of `spec.passes` backward passes in the engine's order, with the gradients on every edge."""
    with warnings.catch_warnings(record=True) as caught, _warned_every_time():
        warnings.simplefilter("always")
        progress("building the model", 0.0)
        session = _Replayed(spec)
        progress("forward", 0.1)
        session.forward()
        if session.run.error is None:
            session.backward(progress)
        said = words(caught)
    progress("the same backward without hooks", 0.9)
    return session.result(said)


@contextmanager
def _warned_every_time() -> Iterator[None]:
    """What PyTorch warns of once per process is said in every run that earns it."""
    before = torch.is_warn_always_enabled()
    torch.set_warn_always(True)
    try:
        yield
    finally:
        torch.set_warn_always(before)


class _Replayed:
    """One model under `spec`: its forwards and its recorded backward passes."""

    def __init__(self, spec: ReplaySpec) -> None:
        self.spec = spec
        self.run = ModelRun(build(spec.model))
        self.hook = PlacedHook(spec.hook, self.run.built)

    def forward(self) -> None:
        """The first forward, whose graph is the one shown."""
        self.run.forward()
        self.loss = None if self.run.loss is None else float(self.run.loss.detach().real)
        self.graph, self._ids = self._read()
        self.uses = uses_of(self.graph, self._ids, self.run.extra())
        self.recording = self.hook.recording = Recording(self.run.built.model, self.graph)
        if self.hook.note:
            self.recording.notes[self.hook.note] = None

    def backward(self, progress: ProgressSink) -> None:
        """Every pass, over the same graph or each over that of a forward of its own."""
        spec = self.spec
        together = 1 if spec.new_forward else spec.passes
        for number in range(0, spec.passes, together):
            progress(f"backward {number + 1} of {spec.passes}", 0.2 + 0.6 * number / spec.passes)
            graph: Graph | None = self.graph
            if number:
                self.run.forward()
                graph = self._read_again()
            tensors = self._roots()
            how = self._seeds(tensors), spec.retain_graph or None, spec.create_graph
            if graph is None:
                self.recording.run_unwatched(tensors, *how)
            else:
                self.recording.run(graph, self._ids, tensors, *how, passes=together)

    def _read_again(self) -> Graph | None:
        """The graph of a later forward; None where no step of it would be recorded."""
        if self.recording.recorder.is_full:
            self.recording.notes["Later passes ran, but their steps are not shown: there are too many."] = None
            return None
        graph, self._ids = self._read()
        return graph

    def result(self, said: tuple[str, ...]) -> Replay:
        run, calls = self.run, self.run.recording.calls
        error = run.error or self.recording.error
        cut = cut_of(self.spec.model, run.built.model, calls)
        leaves = leaf_table(
            run.built.model, run.built.inputs, run.extra(), Backward(True, error, calls, cut, self.uses)
        )
        self._ids.clear()
        self.recording.note_silent_hook(self.spec.hook)
        modules = module_calls(run.built.model, self.graph, calls)
        return self.recording.replay(
            modules=modules,
            leaves=leaves,
            loss=self.loss,
            plain_backward_s=self._plain_backward_s() if error is None else None,
            error=run.error,
            warnings=said,
        )

    def _read(self) -> tuple[Graph, Ids]:
        return read_graph(self.run.roots(), self.run.built.model, self.run.built.inputs)

    def _roots(self) -> list[torch.Tensor]:
        outputs = [value for _, value in named_tensors(self.run.outputs, "output") if isinstance(value, torch.Tensor)]
        loss = [] if self.run.loss is None else [self.run.loss]
        return {"loss": loss, "outputs": outputs, "loss and outputs": [*loss, *outputs]}[self.spec.roots]

    def _seeds(self, roots: Sequence[torch.Tensor]) -> list[torch.Tensor | None]:
        """The gradient of every root, drawn from the model's seed where it is random."""
        generator = torch.Generator().manual_seed(self.spec.model.seed)

        def seed(root: torch.Tensor) -> torch.Tensor | None:
            if self.spec.grad_outputs == "default":
                return None
            if self.spec.grad_outputs == "random":
                drawn = torch.randn(
                    root.shape, dtype=torch.promote_types(root.dtype, torch.float32), generator=generator
                )
                return drawn.to(root.device, root.dtype)
            value = {"ones": 1.0, "zeros": 0.0, "minus ones": -1.0}[self.spec.grad_outputs]
            return torch.full_like(root.detach(), value)

        return [seed(root) for root in roots]

    def _plain_backward_s(self) -> float:
        """Median over forwards of their own, all hooks removed."""
        self.hook.remove()
        taken: list[float] = []
        began = perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            while not taken or (len(taken) < PLAIN_ROUNDS and perf_counter() - began < PLAIN_S):
                for leaf in [*self.run.built.model.parameters(), *self.run.built.inputs.values()]:
                    leaf.grad = None
                self.run.forward()
                roots = self._roots()
                seeds = self._seeds(roots)
                start = perf_counter()
                torch.autograd.backward(roots, seeds, create_graph=self.spec.create_graph)
                taken.append(perf_counter() - start)
        return median(taken)
