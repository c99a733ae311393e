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
from engine.in_place.reference import gradients, gradients_agree, observe, roots
from engine.in_place.results import REFUSED, Passed, ProgramRun, SavedSlot, Step
from engine.in_place.snapshot import few_values, snapshot
from engine.in_place.statements import Statement
from engine.in_place.verdict import MODIFIED, breaking, verdict_of
from engine.in_place.watch import VersionWatch
from engine.pytorch_said import PyTorchSaid, attempt
from engine.runner.faults import error_text

COPY_SLICES = "torch::autograd::CopySlices"


def run_program(text: str, seed: int, *, with_graphs: bool = True) -> ProgramRun:
    """Run a program from a fresh generator of random numbers; what PyTorch raises is in the result."""

    def agrees() -> bool:
        copied = observe(text, seed, copying=True)
        return not copied.is_whole or gradients_agree(observe(text, seed, copying=False), copied)

    run = _Run(parse_program(text), with_graphs, agrees)
    torch.manual_seed(seed)
    return run.result()


class _Run:
    def __init__(self, statements: tuple[Statement, ...], with_graphs: bool, agrees: Callable[[], bool]) -> None:
        self.statements, self.with_graphs, self.agrees = statements, with_graphs, agrees
        self.names: dict[str, Any] = {}
        self.ledger = Ledger()
        self.nodes = Nodes(self.ledger)
        self.graphs: list[Any] = []
        self.steps: list[Step] = []
        self.begun: list[Any] = []
        self.passed: list[Passed] = []
        self.backward_ran = False
        self.reached: list[SavedSlot] = []
        self.evaluator = Evaluator(self.names, self._backward)

    def result(self) -> ProgramRun:
        for statement in self.statements:
            self._step(statement)
            if self.steps[-1].error is not None:
                break
        error = self.steps[-1].error
        probed, probe = ("", None) if error is not None else self._probe()
        if probe is not None or not self.any_backward():
            self.reached = list(self.steps[-1].saved)
        verdict = verdict_of(error, self.steps[-1].is_backward, probe, error is not None or self.agrees())
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
                error = self._attempt(statement)
        said = tuple(dict.fromkeys(error_text(one.message) for one in caught if isinstance(one.message, Warning)))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._read(statement, error, watch, said)

    def _attempt(self, statement: Statement) -> PyTorchSaid | None:
        try:
            return attempt(lambda: self.evaluator.run(statement), ours=(TooLargeError,))[1]
        except TooLargeError as error:
            return PyTorchSaid(REFUSED, str(error))

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
        """(name, what PyTorch says) to a backward from each name with a grad_fn, newest first, until one is refused.

        A graph that a backward has freed is no fault of the program; `.grad` stays as it is.
        """
        asked = roots(self.names)
        for name, tensor in asked:
            said = self._ask(tensor, reachable([tensor.grad_fn]))
            if said is not None and (MODIFIED in said.message or not self.any_backward()):
                return name, said
        return asked[0][0] if asked else "", None

    def _ask(self, tensor: torch.Tensor, nodes: list[Any]) -> PyTorchSaid | None:
        self.begun = []
        handles = [one.register_prehook(self._began(one)) for one in nodes]
        leaves = [one.variable for one in nodes if hasattr(one, "variable")]
        _, said = attempt(lambda: gradients(tensor, leaves)) if leaves else (None, None)
        for handle in handles:
            handle.remove()
        return said


def _grad_fn(value: Any) -> Any | None:
    """The grad_fn of a tensor; None where it has none or PyTorch refuses."""
    return attempt(lambda: value.grad_fn)[0] if isinstance(value, torch.Tensor) else None


def _is_leaf(tensor: torch.Tensor) -> bool:
    leaf, _ = attempt(lambda: tensor.is_leaf)
    return bool(leaf)
