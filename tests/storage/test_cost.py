"""The cost of non-contiguity: the same values on both sides, placed alike, and PyTorch's own words where it refuses."""

from __future__ import annotations

import pytest
import torch

from engine import Fault, run
from engine.storage.cost import CONTIGUOUS, MAKING, VIEW, break_even_calls, operation_on, placed_alike
from engine.storage.operations import Step
from engine.storage.spec import CostSpec, LayoutSpec
from engine.timing.band import ratios_to_first
from engine.timing.spec import Comparison

TRANSPOSE = (Step("transpose", (0, 1)),)


def measured(operation: str, **layout):
    layout = {"shape": (48, 48), "steps": TRANSPOSE, "fill": "normal"} | layout
    return run(CostSpec(layout=LayoutSpec(**layout), operation=operation, rounds=5), inline=True)


@pytest.mark.parametrize(
    ("operation", "form", "shape"),
    [
        ("add", "like the view", (64, 48)),
        ("relu", "like the view", (64, 48)),
        ("sum_rows", "contiguous", (64,)),
        ("sum_columns", "contiguous", (48,)),
        ("softmax", "contiguous", (64, 48)),
        ("matmul", "contiguous", (64, 48)),
        ("copy", "contiguous", (64, 48)),
    ],
)
def test_every_operation_is_measured_and_its_output_described(operation, form, shape):
    cost = measured(operation, shape=(48, 64))
    assert cost.error is None
    assert cost.comparison.names == (CONTIGUOUS, VIEW, MAKING)
    assert cost.comparison.rounds == 5
    assert not cost.is_contiguous
    assert cost.read_bytes == 48 * 64 * 4
    assert (cost.output_format, cost.output_shape) == (form, shape)
    made = operation_on(torch.randn(48, 64).T, operation)(torch.randn(48, 64).T)
    assert (cost.output_stride, cost.output_bytes) == (made.stride(), made.nbytes)


def test_a_convolution_keeps_channels_last():
    cost = measured("conv2d", shape=(2, 4, 6, 6), steps=(), memory_format="channels_last")
    assert cost.error is None
    assert cost.output_format == "channels_last"
    assert cost.output_shape == (2, 4, 6, 6)


@pytest.mark.parametrize(
    ("operation", "layout", "call"),
    [
        ("softmax", {"dtype": "int32"}, lambda x: torch.softmax(x, -1)),
        ("relu", {"dtype": "complex64"}, torch.relu),
        ("conv2d", {}, lambda x: torch.nn.functional.conv2d(x, x.new_ones(1, 1, 3, 3), padding=1)),
        ("sum_columns", {"shape": (4, 4), "steps": (Step("transpose", (0, 5)),)}, lambda x: x.T.transpose(0, 5)),
    ],
)
def test_what_pytorch_refuses_is_told_in_its_words(operation, layout, call):
    cost = measured(operation, **layout)
    assert cost.comparison is None
    assert cost.break_even_calls is None
    dtype = getattr(torch, layout.get("dtype", "float32"))
    with pytest.raises((RuntimeError, IndexError)) as caught:
        call(torch.ones(layout.get("shape", (48, 48)), dtype=dtype).T)
    assert (cost.error.type, cost.error.message) == (caught.type.__name__, str(caught.value))


@pytest.mark.parametrize("steps", [(), (Step("transpose", (0, 1)), Step("transpose", (0, 1)))])
def test_a_contiguous_tensor_has_nothing_to_compare(steps):
    cost = measured("add", steps=steps)
    assert cost.is_contiguous
    assert cost.comparison is None
    assert cost.error is None
    assert "nothing to compare" in cost.notes[0]


def test_a_large_output_is_told_to_be_mapped_anew():
    side = 2900  # 2900 * 2900 * 4 B is just above 32 MiB
    cost = measured("relu", shape=(side, side), fill="zeros")
    assert cost.output_bytes > 32 * 2**20
    assert cost.output_is_mapped
    assert "page faults" in cost.notes[-1]
    assert not measured("relu").output_is_mapped


VIEWS = {
    "transposed": torch.arange(24.0).reshape(4, 6).T,
    "step and offset": torch.arange(60).reshape(6, 10)[1::2, 3::3],
    "expanded": torch.arange(5.0).expand(4, 5),
    "overlapping": torch.arange(20.0).as_strided((4, 3), (2, 1), 5),
    "one element": torch.arange(9.0).reshape(3, 3)[2, 2],
    "channels last": torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last),
    "bool": (torch.arange(24) % 3 == 0).reshape(4, 6).T,
    "complex": torch.randn(4, 6, dtype=torch.complex128).T,
    "conjugated": torch.randn(4, 6, dtype=torch.complex64).T.conj(),
    "nothing": torch.empty(0, 3).T,
}


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
def test_both_sides_hold_the_same_values_in_one_fresh_block(view):
    placed, dense = placed_alike(view)
    assert torch.equal(placed, view)
    assert torch.equal(dense, view)
    assert placed.stride() == view.stride()
    assert dense.is_contiguous()
    if view.numel() and not view.is_conj():
        assert placed.data_ptr() % 64 == view.data_ptr() % 64
        assert dense.data_ptr() % 64 == 0
        assert placed.untyped_storage().data_ptr() == dense.untyped_storage().data_ptr()
        assert placed.untyped_storage().data_ptr() != view.untyped_storage().data_ptr()
        dense.zero_()
        assert torch.equal(placed, view)  # they do not overlap


@pytest.mark.parametrize("operation", ["add", "relu", "sum_rows", "sum_columns", "softmax", "matmul", "copy"])
def test_an_operation_gives_the_same_on_both_sides(operation):
    view = torch.randn(40, 30, dtype=torch.float64).T
    operate = operation_on(view, operation)
    torch.testing.assert_close(operate(view), operate(view.contiguous()))


def compared(dense_s: float, view_s: float, making_s: float) -> Comparison:
    samples = tuple((time_s,) * 5 for time_s in (dense_s, view_s, making_s))
    names = (CONTIGUOUS, VIEW, MAKING)
    return Comparison(
        names=names,
        calls=(1, 1, 1),
        cpu_s=samples,
        wall_s=samples,
        threads=1,
        ratios=ratios_to_first(names, samples),
        winner=None,
    )


def test_calls_to_break_even_are_what_one_copy_costs_over_what_a_call_saves():
    assert break_even_calls(compared(1.0, 3.0, 5.0)) == pytest.approx(2.5)
    assert break_even_calls(compared(1.0, 1.5, 0.25)) == pytest.approx(0.5)


@pytest.mark.parametrize("view_s", [0.5, 1.0, 1.01])
def test_a_view_that_is_not_slower_never_breaks_even(view_s):
    assert break_even_calls(compared(1.0, view_s, 5.0)) is None


def test_a_copy_too_large_is_refused_before_it_is_made():
    layout = LayoutSpec(shape=(1,), steps=(Step("expand", ((60_000, 60_000),)),))
    with pytest.raises(Fault, match="would need about"):
        run(CostSpec(layout=layout), inline=True)
