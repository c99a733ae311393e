"""search_policy: the policy that recomputes least under a budget of bytes, chosen by cost and run for real."""

from __future__ import annotations

from engine.checkpointing.cost import BlockCosts
from engine.checkpointing.cost_probe import block_costs
from engine.checkpointing.cost_timing import time_operations
from engine.checkpointing.forecast import Foreseen
from engine.checkpointing.outcome import run_policies
from engine.checkpointing.policy import Policy, label_of
from engine.checkpointing.search_options import Option, Options, root_segments
from engine.checkpointing.spec import Outcome, PolicySpec, Searched, SearchSpec
from engine.models.build import build
from engine.pytorch_said import PyTorchSaid, attempt
from engine.runner.contract import ProgressSink

MOST_RUNS = 6
"""Choices run for real before the search gives up."""


def search_policy(spec: SearchSpec, progress: ProgressSink) -> Searched:
    """The policy of fewest recomputed FLOPs among those that fit; seconds of what is run again decide between equals.

    FLOPs and held bytes are exact, peaks forecast, seconds measured one operation at a time. The choice, sqrt(n)
    segments and off are run for real, and a choice that misses the budget then makes place for the next.
    """
    progress("one step that holds nothing", 0.0)
    foreseen = Foreseen(spec.model)
    costs, error = attempt(lambda: block_costs(foreseen))
    if costs is None:
        return _refused(spec, error)
    progress("timing the operations of the blocks", 0.1)
    timed, _ = attempt(lambda: time_operations(build(spec.model), costs))
    return _Search(spec, progress, foreseen, costs, bool(timed)).run()


def _refused(spec: SearchSpec, error: PyTorchSaid | None) -> Searched:
    """Not even off runs."""
    budget = spec.budget_bytes
    return Searched(policy=None, candidates=(), budget_bytes=budget, off_bytes=0, smallest_bytes=0, error=error)


class _Search:
    def __init__(
        self, spec: SearchSpec, progress: ProgressSink, foreseen: Foreseen, costs: BlockCosts, timed: bool
    ) -> None:
        self.spec = spec
        self.progress = progress
        self.foreseen = foreseen
        self.notes = [] if timed else ["Operations could not be timed one by one: bytes decide between equals."]
        self.options = Options(costs, spec.budget_bytes, spec.budget_of, timed).every(spec.selective)
        self.root = root_segments(costs.blocks)
        self.measured: dict[Policy, Outcome] = {}
        self._foreseen: set[Policy] = set()
        self._refusal: PyTorchSaid | None = None
        """What PyTorch has against off: then nothing is to be searched."""
        self._missed_by = 1.0
        """The most that a real run exceeded its forecast by, as a factor."""

    def run(self) -> Searched:
        chosen = self._choose()
        if chosen is None and self._refusal is None:
            smallest = min(self.options, key=lambda option: option.known_bytes)
            self._measure(smallest)
            chosen = smallest if smallest.is_measured and smallest.known_bytes <= self.spec.budget_bytes else None
        if self._refusal is not None:
            return _refused(self.spec, self._refusal)
        shown = [chosen.policy] if chosen else []
        shown += [policy for policy in self.measured if policy not in shown]
        return Searched(
            policy=chosen.policy if chosen else None,
            candidates=tuple(option.candidate(self.spec.budget_bytes, chosen) for option in self.options),
            budget_bytes=self.spec.budget_bytes,
            off_bytes=next(option.known_bytes for option in self.options if option.policy == Policy()),
            smallest_bytes=min(option.known_bytes for option in self.options),
            measured=tuple(self.measured[policy] for policy in shown),
            notes=tuple(self.notes),
        )

    def _choose(self) -> Option | None:
        """The first in rank that is known to fit: forecast, then run for real; either may show that it does not."""
        while (best := min(self._fitting(), key=lambda option: option.rank, default=None)) is not None:
            if self._refusal is not None:
                return None
            if best.policy not in self._foreseen:
                self._foresee(best)
            elif best.policy not in self.measured:
                self._measure(best)
                self._learn(best)
            else:
                return best
        return None

    def _fitting(self) -> list[Option]:
        only_measured = len(self.measured) >= MOST_RUNS
        return [
            option
            for option in self.options
            if option.known_bytes * (1.0 if option.is_measured else self._missed_by) <= self.spec.budget_bytes
            and (option.is_measured or not only_measured)
        ]

    def _foresee(self, option: Option) -> None:
        """Its bytes and FLOPs from a step that holds nothing."""
        self.progress(f"forecast: {label_of(option.policy)[:60]}", 0.4)
        self._foreseen.add(option.policy)
        forecast = self.foreseen.forecast(option.policy)
        nbytes = getattr(forecast, self.spec.budget_of)
        if nbytes is None or forecast.recomputed_flops is None:
            self._leave_out(option, forecast.error)
        else:
            option.nbytes, option.flops = nbytes, forecast.recomputed_flops
            left_out = f"Peaks are forecast without {forecast.peak_leaves_out}: they can be far too low."
            if self.spec.budget_of == "peak_bytes" and forecast.peak_leaves_out and left_out not in self.notes:
                self.notes.append(left_out)

    def _measure(self, option: Option) -> None:
        """Run it, the first time beside off and sqrt(n) segments; each is forecast before."""
        self.progress(f"running {label_of(option.policy)[:60]}", 0.6)
        wanted = [option.policy] if self.measured else [self.root, option.policy]
        policies = dict.fromkeys([Policy(), *(policy for policy in wanted if policy is not None)])
        for one in [one for one in self.options if one.policy in policies and one.policy not in self._foreseen]:
            self._foresee(one)
        outcomes = run_policies(PolicySpec(model=self.spec.model, policies=tuple(policies)), _quietly).outcomes
        for outcome in outcomes:
            if outcome.policy not in self.measured:
                self._take_in(outcome)

    def _learn(self, option: Option) -> None:
        """Where a forecast was too low, the others are trusted that much less."""
        taken = option.known_bytes
        if taken > self.spec.budget_bytes:
            self._missed_by = max(self._missed_by, taken / max(1, option.nbytes))
            self.notes.append(
                f"{label_of(option.policy)} was forecast at {option.nbytes} bytes and took {taken}: passed over."
            )

    def _take_in(self, outcome: Outcome) -> None:
        self.measured[outcome.policy] = outcome
        for option in [one for one in self.options if one.policy == outcome.policy]:
            nbytes = getattr(outcome, self.spec.budget_of)
            if nbytes is None:
                self._leave_out(option, outcome.error)
            else:
                option.measured_bytes, option.measured_flops = nbytes, outcome.recomputed_flops

    def _leave_out(self, option: Option, error: PyTorchSaid | None) -> None:
        self.options.remove(option)
        if option.policy == Policy():
            self._refusal = error or PyTorchSaid(type="Error", message="off gave no figures")
        self.notes.append(f"{label_of(option.policy)} was left out: {error.message if error else 'no figures'}")


def _quietly(stage: str, fraction: float) -> None:
    """The stages of one choice are not those of the search."""
