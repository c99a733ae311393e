"""Why gradcheck said what it said: tests in order, the first that explains it decides."""

from __future__ import annotations

from engine.custom_function import evidence, scaling
from engine.custom_function.building import Made, Tensors, input_names, make_inputs
from engine.custom_function.passing import passed
from engine.custom_function.results import Call, Gradcheck, OrderCheck, Verdict
from engine.custom_function.spec import CustomFunctionSpec
from engine.custom_function.trace import Trace, elements
from engine.custom_function.verdict_words import refusal_kind


def reach_verdict(
    spec: CustomFunctionSpec, made: Made, call: Call, check: Gradcheck, orders: tuple[OrderCheck, ...] = ()
) -> Verdict:
    """The verdict on a Function with the tests that led to it."""
    trace, inputs = Trace(), make_inputs(spec)
    early = _before_numbers(trace, made, call, inputs)
    if early is not None:
        return early
    trace.note("Does gradcheck pass?", "yes" if check.passed else _first_line(check))
    if check.passed:
        return passed(trace, spec, made, inputs, orders)
    return (
        _memory_or_chance(trace, spec, made, inputs)
        or _not_multiplied(trace, made, inputs)
        or _not_about_values(trace, check)
        or _compared(trace, spec, made)
    )


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


def _not_multiplied(trace: Trace, made: Made, inputs: Tensors) -> Verdict | None:
    question = "Does backward give 0 for a gradient of 0?"
    constant = scaling.constant_part(made, inputs)
    if not constant:
        trace.note(question, "yes")
        return None
    words = (
        f"backward(0) is up to {constant:.3g}, and every derivative gives 0 there: a part of backward is not "
        "multiplied by grad_output."
    )
    return trace.decide("not multiplied by grad_output", question, f"no: up to {constant:.3g}", words)


def _not_about_values(trace: Trace, check: Gradcheck) -> Verdict | None:
    """A refusal of gradcheck with Jacobians that agree is no matter of precision: its own words stand."""
    question = "Do entries of the two Jacobians differ?"
    if check.mismatches or check.error is None or check.error.message.startswith("Jacobian mismatch"):
        trace.note(question, f"yes, {check.mismatches} of {check.entries}" if check.mismatches else "by its own sample")
        return None
    words = (
        f"The Jacobians agree, and gradcheck refuses for another reason: {check.error.message.splitlines()[0][:240]}"
    )
    return trace.decide("refused", question, "no", words)


def _compared(trace: Trace, spec: CustomFunctionSpec, made: Made) -> Verdict:
    """Whether it is gone with float64 and gradcheck's own eps and tolerances, or with steps that suit forward."""
    question = "Is it gone in float64 with eps=1e-6, atol=1e-5, rtol=1e-3?"
    again = evidence.settle(spec, made)
    if not again.mismatches:
        blame = "float32 keeps 7 digits" if spec.dtype == "float32" else f"eps={spec.eps:g} is no good step here"
        if spec.dtype != "float32" and spec.eps == evidence.SAFE_EPS:
            blame = f"atol={spec.atol:g} and rtol={spec.rtol:g} are tighter than the differences are exact"
        words = f"The differences are not exact enough, backward is not wrong: {blame}."
        return trace.decide("precision", question, "yes", words)
    trace.note(question, f"no: {again.mismatches} entries differ still")
    question = "Is it gone with steps down to 5e-10?"
    refined, _ = evidence.refine(made, again)
    if not refined.mismatches:
        words = "Forward changes within eps=1e-6: smaller steps agree with backward, which is not wrong."
        return trace.decide("precision", question, "yes", words)
    trace.note(question, f"no: {refined.mismatches} entries differ still")
    return _values(trace, spec, made, refined)


def _values(trace: Trace, spec: CustomFunctionSpec, made: Made, settled: evidence.Settled) -> Verdict:
    """Kink, declared clip or surrogate, or a wrong formula, from Jacobians in float64."""
    bad = evidence.not_finite(settled)
    question = "Are the differences finite?"
    if bad and not any(mask.any() for mask in evidence.without(settled, bad)):
        words = "At every mismatch the differences are NaN or infinite: there is nothing to compare backward with."
        return trace.decide("not finite", question, "no, at all mismatches", words)
    trace.note(question, f"not in the columns of {elements(len(bad))}, left out now" if bad else "yes")
    found = evidence.kinks(made, settled) - bad
    burst = evidence.backward_not_finite(settled) - found - bad
    if burst:
        words = (
            f"At {elements(len(burst))} backward gives NaN or infinity, where forward is smooth and the differences "
            "are finite."
        )
        return trace.decide("backward not finite", "Is backward finite there?", f"no, at {elements(len(burst))}", words)
    left = evidence.without(settled, found | bad)
    question = "Do one-sided differences stay apart at the mismatches?"
    if not any(mask.any() for mask in left):
        words = (
            f"At {elements(len(found))} the function has a kink or a jump: there is no derivative for backward to "
            "agree with, and a central difference takes the mean of both sides."
        )
        return trace.decide("kink", question, f"yes, at all of them ({elements(len(found))})", words)
    trace.note(question, f"at {elements(len(found))}, which are left out now" if found else "no")
    return _declared(trace, spec, made, settled, left) or _wrong(trace, spec, made, settled, left)


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


def _wrong(
    trace: Trace, spec: CustomFunctionSpec, made: Made, settled: evidence.Settled, left: list[evidence.Mask]
) -> Verdict:
    formula = evidence.formula_jacobians(made, settled)
    if formula is not None:
        agrees = evidence.numeric_is_right(settled, formula, left)
        trace.note("Does autograd of the same formula side with the differences?", "yes" if agrees else "no")
    words = f"{_whose(spec, settled, left)}{evidence.ratio_words(settled, left)}"
    question = "How do the two relate where they differ?"
    return trace.decide("wrong formula", question, words, f"{words[0].upper()}{words[1:]}.")


def _whose(spec: CustomFunctionSpec, settled: evidence.Settled, left: list[evidence.Mask]) -> str:
    """Which inputs have the wrong gradient, where there are several."""
    names = input_names(spec)
    if len({pair.input for pair in settled.pairs}) < 2:
        return ""
    wrong = sorted({pair.input for pair, mask in zip(settled.pairs, left, strict=True) if mask.any()})
    return f"in the gradient of {' and '.join(names[one] for one in wrong)}, "
