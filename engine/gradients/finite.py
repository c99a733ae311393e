"""check_gradients: chosen entries of every gradient against central differences of the same loss."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import msgspec
import torch

from engine.gradients.leaves import differentiate, leaves_of
from engine.gradients.results import Checked, CheckedEntry, Chosen, Verdict
from engine.gradients.spec import FiniteDifferenceSpec
from engine.models.build import Built, build
from engine.models.shape import has_batch_norm, has_dropout
from engine.models.spec import Expression, ModelSpec
from engine.runner.contract import ProgressSink

ROUNDOFF = 64.0
"""Losses are sums of many rounded terms: this many units of float64 roundoff are allowed on each."""
SMALLER = 1 / 64
"""The step is shrunk by this to tell a bend of the loss from a gradient that is wrong at any step."""
SHRUNK = 1 / 8
"""An error that falls below this share of itself with the smaller step comes from the step."""

BLIND = 0.01
"""Where roundoff is allowed this share of the largest gradient, agreement tells nothing."""


@dataclass(frozen=True)
class _Place:
    name: str
    index: tuple[int, ...]
    chosen: Chosen
    part: str


@dataclass(frozen=True)
class _Model:
    """A built model whose loss is asked for again and again, with one element moved."""

    built: Built

    def leaf(self, name: str) -> torch.Tensor:
        return next(leaf for other, _, leaf in leaves_of(self.built) if other == name)

    def loss(self) -> float:
        # Nothing is recorded, except where the forward itself asks autograd for a gradient.
        with torch.set_grad_enabled(isinstance(self.built.spec.architecture, Expression)):
            value = self.built.loss(self.built.forward())
        return float(value.detach().real if value.is_complex() else value.detach())

    def moved(self, place: _Place, by: float) -> float:
        """The loss with this element moved, which then is put back to the bit."""
        values = self.leaf(place.name).detach()
        before = values[place.index].clone()
        values[place.index] = before + (1j if place.part == "imag" else 1) * by
        try:
            return self.loss()
        finally:
            values[place.index] = before

    def gradient(self, place: _Place) -> float:
        grad = self.leaf(place.name).grad
        if grad is None:
            return math.nan
        value = (grad if grad.layout == torch.strided else grad.to_dense())[place.index]
        return float(value.imag if place.part == "imag" else value.real if value.is_complex() else value)


def in_float64(model: ModelSpec) -> ModelSpec:
    """The same model as exact as it gets: float64, no autocast, nothing recomputed; on the CPU where MPS has none."""
    device = "cpu" if model.device == "mps" else model.device
    return msgspec.structs.replace(model, dtype="float64", autocast="off", checkpoint="off", device=device)


def check_gradients(spec: FiniteDifferenceSpec, progress: ProgressSink) -> Checked:
    """Differences in float64 against both gradients; begins no further entry once the budget of seconds is used."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        own, exact = _Model(build(spec.model)), _Model(build(in_float64(spec.model)))
        progress("backward", 0.05)
        _, error = differentiate(own.built)
        loss, exact_error = differentiate(exact.built)
        entries: list[CheckedEntry] = []
        places: list[_Place] = []
        if error is None and exact_error is None and loss is not None:
            places = list(_places(exact, spec))
            tolerance = _roundoff(loss, spec.eps)
            begun = time.monotonic()
            for number, place in enumerate(places):
                if time.monotonic() - begun > spec.budget_s:
                    break
                progress(f"entry {number + 1} of {len(places)}", 0.1 + 0.9 * number / len(places))
                entries.append(_check(spec, place, own, exact, loss, tolerance))
    return Checked(
        entries=tuple(entries),
        unchecked=len(places) - len(entries),
        forwards=4 * len(entries),
        loss=loss,
        eps=spec.eps,
        tolerance=_roundoff(loss or 0.0, spec.eps),
        notes=(*_blind(spec.eps, _roundoff(loss or 0.0, spec.eps), entries), *_notes(spec.model)),
        error=error or exact_error,
    )


def _roundoff(loss: float, eps: float) -> float:
    """Absolute error that rounding two losses puts on their difference over 2 eps."""
    return ROUNDOFF * torch.finfo(torch.float64).eps * max(1.0, abs(loss)) / eps


def _places(model: _Model, spec: FiniteDifferenceSpec) -> Iterator[_Place]:
    """Of every leaf with a gradient: the largest, the smallest, then random elements, none twice."""
    generator = torch.Generator().manual_seed(spec.model.seed)
    for name, _, leaf in leaves_of(model.built):
        if leaf.grad is None or not leaf.numel():
            continue
        dense = leaf.grad if leaf.grad.layout == torch.strided else leaf.grad.to_dense()
        size = dense.detach().reshape(-1).abs().nan_to_num(nan=math.inf)
        drawn = torch.randint(leaf.numel(), (4 * spec.entries,), generator=generator).tolist()
        ranked: list[tuple[int, Chosen]] = [(int(size.argmax()), "largest"), (int(size.argmin()), "smallest")]
        wanted = dict(reversed([*ranked, *((number, "random") for number in drawn)]))
        order = dict.fromkeys([*(number for number, _ in ranked), *drawn])
        for number in list(order)[: spec.entries]:
            index = tuple(int(part) for part in torch.unravel_index(torch.tensor(number), leaf.shape))
            for part in ("real", "imag") if leaf.is_complex() else ("",):
                yield _Place(name, index, wanted[number], part)


def _check(
    spec: FiniteDifferenceSpec, place: _Place, own: _Model, exact: _Model, loss: float, tolerance: float
) -> CheckedEntry:
    eps = spec.eps
    up, down = exact.moved(place, eps), exact.moved(place, -eps)
    numeric, gradient = (up - down) / (2 * eps), exact.gradient(place)
    one_sided = abs((up - loss) - (loss - down)) / eps
    return CheckedEntry(
        name=place.name,
        index=place.index,
        chosen=place.chosen,
        part=place.part,  # type: ignore[arg-type]
        gradient=own.gradient(place),
        exact=gradient,
        numeric=numeric,
        own_numeric=(own.moved(place, eps) - own.moved(place, -eps)) / (2 * eps),
        one_sided=one_sided,
        verdict=_verdict(spec, place, exact, loss, (gradient, numeric, one_sided, tolerance)),
    )


def _verdict(
    spec: FiniteDifferenceSpec, place: _Place, exact: _Model, loss: float, found: tuple[float, float, float, float]
) -> Verdict:
    """The loss bends where a smaller step comes nearer, or the two one-sided quotients stay apart: a kink is here."""
    gradient, numeric, one_sided, tolerance = found
    if not (math.isfinite(gradient) and math.isfinite(numeric)):
        return "not finite"
    if _agree(gradient, numeric, spec.rtol, tolerance):
        return "agrees"
    eps = spec.eps * SMALLER
    up, down = exact.moved(place, eps), exact.moved(place, -eps)
    nearer, looser = (up - down) / (2 * eps), tolerance / SMALLER
    if _agree(gradient, nearer, spec.rtol, looser) or abs(gradient - nearer) < abs(gradient - numeric) * SHRUNK:
        return "bends"
    stays_apart = abs((up - loss) - (loss - down)) / eps > max(0.5 * one_sided, 4 * looser)
    return "bends" if stays_apart else "differs"


def _agree(a: float, b: float, rtol: float, atol: float) -> bool:
    return abs(a - b) <= atol + rtol * max(abs(a), abs(b))


def _blind(eps: float, tolerance: float, entries: Sequence[CheckedEntry]) -> tuple[str, ...]:
    """Said where roundoff of the quotient is allowed so much that agreement tells nothing."""
    largest = max((abs(one.exact) for one in entries if math.isfinite(one.exact)), default=0.0)
    if tolerance < BLIND * largest or not largest:
        return ()
    return (
        f"eps = {eps:g} can tell little here: rounding alone puts {tolerance:.2g} (estimated) on every quotient, "
        f"{tolerance / largest:.2g} of the largest gradient checked ({largest:.2g}). Take an eps near 1e-5.",
    )


def _notes(model: ModelSpec) -> tuple[str, ...]:
    """What about this model makes differences and gradients part, and what was done about it."""
    notes = []
    if model.train and has_dropout(model.architecture):
        notes.append("Dropout: every loss starts from the same seed, so all of them drop the same elements.")
    if model.train and has_batch_norm(model.architecture):
        notes.append("BatchNorm in train mode: moving one element moves the mean and variance of its whole batch too.")
    if model.checkpoint != "off" or model.autocast != "off":
        notes.append("The float64 losses run without autocast and without checkpointing.")
    return tuple(notes)
