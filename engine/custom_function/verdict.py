"""Why gradcheck said what it said: tests in order, the first that explains it decides."""

from __future__ import annotations

from engine.custom_function import evidence
from engine.custom_function.building import Made, Tensors, make_inputs
from engine.custom_function.results import Call, Gradcheck, Step, Verdict, VerdictKind
from engine.custom_function.spec import CustomFunctionSpec
from engine.custom_function.verdict_words import REMEDIES, refusal_kind

ROUNDING = 1e-4
"""Relative difference of backward(100 g) from 100 backward(g) that float32 rounding never reaches."""
LARGE = 100.0


class Trace:
    """The decision so far; `decide` ends it."""

    def __init__(self) -> None:
        self.steps: list[Step] = []

    def note(self, test: str, outcome: str) -> None:
        self.steps.append(Step(test, outcome))

    def decide(self, kind: VerdictKind, test: str, outcome: str, sentence: str) -> Verdict:
        steps = (*self.steps, Step(test, outcome, True))
        return Verdict(kind=kind, sentence=sentence, remedy=REMEDIES[kind], steps=steps)


def reach_verdict(spec: CustomFunctionSpec, made: Made, call: Call, check: Gradcheck) -> Verdict:
    """The verdict on a Function with the tests that led to it."""
    trace, inputs = Trace(), make_inputs(spec)
    early = _before_numbers(trace, made, call, inputs)
    if early is not None:
        return early
    trace.note("Does gradcheck pass?", "yes" if check.passed else _first_line(check))
    if check.passed:
        return _passed(trace, made, inputs)
    return _memory_or_chance(trace, spec, made, inputs) or _precision(trace, spec, made) or _values(trace, spec, made)


def _first_line(check: Gradcheck) -> str:
    return f"no: {check.error.type}: {check.error.message.splitlines()[0][:160]}" if check.error else "no"


def _before_numbers(trace: Trace, made: Made, call: Call, inputs: Tensors) -> Verdict | None:
    if call.forward_error is not None:
        said = call.forward_error
        words = f"PyTorch refuses the forward: {said.message.splitlines()[0][:240]}"
        return trace.decide("refused", "Does forward run?", f"no: {said.type}", words)
    trace.note("Does forward run?", "yes")
    question = "Does an output require grad?"
    if not call.grad_fn:
        words = "Autograd tracks only tensors that apply is given one by one, and none of these requires grad."
        if made.function is None:
            words = "Forward is cut off from x, by detach or because it is a constant: autograd recorded nothing."
        return trace.decide("not tracked", question, "no: grad_fn is None", words)
    trace.note(question, f"yes: {call.grad_fn}")
    if call.backward_error is not None:
        said = call.backward_error
        kind = refusal_kind(said.message)
        return trace.decide(kind, "Does backward run?", f"no: {said.type}", said.message.splitlines()[0])
    trace.note("Does backward run?", "yes")
    if not sum(one.numel() for one in inputs):
        words = "Without elements there is no Jacobian entry: whatever backward does, this passes."
        return trace.decide("nothing checked", "How many elements are checked?", "0", words)
    return None


def _passed(trace: Trace, made: Made, inputs: Tensors) -> Verdict:
    off = evidence.linearity(made, inputs, LARGE)
    question = "Is backward linear: backward(100 g) = 100 backward(g)?"
    if off > ROUNDING:
        words = (
            f"gradcheck passes, but backward(100 g) is up to {off:.0%} away from 100 backward(g). gradcheck sends in "
            "ones and zeros only, so it never sees what larger gradients meet."
        )
        return trace.decide("not linear in grad_output", question, f"no: off by {off:.0%}", words)
    trace.note(question, "yes")
    question = "May backward be differentiated?"
    said = evidence.differentiated_twice(made, inputs)
    if said is not None and "once_differentiable" in said.message:
        words = (
            "The first derivative is right; a second one is refused, as the Function declares. Only a full backward() "
            "raises: torch.autograd.grad of a single input gives zeros or None, and gradgradcheck a mismatch."
        )
        return trace.decide("once differentiable", question, f"no: {said.message[:160]}", words)
    trace.note(question, "yes" if said is None else f"no: {said.type}: {said.message[:160]}")
    return trace.decide("right", "Is a reason left to doubt it?", "no", "Backward is the derivative at these points.")


def _memory_or_chance(trace: Trace, spec: CustomFunctionSpec, made: Made, inputs: Tensors) -> Verdict | None:
    question = "Do two elements of an input share memory?"
    if any(evidence.overlaps(one) for one in inputs if one.requires_grad):
        words = (
            "Moving one element for a difference moves others too, so the numerical Jacobian holds sums of entries. "
            "Backward has not been shown to be wrong."
        )
        return trace.decide("overlapping memory", question, "yes", words)
    trace.note(question, "no")
    question = "Does backward give the same twice?"
    off = evidence.repeat_difference(made, inputs)
    if off > spec.nondet_tol:
        words = (
            f"Two backward passes over the same inputs differ by up to {off:.2g}; nondet_tol is {spec.nondet_tol:g}."
        )
        return trace.decide("non-deterministic", question, f"no: {off:.2g} apart", words)
    trace.note(question, "yes" if not off else f"to {off:.2g}, within nondet_tol")
    return None


def _precision(trace: Trace, spec: CustomFunctionSpec, made: Made) -> Verdict | None:
    """Whether it is gone with float64 and gradcheck's own eps and tolerances."""
    question = "Is it gone in float64 with eps=1e-6, atol=1e-5, rtol=1e-3?"
    again = evidence.settle(spec, made)
    if not again.mismatches:
        blame = "float32 keeps 7 digits" if spec.dtype == "float32" else f"eps={spec.eps:g} is no good step here"
        if spec.dtype != "float32" and spec.eps == evidence.SAFE_EPS:
            blame = f"atol={spec.atol:g} and rtol={spec.rtol:g} are tighter than the differences are exact"
        words = f"The differences are not exact enough, backward is not wrong: {blame}."
        return trace.decide("precision", question, "yes", words)
    trace.note(question, f"no: {again.mismatches} entries differ still")
    return None


def _values(trace: Trace, spec: CustomFunctionSpec, made: Made) -> Verdict:
    """Kink, declared clip or surrogate, or a wrong formula, from Jacobians in float64."""
    settled = evidence.settle(spec, made)
    bad = evidence.not_finite(settled)
    question = "Are both Jacobians finite?"
    if bad and not any(mask.any() for mask in evidence.without(settled, bad)):
        words = "Every mismatch is an entry that is NaN or infinite in one of the two: there is nothing to compare."
        return trace.decide("not finite", question, "no, at all mismatches", words)
    trace.note(question, f"not in the columns of {_elements(len(bad))}, left out now" if bad else "yes")
    found = evidence.kinks(made, settled) - bad
    left = evidence.without(settled, found | bad)
    question = "Do one-sided differences stay apart at the mismatches?"
    if not any(mask.any() for mask in left):
        words = (
            f"At {_elements(len(found))} the function has a kink or a jump: there is no derivative for backward to "
            "agree with, and a central difference takes the mean of both sides."
        )
        return trace.decide("kink", question, f"yes, at all of them ({_elements(len(found))})", words)
    trace.note(question, f"at {_elements(len(found))}, which are left out now" if found else "no")
    return _declared(trace, spec, made, settled, left) or _wrong(trace, made, settled, left)


def _elements(count: int) -> str:
    return f"{count} element{'s' * (count != 1)}"


def _declared(
    trace: Trace, spec: CustomFunctionSpec, made: Made, settled: evidence.Settled, left: list[evidence.Mask]
) -> Verdict | None:
    formula = evidence.formula_jacobians(made, settled)
    limit = spec.clips_at
    if limit is not None and formula is not None:
        question = f"Is backward the derivative clamped to ±{limit:g}, as declared?"
        if evidence.is_clipped(settled, formula, limit):
            count = sum(int(mask.sum()) for mask in left)
            words = (
                f"The {count} mismatch{'es are' if count != 1 else ' is'} exactly where the derivative exceeds "
                f"{limit:g} and backward cuts it, as the Function declares. gradcheck is right to refuse: this is "
                "not the derivative of forward."
            )
            return trace.decide("intended clip", question, "yes", words)
        trace.note(question, "no")
    if spec.entry.surrogate and formula is not None and evidence.numeric_is_right(settled, formula, left):
        words = (
            f"The Function declares another gradient than the derivative: {spec.entry.surrogate}. gradcheck is right "
            "to refuse it, and it is meant so."
        )
        return trace.decide("intended surrogate", "Does it declare a surrogate?", "yes", words)
    return None


def _wrong(trace: Trace, made: Made, settled: evidence.Settled, left: list[evidence.Mask]) -> Verdict:
    formula = evidence.formula_jacobians(made, settled)
    if formula is not None:
        agrees = evidence.numeric_is_right(settled, formula, left)
        trace.note("Does autograd of the same formula side with the differences?", "yes" if agrees else "no")
    words = evidence.ratio_words(settled, left)
    question = "How do the two relate where they differ?"
    return trace.decide("wrong formula", question, words, f"{words[0].upper()}{words[1:]}.")
