"""Why a node passed on zeros: known cases of each reason, over dtypes and kinds of nodes; torch makes the zeros."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F

from engine.diagnostics.spec import DiagnosisSpec, Fault
from engine.diagnostics.zero_reasons import NOT_TOLD, why_zero
from engine.models.build import build
from engine.models.spec import ModelSpec
from tests.diagnostics.diagnosing import deciding, diagnose, program, tensor

UNDERFLOWS, ZERO, APART = "it underflows", "the other factor is all zeros", "0 wherever it would meet"
TINY = {torch.float16: 1e-5, torch.bfloat16: 1e-30, torch.float32: 1e-30, torch.float64: 1e-200, torch.complex64: 1e-30}


def reason(make: Callable[[torch.Tensor], torch.Tensor], given: torch.Tensor, gradient: torch.Tensor | None = None):
    """What is said of the node that makes the zero gradient of `given`, asked as in backward: after it has run."""
    leaf = given.detach().requires_grad_()
    out = make(leaf)
    node, told = out.grad_fn, []
    slot = next(place for place, (following, _) in enumerate(node.next_functions) if hasattr(following, "variable"))
    node.register_hook(lambda outgoing, incoming: told.append(why_zero(node, incoming, slot)))
    gradient = torch.ones_like(out) if gradient is None else gradient
    assert gradient.any()
    out.backward(gradient)
    assert not leaf.grad.any()
    return told[0]


def eye(*values: float, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.diag(torch.tensor(values, dtype=dtype))


PRODUCTS: dict[str, tuple[tuple[int, ...], tuple[int, ...], Callable]] = {
    "mul": ((4, 4), (4, 4), torch.mul),
    "mm": ((4, 4), (4, 4), torch.mm),
    "addmm": ((4, 4), (4, 4), lambda x, w: torch.addmm(torch.ones(4, 4, dtype=x.dtype), x, w)),
    "bmm": ((2, 4, 4), (2, 4, 4), torch.bmm),
    "baddbmm": ((2, 4, 4), (2, 4, 4), lambda x, w: torch.baddbmm(torch.ones(2, 4, 4, dtype=x.dtype), x, w)),
    "mv": ((4, 4), (4,), torch.mv),
    "dot": ((4,), (4,), torch.dot),
    "conv": ((1, 2, 4, 4), (3, 2, 1, 1), torch.conv2d),
}
CASES = [(name, dtype) for name in PRODUCTS for dtype in TINY if not (name == "conv" and dtype.is_complex)]
"""A convolution of complex numbers is made of several nodes."""


@pytest.mark.parametrize(("name", "dtype"), CASES, ids=str)
def test_a_product_of_two_small_factors_underflows_and_of_zeros_does_not(name, dtype):
    shape, other, make = PRODUCTS[name]
    ones, factor = torch.ones(shape, dtype=dtype), torch.full(other, TINY[dtype], dtype=dtype)
    small = torch.full_like(make(ones, factor), TINY[dtype])
    assert reason(lambda x: make(x, factor), ones, small).startswith(UNDERFLOWS)
    assert reason(lambda x: make(x, factor * 0), ones, small) == ZERO
    assert reason(lambda x: make(x, factor * 0), ones) == ZERO


def test_the_numbers_of_an_underflow_are_those_of_torch():
    told = reason(lambda x: x * torch.tensor([2e-30, 1e-30]), torch.ones(2), torch.tensor([3e-31, 4e-32]))
    assert "at most 3e-31, and of 1 the node would make 2e-30; the product is below float32's smallest" in told
    assert torch.nextafter(torch.tensor(0.0), torch.tensor(1.0)).item() == pytest.approx(1.4e-45, rel=0.01)
    assert "smallest number, 1.4e-45" in told


def test_factors_that_never_meet_are_told_from_zeros():
    one = torch.tensor([1.0, 0.0])
    assert APART in reason(lambda x: x * one, torch.ones(2), 1 - one)
    assert APART in reason(lambda x: x @ eye(1, 0), torch.ones(3, 2), torch.tensor([[0.0, 1.0]] * 3))
    assert "cancels out" in reason(lambda x: x @ torch.tensor([[1.0, -1.0]]), torch.ones(3, 1))


def test_a_closed_relu_is_closed_everywhere_or_where_it_matters():
    assert "0 or below everywhere" in reason(F.relu, -torch.ones(3))
    assert "wherever a gradient arrives" in reason(F.relu, torch.tensor([1.0, -1.0]), torch.tensor([0.0, 1.0]))
    assert reason(lambda x: F.leaky_relu(x, 1e-30), -torch.ones(2), torch.full((2,), 1e-30)).startswith(UNDERFLOWS)


SQUASHING = {"sigmoid": torch.sigmoid, "tanh": torch.tanh, "softmax": lambda x: x.softmax(-1)}


@pytest.mark.parametrize("name", SQUASHING)
def test_saturated_is_said_of_outputs_at_the_end_only(name):
    make = SQUASHING[name]
    assert "is saturated: its slope is exactly 0" in reason(make, torch.tensor([[200.0, -200.0]]))
    rows = torch.tensor([[200.0, -200.0], [0.5, 0.25]])
    assert "saturated" in reason(make, rows, torch.tensor([[1.0, 2.0], [0.0, 0.0]]))
    tiny = torch.full((1, 2), 1e-44) * torch.tensor([1.0, 0.0])
    told = reason(make, torch.tensor([[20.0 if name == "softmax" else 7.0, 0.0]]), tiny)
    assert told.startswith(UNDERFLOWS)


@pytest.mark.parametrize("value", [0.5, -3.0, 0.0])
def test_a_constant_over_each_row_is_no_saturation_of_softmax(value):
    told = reason(lambda x: x.softmax(-1), torch.tensor([[0.5, 0.5], [value, value]]), torch.ones(2, 2))
    assert "the same over each row" in told
    over_columns = reason(lambda x: x.softmax(0), torch.zeros(2, 2), torch.tensor([[1.0, 3.0], [1.0, 3.0]]))
    assert "the same over each row" in over_columns


OTHERS: dict[str, tuple[Callable, torch.Tensor, torch.Tensor | None, str]] = {
    "layer_norm": (lambda x: F.layer_norm(x, (4,)), torch.zeros(2, 4), None, "normalising"),
    "layer_norm_weight_0": (
        lambda x: F.layer_norm(x, (4,), torch.zeros(4)),
        torch.ones(2, 4),
        None,
        "whatever arrives",
    ),
    "batch_norm": (lambda x: F.batch_norm(x, None, None, training=True), torch.zeros(4, 2), None, "normalising"),
    "round": (torch.round, torch.ones(2), None, "a step function"),
    "clamp": (lambda x: x.clamp(0, 1), torch.full((2,), 5.0), None, "outside of the bounds"),
    "abs": (torch.abs, torch.zeros(2), None, "slope at 0"),
    "where": (
        lambda x: torch.where(torch.tensor([True, False]), x, 0.0),
        torch.ones(2),
        torch.tensor([0.0, 1.0]),
        "other elements",
    ),
    "square_at_0": (lambda x: x.pow(2), torch.zeros(2), None, "whatever arrives"),
    "add_of_broadcast": (lambda x: x.expand(2), torch.ones(1), torch.tensor([1.0, -1.0]), "cancels out"),
    "attention": (
        lambda x: F.scaled_dot_product_attention(x, torch.ones(1, 1, 3, 4), torch.zeros(1, 1, 3, 4)),
        torch.ones(1, 1, 3, 4),
        None,
        "it passes on 0 whatever arrives",
    ),
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_nodes_give_their_own_reason(name):
    make, given, gradient, words = OTHERS[name]
    assert words in reason(make, given, gradient)


def test_what_cannot_be_looked_at_is_not_told():
    class Zeros(torch.autograd.Function):
        asked = 0

        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, gradient):
            Zeros.asked += 1
            return gradient * 0

    assert reason(Zeros.apply, torch.ones(2)) == NOT_TOLD
    assert Zeros.asked == 1
    calls: list[int] = []
    with torch.autograd.graph.saved_tensors_hooks(lambda one: one, lambda one: calls.append(1) or one):
        hooked = torch.ones(2, requires_grad=True) * torch.zeros(2)
    assert why_zero(hooked.grad_fn, [torch.ones(2)], 0) == NOT_TOLD
    assert calls == []


def test_tiny_weights_of_a_model_underflow_while_both_factors_hold_numbers():
    spec = DiagnosisSpec(fault=Fault(kind="scale weights", exponent=-30))
    built = build(ModelSpec())
    with torch.no_grad():
        for parameter in built.model.parameters():
            parameter.mul_(1e-30)
    layer, held = built.model.get_submodule("layers.1.linear"), {}
    layer.register_forward_hook(lambda m, given, out: held.update(given=given[0], out=out))
    loss = built.loss(built.forward())
    (arrived,) = torch.autograd.grad(loss, held["out"], retain_graph=True)
    loss.backward()
    assert arrived.any()
    assert held["given"].any()
    assert not layer.weight.grad.any()
    assert UNDERFLOWS in deciding(tensor(diagnose(spec), "layers.1.linear.weight"))


def test_the_mended_mask_is_not_called_saturated():
    assert "the same over each row" in deciding(tensor(program("masked_row", mended=True), "scores"))
