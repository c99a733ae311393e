"""Where a path is cut: the operation after which values that came from a tensor require no gradient."""

from __future__ import annotations

from engine.diagnostics.flow import Call, Flow
from engine.diagnostics.results import Step
from engine.graph.rows import Source

_INTEGER = ("int", "uint", "bool")


def where_cut(flow: Flow, start: int, loss: int | None) -> Step:
    """The step that says where what came of value `start` left the graph, or that nothing used it."""
    calls = flow.reached_from(start)
    if not calls:
        return Step("Where does the path end?", "nothing used it", "no operation of the forward took it", True)
    reached = {start, *(out for number in calls for out in flow.calls[number].outputs)}
    cuts = [number for number in calls if _cuts(flow, flow.calls[number], reached)]
    leading = [number for number in cuts if flow.calls[number].leaves_torch or _leads_to(flow, number, loss)]
    if leading:
        return _cut_step(flow, leading[0])
    if not cuts:
        return _dead_end(flow, calls)
    return _cut_step(flow, cuts[0])


def before_cut(flow: Flow, value: int) -> Step | None:
    """For a value that requires no gradient: the operation on the way to it that cut one off, if there is one."""
    seen, waiting = {value}, [value]
    while waiting:
        maker = flow.values[waiting.pop(0)].maker
        if maker < 0:
            continue
        if any(flow.values[one].requires_grad for one in flow.calls[maker].inputs):
            return _cut_step(flow, maker)
        waiting += [one for one in flow.calls[maker].inputs if one not in seen]
        seen.update(flow.calls[maker].inputs)
    return None


def _cuts(flow: Flow, call: Call, reached: set[int]) -> bool:
    """An input on the way carried a gradient, no output does, unless as a new leaf."""
    carried = any(flow.values[one].requires_grad for one in call.inputs if one in reached)
    return carried and not any(flow.values[one].node for one in call.outputs)


def _leads_to(flow: Flow, number: int, loss: int | None) -> bool:
    if loss is None:
        return False
    for out in flow.calls[number].outputs:
        if out == loss or any(loss in flow.calls[later].outputs for later in flow.reached_from(out)):
            return True
    return False


def _cut_step(flow: Flow, number: int) -> Step:
    call = flow.calls[number]
    last = next(flow.values[one] for one in call.inputs if flow.values[one].requires_grad)
    had = f"grad_fn {last.node}" if last.node else "a leaf that requires a gradient"
    evidence = f"{call.name} took {had} and returned {_returned(flow, call)}: {_reason(flow, call)}"
    return Step("Where is it cut?", _place(call), evidence, True, call.source)


def _place(call: Call) -> str:
    line = f", {call.source.file} line {call.source.line}" if call.source is not None else ""
    return f"at {call.name}{line}" + (f", in {call.module}" if call.module else "")


def _returned(flow: Flow, call: Call) -> str:
    value = flow.values[call.outputs[0]]
    if call.leaves_torch:
        return f"a Python {value.dtype}"
    return f"{value.dtype} {'as a new leaf' if value.requires_grad else 'with requires_grad False'}"


def _reason(flow: Flow, call: Call) -> str:
    dtype = flow.values[call.outputs[0]].dtype
    word = call.name.rpartition(".")[2]
    if call.leaves_torch:
        return "numbers outside of torch are not recorded"
    if call.inference:
        return "it ran under torch.inference_mode()"
    if word == "detach" or word == "data":
        return "that is what it is for"
    if call.name == "tensor":
        return "torch.tensor copies the values into a new leaf"
    if not call.grad_enabled:
        if call.inside:
            return f"inside of {call.inside}.forward nothing is recorded, and apply() was not handed this tensor itself"
        return "it ran under torch.no_grad()"
    if dtype.startswith(_INTEGER):
        return f"{dtype} values have no derivative"
    return "the operation has no derivative"


def _dead_end(flow: Flow, calls: list[int]) -> Step:
    """The last tensor that came of it, which the loss does not use."""
    last = flow.calls[calls[-1]]
    source: Source | None = last.source
    evidence = f"the last that came of it is what {last.name} returned, and the loss does not use that"
    return Step("Where does the path end?", _place(last), evidence, True, source)
