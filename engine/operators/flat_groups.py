"""Which parameters of an optimizer are stepped in one call, and the flat tensors that hold their state."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from operator import is_
from typing import Any

import torch
from torch import Tensor

from engine.operators.flat_state import new_flat, views_of

State = dict[Tensor, dict[str, Any]]


@dataclass
class Run:
    """Parameters of one dtype and device that took the same steps: `flat` maps names of their state to one tensor each.

    `places` are theirs in the group. `first`: none of their state exists yet.
    """

    params: list[Tensor]
    places: list[int]
    flat: dict[str, Tensor] = field(default_factory=dict)
    step: Tensor | None = None
    first: bool = True


@dataclass
class _Plan:
    """The runs of a group, and what they hold for: its parameters, those with a gradient, the names of their state."""

    params: list[Tensor]
    without: list[int]
    names: tuple[str, ...]
    runs: list[Run]

    def fits(self, params: Sequence[Tensor], without: list[int], names: tuple[str, ...]) -> bool:
        same = len(params) == len(self.params) and all(map(is_, params, self.params))
        return same and without == self.without and names == self.names


class FlatGroups:
    """The runs of every group of an optimizer with this `state`, made when first asked for and when they change.

    Begin anew (another FlatGroups) whenever entries of `state` are replaced.
    """

    def __init__(self, state: Any) -> None:
        self._state: State = state
        self._plans: dict[int, _Plan] = {}

    def of(
        self, number: int, params: list[Tensor], names: tuple[str, ...], *, counted: bool
    ) -> Iterator[tuple[Run, list[Tensor]]]:
        """Runs of group `number` with their gradients; `counted` keeps a step count with each run."""
        grads = [param.grad for param in params]
        without = [i for i, grad in enumerate(grads) if grad is None]
        plan = self._plans.get(number)
        if plan is None or not plan.fits(params, without, names):
            runs = self._runs(params, without, names, counted)
            plan = self._plans[number] = _Plan(list(params), without, names, runs)
        for run in plan.runs:
            if len(run.params) == len(grads):
                yield run, grads  # type: ignore[misc]
            else:
                yield run, [grad for i in run.places if (grad := grads[i]) is not None]

    def _runs(self, params: list[Tensor], without: list[int], names: tuple[str, ...], counted: bool) -> list[Run]:
        alike: dict[Any, Run] = defaultdict(lambda: Run([], []))
        left_out = set(without)
        for place, param in enumerate(params):
            if place not in left_out:
                run = alike[param.dtype, param.device, *self._steps_taken(param, names)]
                run.params.append(param)
                run.places.append(place)
        for (_, _, steps, has_state), run in alike.items():
            run.first = not has_state
            if counted:
                run.step = torch.tensor(steps)
            self._move(run, names)
        return list(alike.values())

    def _steps_taken(self, param: Tensor, names: tuple[str, ...]) -> tuple[float, bool]:
        kept = self._state.get(param, {})
        return float(kept.get("step", 0.0)), any(kept.get(name) is not None for name in names)

    @torch.no_grad()
    def _move(self, run: Run, names: tuple[str, ...]) -> None:
        """The state of a run into new flat tensors, where there is some; its entries become views of them."""
        for name in names:
            run.flat[name] = flat = new_flat(run.params)
            for param, view in zip(run.params, views_of(flat, run.params), strict=True):
                entry = self._state.setdefault(param, {})
                if (before := entry.get(name)) is not None:
                    view.copy_(before)
                entry[name] = view
        if run.step is not None:
            for param in run.params:
                self._state[param]["step"] = run.step
