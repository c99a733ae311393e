"""What is left to doubt once gradcheck passes: other gradients, kinks, entries below atol, inputs not checked."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from engine.custom_function import evidence, scaling, slopes
from engine.custom_function.building import Made, Tensors
from engine.custom_function.evidence import Mask, Settled
from engine.custom_function.results import OrderCheck, Verdict
from engine.custom_function.spec import CustomFunctionSpec
from engine.custom_function.trace import Trace, elements

ROUNDING = 1e-4
"""Relative difference of backward(100 g) from 100 backward(g) that float32 rounding never reaches."""
WORTH_SAYING = 1e-5
"""Relative distance from the derivative that is told, though gradcheck allows it."""


def passed(
    trace: Trace, spec: CustomFunctionSpec, made: Made, inputs: Tensors, orders: tuple[OrderCheck, ...]
) -> Verdict:
    """The verdict where gradcheck passes."""
    return (
        _not_linear(trace, made, inputs)
        or _kink(trace, spec, made)
        or _undecided(trace, spec, made)
        or _once(trace, made, inputs)
        or _right(trace, spec, made, orders)
    )


def _not_linear(trace: Trace, made: Made, inputs: Tensors) -> Verdict | None:
    question = "Is backward linear in the gradient: 100 g, -g, 0.01 g and g + h?"
    broken = scaling.broken_law(made, inputs, ROUNDING)
    if broken is None:
        trace.note(question, "yes")
        return None
    meets = {
        "factor": "larger or smaller gradients meet",
        "sign": "a negative gradient meets",
        "sum": "mixed ones meet",
    }
    words = (
        f"gradcheck passes, but {broken.left} is up to {broken.off:.0%} away from {broken.right}. gradcheck sends in "
        f"ones and zeros only, so it never sees what {meets[broken.law]}."
    )
    return trace.decide("not linear in grad_output", question, f"no: {broken.left} is off by {broken.off:.0%}", words)


def _kink(trace: Trace, spec: CustomFunctionSpec, made: Made) -> Verdict | None:
    inputs = evidence.wide_inputs(spec)
    places = [(n, c) for n, one in enumerate(inputs) if _is_real_leaf(one) for c in range(one.numel())]
    found = [place for place in places if slopes.is_kink(made.call, inputs, *place)]
    question = "Do one-sided differences stay apart at a point?"
    if not found:
        trace.note(question, "no")
        return None
    words = (
        f"At {elements(len(found))} the function has a kink or a jump: there is no derivative there. gradcheck passes, "
        "because backward happens to give what a central difference gives, the mean of both sides."
    )
    return trace.decide("kink", question, f"yes, at {elements(len(found))}", words)


def _is_real_leaf(tensor: torch.Tensor) -> bool:
    return tensor.requires_grad and not tensor.is_complex()


@dataclass(frozen=True)
class Relative:
    """Backward against settled slopes, relative to their size: entries that are off, and those nobody can tell."""

    settled: Settled
    off: list[Mask]
    blurred: list[Mask]
    largest: list[float]
    worst: float

    @property
    def count(self) -> int:
        return sum(int(mask.sum()) for mask in self.off)


def compare_relatively(spec: CustomFunctionSpec, made: Made) -> Relative:
    """Every entry compared with rtol alone, beyond what rounding of forward leaves open."""
    first = evidence.settle(spec, made)
    everywhere = [np.ones_like(mask) for mask in first.outside]
    settled, errors = evidence.refine(made, first, everywhere)
    rtol = max(spec.rtol, evidence.SAFE_RTOL)
    off, blurred, largest, worst = [], [], [], 0.0
    for pair, error in zip(settled.pairs, errors, strict=True):
        apart, size = np.abs(pair.analytical - pair.numerical), np.abs(pair.numerical)
        off.append(apart > rtol * size + error)
        both = np.maximum(size, np.abs(pair.analytical))
        blurred.append((both > 0) & (error > rtol * both))
        largest.append(float(both.max(initial=0.0)))
        told = (np.maximum(apart - error, 0.0) / np.maximum(size, 1e-300))[size > 0]
        worst = max(worst, float(told.max(initial=0.0)))
    return Relative(settled, off, blurred, largest, worst)


def _undecided(trace: Trace, spec: CustomFunctionSpec, made: Made) -> Verdict | None:
    question = "Would it pass without atol, each entry relative to its own size?"
    found = compare_relatively(spec, made)
    entries = sum(mask.size for mask in found.off)
    if found.count:
        words = (
            f"{found.count} of {entries} entries pass only because atol = {spec.atol:g} allows it. Relative to their "
            f"size they are wrong: {evidence.ratio_words(found.settled, found.off, floor=0.0)}."
        )
        return trace.decide("not decided", question, f"no, {found.count} of {entries} entries would not", words)
    if any(mask.any() for mask in found.blurred) and max(found.largest, default=0.0) <= spec.atol:
        words = (
            f"All entries are below atol = {spec.atol:g}, so gradcheck passes any backward that is as small; forward "
            "is rounded too coarsely to compare them relative to their size."
        )
        return trace.decide("not decided", question, "cannot be told: forward is rounded too coarsely", words)
    trace.note(question, "yes" if found.worst <= WORTH_SAYING else f"yes, within rtol: {found.worst:.2g} off")
    return None


def _once(trace: Trace, made: Made, inputs: Tensors) -> Verdict | None:
    question = "May backward be differentiated?"
    said = evidence.differentiated_twice(made, inputs)
    if said is not None and "once_differentiable" in said.message:
        words = (
            "The first derivative is right; a second one is refused, as the Function declares. Only a full backward() "
            "raises: torch.autograd.grad of a single input gives zeros or None, and gradgradcheck a mismatch."
        )
        return trace.decide("once differentiable", question, f"no: {said.message[:160]}", words)
    trace.note(question, "yes" if said is None else f"no: {said.type}: {said.message[:160]}")
    return None


def _right(trace: Trace, spec: CustomFunctionSpec, made: Made, orders: tuple[OrderCheck, ...]) -> Verdict:
    within = next((one.outcome for one in reversed(trace.steps) if "within rtol" in one.outcome), "")
    sentence = "Backward is the derivative at these points."
    if within:
        off = within.rpartition(": ")[2].removesuffix(" off")
        sentence = f"Backward is within rtol of the derivative at these points, not equal to it: {float(off):.2g} off."
    failing = next((one.order for one in orders if not one.passed), None)
    if failing is not None:
        sentence += f" First order only: order {failing} fails." if failing == 2 else f" Order {failing} fails."
    question = "Is every input that forward reads checked?"
    if spec.leaves_z_out:
        words = f"{sentence} That is the gradient of x: z gets none, as its backward is empty, and was not checked."
        return trace.decide("input not checked", question, "no: z gets no gradient", words)
    trace.note(question, "yes")
    return trace.decide("right", "Is a reason left to doubt it?", "no", sentence)
