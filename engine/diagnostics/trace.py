"""The decision trace: the questions to ask about one tensor's .grad, in order, with what was recorded as answers."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from engine.diagnostics.amounts import amount_of
from engine.diagnostics.cuts import before_cut, where_cut
from engine.diagnostics.observe import Named, Observation
from engine.diagnostics.results import PHASES, Amount, State, Step, Watched
from engine.diagnostics.watch_backward import slot_of
from engine.diagnostics.zero_reasons import UNKNOWN
from engine.graph.texts import NAMES
from engine.recorded_diagnostics import hooks_of_tensor

MOST_MAKERS = 4


def watched_rows(seen: Observation, after: str) -> tuple[Watched, ...]:
    """One row per leaf and named tensor, in the order they are named; `after` is what cleared gradients, or ""."""
    return tuple(_row(seen, one, after) for one in seen.ran.named)


def _row(seen: Observation, one: Named, after: str) -> Watched:
    grad = one.tensor.grad if one.tensor.is_leaf or one.tensor.retains_grad else None
    passed = _passed(seen, one)
    steps = tuple(_steps(seen, one, grad, passed, after))
    state = _state(one, grad, passed, steps)
    return Watched(
        name=one.name,
        kind=one.kind,
        module=one.module,
        shape=tuple(one.tensor.shape),
        dtype=NAMES[one.tensor.dtype],
        requires_grad=one.tensor.requires_grad,
        is_leaf=one.tensor.is_leaf,
        state=state,
        verdict=_verdict(state, steps),
        steps=steps,
        value=amount_of(one.tensor),
        grad=None if grad is None else amount_of(grad),
        passed=passed,
        stands_for_a_leaf=grad is None and _stands_for_a_leaf(seen, one),
    )


def _stands_for_a_leaf(seen: Observation, one: Named) -> bool:
    """Whether a variable of a program is no leaf, and its leaves have gone under in what made it."""
    start = seen.numbers.get(one.name)
    if start is None or seen.graph is None or one.tensor.is_leaf or one.kind != "intermediate" or one.module:
        return False
    following: dict[int, list[int]] = {}
    for source, target in zip(seen.graph.edge_sources.tolist(), seen.graph.edge_targets.tolist(), strict=True):
        following.setdefault(source, []).append(target)
    named = {seen.numbers[other.name] for other in seen.ran.named if other.name in seen.numbers} - {start}
    found, waiting = {start}, [start]
    while waiting:
        new = [target for target in following.get(waiting.pop(), ()) if target not in found]
        found.update(new)
        waiting += new
    return not found & named


def _passed(seen: Observation, one: Named) -> Amount | None:
    number = seen.numbers.get(one.name)
    if number is None or seen.watch is None:
        return None
    return seen.watch.summaries.get((number, 0 if one.tensor.is_leaf else one.tensor.output_nr))


def _state(one: Named, grad: torch.Tensor | None, passed: Amount | None, steps: tuple[Step, ...]) -> State:
    """Something that requires none is missed only where a gradient was cut off on the way to it."""
    if grad is not None:
        slot = slot_of(grad)
        return "non_finite" if slot == "non_finite" else "zero" if slot == "zero" else "gradient"
    if passed is not None and not one.tensor.is_leaf:
        return "non_finite" if passed.non_finite else "zero" if passed.zeros == passed.numel else "passes"
    asked = one.tensor.requires_grad or any(step.source is not None for step in steps)
    return "none" if asked else "not_asked"


def _verdict(state: State, steps: tuple[Step, ...]) -> str:
    last = next((step for step in steps if step.decides), steps[-1])
    words = {
        "gradient": "It has a gradient",
        "passes": "A gradient passed through it",
        "zero": "Its gradient is exactly 0",
        "none": "It has none, .grad is None",
        "non_finite": "Its gradient is not finite",
        "not_asked": "No gradient was asked for",
    }
    return words[state] + (f": {last.evidence}." if last.decides and last.evidence else ".")


def _steps(
    seen: Observation, one: Named, grad: torch.Tensor | None, passed: Amount | None, after: str
) -> Iterator[Step]:
    tensor = one.tensor
    yield from _may_require(tensor)
    if not tensor.requires_grad:
        yield _asked_for_none(seen, one)
        return
    yield Step("Does it require a gradient?", "yes", "requires_grad is True")
    yield _leaf_step(tensor)
    number = seen.numbers.get(one.name)
    inside = number is not None or (grad is not None)
    path = _path(seen, number, grad is not None)
    yield path
    if not inside and seen.stage != "forward":
        yield where_cut(seen.flow, seen.flow.number_of(tensor), _loss_value(seen))
        return
    ran = _backward_step(seen)
    yield ran
    if ran.decides:
        return
    if passed is not None:
        yield from _arrived(seen, one, passed, number or 0)
    elif number is not None:
        stopped = f"backward stopped with {seen.error.type} before it came here" if seen.error is not None else ""
        yield Step("Did a gradient arrive?", "no", stopped or "every node before it passed None", True)
    yield from _kept(one, grad, after)


def _may_require(tensor: torch.Tensor) -> Iterator[Step]:
    if not (tensor.is_floating_point() or tensor.is_complex()):
        evidence = f"{NAMES[tensor.dtype]}: only floating point and complex tensors can require a gradient"
        yield Step("Can its dtype have a gradient?", "no", evidence)


def _asked_for_none(seen: Observation, one: Named) -> Step:
    step = None if one.kind in ("parameter", "input", "leaf") else _cut_above(seen, one.tensor)
    if step is not None:
        return Step("Does it require a gradient?", f"no: cut {step.answer}", step.evidence, True, step.source)
    evidence = {
        "parameter": "requires_grad is False: the parameter is frozen",
        "input": "requires_grad is False: inputs do not require one unless it is set",
    }.get(one.kind, "requires_grad is False, and so is that of everything it was made from")
    if one.tensor.is_inference():
        evidence = "made under torch.inference_mode(): autograd cannot record it"
    return Step("Does it require a gradient?", "no", evidence, True)


def _cut_above(seen: Observation, tensor: torch.Tensor) -> Step | None:
    return before_cut(seen.flow, seen.flow.number_of(tensor))


def _leaf_step(tensor: torch.Tensor) -> Step:
    if tensor.is_leaf:
        return Step("Is it a leaf?", "yes", "no recorded operation made it, so backward keeps its .grad")
    try:
        maker = tensor.grad_fn.name() if tensor.grad_fn is not None else "an operation"
    except RuntimeError:
        maker = "an operation whose grad_fn cannot be read"
    return Step("Is it a leaf?", "no", f"made by {maker}: .grad is kept only after retain_grad()")


def _loss_value(seen: Observation) -> int | None:
    return None if seen.ran.loss is None else seen.flow.number_of(seen.ran.loss)


def _path(seen: Observation, number: int | None, has_gradient: bool) -> Step:
    question = "Is there a path from the loss to it?"
    if seen.stage == "forward":
        return Step(
            question, "there is no loss", f"the forward stopped with {seen.error.type if seen.error else ''}", True
        )
    if number is None and has_gradient:
        evidence = "not in the graph of the forward: a reentrant checkpoint built another in backward, which has one"
        return Step(question, "not at first", evidence)
    if number is None:
        return Step(question, "no", "walking next_functions from loss.grad_fn does not come to it")
    edges = 0 if seen.graph is None else int((seen.graph.edge_targets == number).sum())
    times = f"{edges} edge{'' if edges == 1 else 's'} of the graph end{'s' if edges == 1 else ''} here"
    return Step(question, "yes", f"{times}: {'the gradients of all uses add up' if edges > 1 else 'it is used once'}")


def _backward_step(seen: Observation) -> Step:
    question = "Did backward run to its end?"
    if seen.stage == "backward" and seen.error is not None:
        reached = len(seen.watch.order) if seen.watch else 0
        return Step(question, "no", f"{seen.error.type} after {reached} nodes", seen.watch is None or not reached)
    if seen.stage == "forward":
        return Step(question, "no", "the forward did not come to a loss", True)
    return Step(question, "yes", f"{len(seen.watch.order) if seen.watch else 0} nodes ran")


def _arrived(seen: Observation, one: Named, passed: Amount, number: int) -> Iterator[Step]:
    question = "What arrived?"
    if passed.non_finite:
        evidence = f"{passed.nans} NaN and {passed.infinities} infinite of {passed.numel} elements"
        yield Step(question, "not finite", evidence)
        yield _origin_step(seen, one)
    elif passed.zeros == passed.numel:
        yield Step(question, "exactly 0", f"all {passed.numel} elements")
        yield _zero_step(seen, one.tensor, number)
    else:
        zeros = f", {passed.zeros} of {passed.numel} elements are 0" if passed.zeros else ""
        yield Step(question, "a gradient", f"norm {passed.norm:.4g}{zeros}")


def _origin_step(seen: Observation, one: Named) -> Step:
    """The first birth that its gradient carries; of a non-leaf, whose gradient is gone, the first of all."""
    grad = one.tensor.grad if one.tensor.is_leaf or one.tensor.retains_grad else None
    carried = sorted(seen.births.carried_by(grad)) if grad is not None else []
    numbers = carried or list(range(len(seen.births.births)))
    births = [seen.births.births[number] for number in numbers]
    if not births:
        return Step(
            "Where did it begin?", "not seen", "no watched operation made it: another thread or device did", True
        )
    birth = next((found for found in births if not found.on_purpose), births[0])
    answer = f"{birth.node or birth.called or birth.operation}, {PHASES[birth.phase]}"
    return Step("Where did it begin?", answer, birth.explanation.rstrip("."), True, birth.source)


def _zero_step(seen: Observation, tensor: torch.Tensor, number: int) -> Step:
    question = "Which node made it zero first?"
    if tensor.is_leaf and any(kind == "tensor hook" for kind, _ in hooks_of_tensor(tensor)):
        return Step(question, "none: a hook", "a tensor hook registered on it returned zeros instead", True)
    makers = seen.watch.zero_makers(number) if seen.watch is not None else []
    if not makers or seen.graph is None:
        if (slots := seen.watch.incoming.get(0) if seen.watch else None) and set(slots) == {"zero"}:
            return Step(question, "the loss", "the gradient that backward starts with is 0", True)
        return Step(question, "none", "what arrives over its edges adds up to exactly 0", True)
    reasons = seen.watch.reasons if seen.watch is not None else {}
    parts = []
    for maker, slot in makers:
        node = seen.graph.nodes[maker]
        place = f" in {node.module}" if node.module else ""
        why = reasons.get((maker, slot), UNKNOWN)
        parts.append(f"{node.name}{place} got a gradient and passed on zeros: {why}")
    parts = list(dict.fromkeys(parts))
    more = f", and {len(parts) - MOST_MAKERS} more" if len(parts) > MOST_MAKERS else ""
    parts = parts[:MOST_MAKERS]
    first = seen.graph.nodes[makers[0][0]]
    return Step(question, first.name, "; ".join(parts) + more, True, first.source)


def _kept(one: Named, grad: torch.Tensor | None, after: str) -> Iterator[Step]:
    tensor = one.tensor
    if not tensor.is_leaf:
        if tensor.retains_grad:
            norm = "None" if grad is None else f"norm {amount_of(grad).norm:.4g}"
            yield Step("Was retain_grad() called?", "yes", f".grad holds what arrived, {norm}")
        else:
            yield Step("Was retain_grad() called?", "no", ".grad stays None, because it is no leaf", True)
        return
    changed = [kind for kind, _ in hooks_of_tensor(tensor) if kind == "tensor hook"]
    if changed and grad is not None:
        yield Step(
            "Did a hook see it on the way?", "yes", f"{len(changed)} tensor hook on it ran before .grad was written"
        )
    if after:
        cleared = "None" if grad is None else "zeros"
        yield Step("Was it cleared afterwards?", "yes", f"{after} left {cleared} in .grad", True)
    elif grad is not None:
        slot = slot_of(grad)
        answer = {"zero": "zeros", "non_finite": "numbers that are not finite"}.get(slot, "a gradient")
        yield Step("What is in .grad?", answer, f"{NAMES[grad.dtype]}, shape {tuple(grad.shape)}, by AccumulateGrad")
