"""Run what a claim's module offers: its counts, its calls, its pairs; each optional, each given the sizes it names."""

from __future__ import annotations

import inspect
from contextlib import ExitStack
from types import ModuleType
from typing import Any

import torch

from engine.claims.counting import Pairs
from engine.claims.outcome import Count, Measured, Refusal, Timed
from engine.pytorch_said import attempt
from engine.runner.contract import ProgressSink, Spec
from engine.timing import compare

BUDGET_S = 6.0
"""Wall seconds that the rounds of one comparison may take; five rounds are always run."""
MINIMUM_SAMPLE_S = 1e-3


def measure(module: ModuleType, spec: Spec[Measured], progress: ProgressSink) -> Measured:
    """`module.unavailable`, `counts`, `calls`, `pairs` and `notes`, in this order, with the seed set before each."""
    with ExitStack() as stack:
        ask = _Asking(module, spec, stack)
        if reason := ask("unavailable", ""):
            return Measured(unavailable=reason)
        progress("Counting", 0.02)
        counts = ask("counts", {})
        progress("Asking PyTorch", 0.2)
        refusals = tuple(Refusal(name, attempt(call)[1]) for name, call in ask("calls", {}).items())
        progress("Preparing what is timed", 0.25)
        timed = time_pairs(ask("pairs", {}), spec, progress)
        return Measured(
            counts=tuple(Count(name, float(value)) for name, value in counts.items()),
            timed=timed,
            refusals=refusals,
            notes=tuple(ask("notes", ())),
        )


class _Asking:
    """Calls a function of the module by name, with the fields of the spec, and `stack`, that it names."""

    def __init__(self, module: ModuleType, spec: Spec[Measured], stack: ExitStack) -> None:
        self.module = module
        self.given = {name: getattr(spec, name) for name in spec.__struct_fields__} | {"stack": stack}

    def __call__(self, name: str, default: Any) -> Any:
        function = getattr(self.module, name, None)
        if function is None:
            return default
        torch.manual_seed(self.given["seed"])
        return function(**{key: self.given[key] for key in inspect.signature(function).parameters})


def time_pairs(pairs: Pairs, spec: Any, progress: ProgressSink) -> tuple[Timed, ...]:
    """Every condition, one after the other."""
    found = []
    for number, (condition, ways) in enumerate(pairs.items()):

        def tell(stage: str, fraction: float, number: int = number, condition: str = condition) -> None:
            progress(f"{condition}: {stage}", 0.3 + 0.7 * (number + fraction) / len(pairs))

        comparison = compare(
            ways,
            rounds=spec.rounds,
            threads=spec.threads,
            minimum_sample_s=MINIMUM_SAMPLE_S,
            budget_s=BUDGET_S,
            on_progress=tell,
        )
        found.append(Timed(condition, comparison))
    return tuple(found)
