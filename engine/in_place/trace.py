"""Running a program: a statement, then everything that can be read, until one raises."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import torch

from engine.graph.walk import read_graph
from engine.in_place.evaluate import Evaluator, TooLargeError, entered
from engine.in_place.language import parse_program
from engine.in_place.ledger import Ledger
from engine.in_place.nodes import Nodes, reachable
from engine.in_place.results import Passed, ProgramRun, SavedSlot, Step
from engine.in_place.snapshot import few_values, snapshot
from engine.in_place.statements import Statement
from engine.in_place.verdict import breaking, verdict_of
from engine.in_place.watch import VersionWatch
from engine.pytorch_said import PyTorchSaid, attempt
from engine.runner.faults import error_text

COPY_SLICES = "torch::autograd::CopySlices"


def run_program(text: str, seed: int, *, with_graphs: bool = True) -> ProgramRun:
    """Run a program from a fresh generator of random numbers; what PyTorch raises is in the result."""
    torch.manual_seed(seed)
    return _Run(parse_program(text), with_graphs).result()


class _Run:
    def __init__(self, statements: tuple[Statement, ...], with_graphs: bool) -> None:
        self.statements, self.with_graphs = statements, with_graphs
        self.names: dict[str, Any] = {}
        self.ledger = Ledger()
        self.nodes = Nodes(self.ledger)
        self.graphs: list[Any] = []
        self.steps: list[Step] = []
        self.begun: list[Any] = []
        self.passed: list[Passed] = []
        self.backward_ran = False
        self.reached: list[SavedSlot] = []
        self.used: set[int] = set()
        self.evaluator = Evaluator(self.names, self._backward)

    def result(self) -> ProgramRun:
        for statement in self.statements:
            self._step(statement)
            if self.steps[-1].error is not None:
                break
        error = self.steps[-1].error
        probed, probe = ("", None) if error is not None or self.any_backward() else self._probe()
        if not self.any_backward():
            self.reached = [slot for slot in self.steps[-1].saved if slot.node in self.used]
        verdict = verdict_of(error, self.steps[-1].is_backward, self.reached, probe)
        in_backward = self.steps[-1].is_backward if error is not None else probe is not None
        raised = self.begun[-1] if self.begun and in_backward else None
        return ProgramRun(
            steps=tuple(self.steps),
            statements=len(self.statements),
            storages=self.ledger.storages(),
            nodes=tuple(self.nodes.made),
            graphs=tuple(self.graphs),
            verdict=verdict,
            error=error,
            culprits=breaking(verdict, self.reached),
            raised_in="" if raised is None else raised.name(),
            raised_in_node=-1 if raised is None else self.nodes.numbers.get(raised, -1),
            probe=probe,
            probed=probed,
            passed=tuple(self.passed),
        )

    def any_backward(self) -> bool:
        return any(step.is_backward for step in self.steps)

    def _step(self, statement: Statement) -> None:
        self.ledger.line = statement.line
        self.backward_ran = False
        watch = VersionWatch(statement.line, self.names, self.ledger)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            with ExitStack() as modes:
                for mode in entered(statement.modes):
                    modes.enter_context(mode)
                modes.enter_context(watch)
                _, error = attempt(lambda: self.evaluator.run(statement), ours=(TooLargeError,))
        said = tuple(dict.fromkeys(error_text(one.message) for one in caught if isinstance(one.message, Warning)))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._read(statement, error, watch, said)

    def _read(
        self, statement: Statement, error: PyTorchSaid | None, watch: VersionWatch, said: tuple[str, ...]
    ) -> None:
        tensors = [(name, one) for name, one in self.names.items() if isinstance(one, torch.Tensor)]
        states = snapshot(self.names, self.ledger)
        nodes = reachable(self._roots())
        saved = self.nodes.slots(nodes, statement.line)
        number = -1
        if self.with_graphs and nodes:
            leaves = {name: one for name, one in tensors if _is_leaf(one)}
            graph, ids = read_graph(list(tensors), None, leaves)
            ids.clear()
            if not self.graphs or self.graphs[-1] != graph:
                self.graphs.append(graph)
            number = len(self.graphs) - 1
        self.steps.append(
            Step(
                line=statement.line,
                text=statement.text,
                modes=statement.modes,
                is_backward=self.backward_ran,
                error=error,
                tensors=states,
                saved=saved,
                bumps=tuple(watch.bumps),
                graph=number,
                warnings=said,
            )
        )

    def _roots(self) -> list[Any]:
        found = [_grad_fn(value) for value in self.names.values()]
        return [node for node in found if node is not None]

    def _backward(self, tensor: torch.Tensor, call: Callable[[], None]) -> None:
        """Run a backward with a note of every node that begins; what it will read is looked at before."""
        self.backward_ran = True
        nodes = reachable([tensor.grad_fn]) if tensor.grad_fn is not None else []
        self.reached += self.nodes.slots(nodes, self.ledger.line)
        self.begun = []
        handles = [node.register_prehook(self._began(node)) for node in nodes]
        handles += [node.register_hook(self._has_passed(node)) for node in nodes if node.name() == COPY_SLICES]
        try:
            call()
        finally:
            for handle in handles:
                handle.remove()

    def _began(self, node: Any) -> Callable[[Any], None]:
        return lambda gradients: self.begun.append(node)

    def _has_passed(self, node: Any) -> Callable[[Any, Any], None]:
        def note(passed: Any, received: Any) -> None:
            told = [None if one is None else few_values(one) for one in (received[0], passed[0])]
            self.passed.append(Passed(self.nodes.numbers[node], self.ledger.line, *told))

        return note

    def _probe(self) -> tuple[str, PyTorchSaid | None]:
        """(name, what PyTorch says) to a backward from the last tensor that has a grad_fn; it leaves .grad alone."""
        for name, tensor in reversed(self.names.items()):
            node = _grad_fn(tensor)
            if node is not None:
                return name, self._ask(tensor, reachable([node]))
        return "", None

    def _ask(self, tensor: torch.Tensor, nodes: list[Any]) -> PyTorchSaid | None:
        self.used = {self.nodes.number(one, self.ledger.line) for one in nodes}
        self.begun = []
        handles = [one.register_prehook(self._began(one)) for one in nodes]
        leaves = [one.variable for one in nodes if hasattr(one, "variable")]
        _, said = attempt(lambda: _gradients(tensor, leaves))
        for handle in handles:
            handle.remove()
        return said


def _grad_fn(value: Any) -> Any | None:
    """The grad_fn of a tensor; None where it has none or PyTorch refuses."""
    return attempt(lambda: value.grad_fn)[0] if isinstance(value, torch.Tensor) else None


def _gradients(tensor: torch.Tensor, leaves: list[torch.Tensor]) -> None:
    torch.autograd.grad(tensor, leaves, torch.ones_like(tensor), retain_graph=True, allow_unused=True)


def _is_leaf(tensor: torch.Tensor) -> bool:
    leaf, _ = attempt(lambda: tensor.is_leaf)
    return bool(leaf)
