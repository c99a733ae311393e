"""Programs against PyTorch itself: the public cases, hand arithmetic, and a second way of doing the same."""

from __future__ import annotations

import contextlib

import msgspec
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from engine import run
from engine.figures.in_place_lanes import timeline
from engine.figures.in_place_svg import timeline_svg
from engine.in_place.families import FAMILIES
from engine.in_place.spec import DEFAULT_PROGRAM, FamilySpec, ProgramSpec
from engine.in_place.trace import run_program
from engine.in_place.values import StatementError

CHUNK = (
    "Output 0 of Split is a view and is being modified inplace. This view is the output of a function that returns "
    "multiple views. Such functions do not allow the output views to be modified inplace. You should replace the "
    "inplace operation by an out-of-place one."
)
BASE_WRITTEN = (
    "Output 0 of Unbind is a view and its base or another view of its base has been modified inplace. This view is the "
    "output of a function that returns multiple views. Such functions do not allow the output views to be modified "
    "inplace. You should replace the inplace operation by an out-of-place one."
)
SIGMOID = (
    "one of the variables needed for gradient computation has been modified by an inplace operation: "
    "[torch.FloatTensor [3]], which is output 0 of Sigmoid, is at version 1; expected version 0 instead. Hint: enable "
    "anomaly detection to find the operation that failed to compute its gradient, with "
    "torch.autograd.set_detect_anomaly(True, check_nan=False)."
)
HOOKED = (
    "Output 0 of BackwardHookFunction is a view and is being modified inplace. This view was created inside a custom "
    "Function (or because an input was returned as-is) and the autograd logic to handle view+inplace would override "
    "the custom backward associated with the custom Function, leading to incorrect gradients. This behavior is "
    "forbidden. You can fix this by cloning the output of the custom Function."
)


def traced(program, seed=0):
    return run(ProgramSpec(program=program, seed=seed), inline=True)


def end_of(result):
    return {state.name: state for state in result.steps[-1].tensors}


def numbers(array):
    return np.frombuffer(array.data, array.dtype).reshape(array.shape).tolist()


def test_a_chunk_may_not_be_written_a_slice_may_pytorch_48149():
    root = "root = ones(4, 2, requires_grad=True)\nx = root * 1\n"
    chunk = traced(root + "first, second = x.chunk(2)\nfirst.add_(1)").run
    assert (chunk.verdict, chunk.error.message) == ("raises", CHUNK)
    sliced = traced(root + "v = x[:2]\nv.add_(1)\nx.sum().backward()").run
    assert sliced.verdict == "runs"
    assert end_of(sliced)["x"].grad_fn == "torch::autograd::CopySlices"
    unbound = traced(root + "a, b, c, d = x.unbind()\nx.mul_(2)\na.sum().backward()").run
    assert unbound.error.message == BASE_WRITTEN
    assert unbound.steps[3].error is None, "the write of the base itself is allowed"
    assert end_of(unbound)["a"].unavailable == BASE_WRITTEN


def test_leaf_errors_and_what_is_allowed_pytorch_examples_779():
    leaf = "w = ones(2, 2, requires_grad=True)\n(w * 3).sum().backward()\n"
    first = traced(leaf + "w -= 0.1 * w.grad").run
    assert first.error.message == "a leaf Variable that requires grad is being used in an in-place operation."
    view = traced(leaf + "w[0] = 0").run
    assert view.error.message == "a view of a leaf Variable that requires grad is being used in an in-place operation."
    allowed = end_of(traced(leaf + "with no_grad():\n    w -= 0.1 * w.grad").run)["w"]
    assert numbers(allowed.values) == (torch.ones(2, 2) - 0.1 * torch.full((2, 2), 3.0)).double().tolist()
    assert (allowed.version, allowed.is_leaf) == (1, True)
    rebound = end_of(traced(leaf + "w = w - 0.1 * w.grad").run)["w"]
    assert (rebound.is_leaf, rebound.grad_fn) == (False, "SubBackward0")


def test_the_version_counter_message_pytorch_18523():
    result = traced(
        "x = zeros(3, requires_grad=True)\ns = sigmoid(x)\nt = x + 1\nt.mul_(5)\ns.add_(1)\n(s + t).sum().backward()"
    )
    broken = result.run
    assert (broken.verdict, broken.error.message, broken.raised_in) == ("breaks backward", SIGMOID, "SigmoidBackward0")
    assert {name: state.version for name, state in end_of(broken).items()} == {"x": 0, "s": 1, "t": 1}
    (culprit,) = broken.culprits
    assert (broken.nodes[culprit.node].name, culprit.slot) == ("SigmoidBackward0", "result")
    assert (culprit.version_saved, culprit.version_now) == (0, 1)
    assert [(bump.line, bump.call, bump.name) for bump in broken.bumps] == [(4, "mul_", "t"), (5, "add_", "s")]
    safe = traced("y = ones(3, requires_grad=True)\nu = y + 1\nu.mul_(5)\nu.sum().backward()").run
    assert numbers(end_of(safe)["y"].grad) == [5.0, 5.0, 5.0]
    # s'(0) = 1/4, and t = 5x + 5
    assert numbers(end_of(result.fix.run)["x"].grad) == pytest.approx([5.25] * 3)


def test_a_full_backward_hook_forbids_an_in_place_activation_pytorch_61519():
    plain = traced("x = ones(1, 2)\nw = ones(2, 2, requires_grad=True)\nh = linear(x, w)\nh.relu_()").run
    assert (plain.verdict, end_of(plain)["h"].grad_fn) == ("runs", "ReluBackward0")
    result = traced("x = ones(1, 2)\nw = ones(2, 2, requires_grad=True)\nh = hooked(linear(x, w))\nh.relu_()")
    assert result.run.error.message == HOOKED
    assert end_of(result.fix.run)["h"].grad_fn == "ReluBackward0"


def test_data_gives_a_wrong_gradient_and_detach_an_error():
    before = "x = tensor([1.0, 2.0, 3.0], requires_grad=True)\nh = x * 2\ny = h * h\n"
    result = traced(before + "h.data.mul_(2)\ny.sum().backward()")
    assert (result.run.verdict, result.run.error) == ("wrong gradient", None)
    # y = (2x)**2, so dy/dx = 8x; backward read the doubled h: 2 * 4x * 2
    assert numbers(end_of(result.run)["x"].grad) == [16.0, 32.0, 48.0]
    assert numbers(end_of(result.fix.run)["x"].grad) == [8.0, 16.0, 24.0]
    assert traced(before + "h.detach().mul_(2)\ny.sum().backward()").run.verdict == "breaks backward"


def test_a_copy_does_not_belong_to_the_graph_it_was_made_from():
    """As dataset-distillation#3: what was made from x is not an input of what x made."""
    result = traced("x = ones(3, requires_grad=True)\ny = x * 2\nd = y.detach()\nd.backward()").run
    assert "does not require grad and does not have a grad_fn" in result.error.message


def test_a_permuted_view_shares_memory_counter_and_writes():
    """The memory of pytorch/pytorch#43195: permute moves strides, no bytes."""
    result = traced("x = zeros(1, 3, 4, 5)\np = x.permute(0, 2, 3, 1)\np.add_(1)").run
    first, second = end_of(result)["x"], end_of(result)["p"]
    assert (first.storage, first.counter, first.version) == (second.storage, second.counter, second.version)
    assert second.base == "x"
    assert set(np.ravel(numbers(first.values))) == {1.0}


def test_counters_are_told_apart_by_trying_and_set_back():
    result = traced("x = ones(3)\nv = x[0]\nd = x.detach()\ne = x.data\nc = x.clone()\ne.add_(1)\nd.add_(1)").run
    states = end_of(result)
    assert {name: states[name].counter for name in ("x", "v", "d")} == dict.fromkeys(
        ("x", "v", "d"), states["x"].counter
    )
    assert len({states[name].counter for name in ("x", "e", "c")}) == 3
    assert states["e"].storage == states["x"].storage != states["c"].storage
    # as plain PyTorch counts them
    x = torch.ones(3)
    v, d, e, c = x[0], x.detach(), x.data, x.clone()
    e.add_(1)
    d.add_(1)
    assert {n: t._version for n, t in {"x": x, "v": v, "d": d, "e": e, "c": c}.items()} == {
        name: states[name].version for name in ("x", "v", "d", "e", "c")
    }


@pytest.mark.parametrize("name", sorted(FAMILIES))
def test_versions_and_gradients_are_those_of_plain_pytorch(name):
    """Each program of a family once more, by Python itself."""
    family = run(FamilySpec(name=name), inline=True)
    for member, outcome in zip(FAMILIES[name].members, family.outcomes, strict=True):
        names, error = _by_python(member.program)
        assert (outcome.error.message if outcome.error else "") == error, member.title
        for state in outcome.states:
            tensor = names[state.name]
            assert state.version == (None if tensor.is_inference() else tensor._version), member.title
        for leaf, gradient in outcome.gradients:
            assert numbers(gradient) == names[leaf].grad.double().numpy().tolist(), member.title


def _by_python(program):
    """The names after running the text as Python over torch, and what was raised."""

    def hooked(x):
        module = torch.nn.Identity()
        module.register_full_backward_hook(lambda module, given, received: None)
        return module(x)

    functional = torch.nn.functional
    names = {n: getattr(torch, n) for n in dir(torch) if not n.startswith("_")}
    names |= {"relu": functional.relu, "linear": functional.linear, "conv2d": functional.conv2d, "hooked": hooked}
    names["softplus"] = functional.softplus
    torch.manual_seed(0)
    try:
        exec(compile(program, "program", "exec"), names)
    except RuntimeError as error:
        return names, str(error)
    return names, ""


def test_copy_slices_passes_on_the_gradient_of_what_was_written():
    """v = x[:2]; v *= 10: of the base's gradient the written part goes through `* 10`, the rest as it is."""
    result = run_program("r = ones(4, requires_grad=True)\nx = r * 1\nv = x[:2]\nv.mul_(10)\nx.sum().backward()", 0)
    (passed,) = result.passed
    assert (result.nodes[passed.node].name, result.nodes[passed.node].made_at, passed.line) == (
        "torch::autograd::CopySlices", 4, 5,
    )  # fmt: skip
    assert (numbers(passed.received), numbers(passed.passed)) == ([1.0] * 4, [10.0, 10.0, 1.0, 1.0])


def test_saved_slots_are_those_that_hooks_see():
    """The tensors that saved_tensors_hooks packs, against the slots read without unpacking."""
    program = "x = ones(3, requires_grad=True)\nh = x * 2\ny = h * h\nz = y.exp()\n"
    result = run_program(program, 0)
    packed = []
    with torch.autograd.graph.saved_tensors_hooks(
        lambda tensor: packed.append(tensor) or tensor, lambda tensor: tensor
    ):
        x = torch.ones(3, requires_grad=True)
        h = x * 2
        (h * h).exp()
    assert len([slot for slot in result.steps[-1].saved if slot.storage >= 0]) == len(packed) == 3


def test_without_a_backward_the_program_is_asked_and_no_gradient_is_left():
    result = run_program("x = ones(3, requires_grad=True)\ns = x.exp()\ns.mul_(2)", 0)
    assert (result.verdict, result.probed, result.error) == ("would break backward", "s", None)
    assert "is at version 1; expected version 0" in result.probe.message
    assert not end_of(result)["x"].has_grad


def test_freed_slots_are_told_and_the_second_backward_raises():
    result = traced("x = ones(3, requires_grad=True)\ny = (x * x).sum()\ny.backward()\ny.backward()")
    assert {slot.state for slot in result.run.steps[2].saved} == {"freed"}
    assert "backward through the graph a second time" in result.run.error.message
    assert numbers(end_of(result.fix.run)["x"].grad) == [4.0, 4.0, 4.0], "2x twice"


def test_a_program_that_is_too_large_or_plain_wrong_says_so():
    large = run_program("x = ones(1024)\ny = x.unsqueeze(1)\nz = x * y", 0)
    assert large.verdict == "refused"
    assert "1048576 elements; the limit is" in large.error.message
    assert traced("x = ones(3)\nx.grad.zero_()").run.error.message == "'NoneType' object has no attribute 'zero_'"
    assert "unpack" in traced("x = ones(3, 2)\na, b = x.unbind()").run.error.message
    first, second = (run_program(DEFAULT_PROGRAM, 0, with_graphs=False) for _ in range(2))
    assert first == second, "the same every time"


def test_other_memory_for_a_saved_leaf_goes_unnoticed():
    """`x.data = ...` raises no counter: backward reads the new values, or another shape."""
    result = traced("x = tensor([1.0, 2.0], requires_grad=True)\ny = x * x\nx.data = x + 1\ny.sum().backward()")
    assert result.run.verdict == "wrong gradient"
    assert numbers(end_of(result.run)["x"].grad) == [4.0, 6.0]
    assert numbers(end_of(result.fix.run)["x"].grad) == [2.0, 4.0]
    other = run_program("x = ones(3, requires_grad=True)\ny = x * x\nx.data = ones(5)", 0)
    assert other.steps[-1].saved[0].state == "overwritten"


LINES = """\
x.data = ones(5)
x.data = y
x.grad = x
y.backward(ones(3))
y.sum().backward(create_graph=True)
x.sum().backward()
x.requires_grad_()
y.retain_grad()
y.detach_()
v = x[1:]
v.add_(1)
v = y.unsqueeze(0).expand(4, 3)
v.mul_(v)
a, b = y.split(2)
b = a
b.zero_()
y = y * y
y += x
y = relu(y, inplace=True)
y[0] += 2
x.grad *= x
y.t_()
y = y.double()
y = y.item()
y = zeros(0, requires_grad=True)
y = y > 1
y = log(y - 5)
y = hooked(y)
y = cat([y, x])
x = x.T
x.copy_(y)
y.lerp_(x, 0.5)
x.data[0] = 5
d = x.detach()
d.mul_(3)
del d
""".splitlines()
START = "x = tensor([1.0, 2.0, 3.0], requires_grad=True)\ny = x * 2\nv = y[1:]\na = x.clone()\nb = a\nd = a\n"


@given(st.lists(st.sampled_from(LINES), min_size=1, max_size=9), st.integers(0, 8))
def test_any_program_ends_in_a_result(lines, inference_at):
    if inference_at < len(lines):
        lines[inference_at] = f"with inference_mode():\n    {lines[inference_at]}"
    with contextlib.suppress(StatementError):  # a name deleted twice
        spec = ProgramSpec(program=START + "\n".join(lines))
        result = run_program(spec.program, 0)
        assert msgspec.msgpack.decode(msgspec.msgpack.encode(result), type=type(result)) == result
        assert (result.error is None) == (len(result.steps) == result.statements and result.steps[-1].error is None)
        assert timeline_svg(timeline(spec.program, result)).endswith("</svg>")
