"""The predicted verdict of view, its strides and what reshape copies equal PyTorch's."""

from __future__ import annotations

import pytest
import torch
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from engine.storage.view_rule import explain_view
from tests.storage.chains import VIEWS, build, chains, shapes_for

FULL = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}


def attempted(call):
    try:
        return call()
    except RuntimeError:
        return None


def check_against_pytorch(tensor, asked):
    rule = explain_view(tuple(tensor.shape), tensor.stride(), asked)
    viewed, reshaped = attempted(lambda: tensor.view(asked)), attempted(lambda: tensor.reshape(asked))
    assert rule.is_possible == (viewed is not None)
    assert rule.view_stride == (None if viewed is None else viewed.stride())
    if reshaped is None:
        assert rule.inferred is rule.copied_elements is None
    else:
        assert rule.inferred == tuple(reshaped.shape)
        copies = tensor.numel() and reshaped.data_ptr() != tensor.data_ptr()
        assert rule.copied_elements == (tensor.numel() if copies else 0)
    check_explanation(rule, tensor)


def check_explanation(rule, tensor):
    """The reason names dimensions that exist and numbers that are the tensor's."""
    assert rule.reason
    if rule.failing_dim is None:
        assert rule.boundary is None
        return
    size, boundary = rule.inferred[rule.failing_dim], rule.boundary
    assert f"Dimension {rule.failing_dim} of {list(rule.inferred)} (size {size})" in rule.reason
    joint = next(joint for joint in rule.joints if joint.dim == boundary)
    assert not joint.joins
    assert tensor.stride(boundary) == joint.stride != joint.needed
    assert f"have to be {joint.needed}, but it is {joint.stride}" in rule.reason
    assert not rule.runs[-1].fits
    assert all(run.fits for run in rule.runs[:-1])


@st.composite
def questions(draw):
    shape, steps = draw(chains(operations=VIEWS))
    tensor = build(shape, steps)
    return tensor, draw(shapes_for(tensor.numel()))


@settings(max_examples=500, **FULL)
@given(questions())
def test_the_verdict_is_pytorchs(question):
    check_against_pytorch(*question)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_the_verdict_is_pytorchs_over_ten_thousand_chains(part):
    ask = given(questions())(lambda question: check_against_pytorch(*question))
    seed(part)(settings(max_examples=2500, **FULL)(ask))()


@settings(max_examples=150, **FULL)
@given(chains(operations=VIEWS))
def test_two_dimensions_join_exactly_when_pytorch_views_them_as_one(chain):
    tensor = build(*chain)
    shape = tuple(tensor.shape)
    for joint in explain_view(shape, tensor.stride(), (-1,) if tensor.numel() else shape).joints:
        inner = shape[joint.dim + 1]
        if tensor.numel() and inner != 1:
            merged = (*shape[: joint.dim], shape[joint.dim] * inner, *shape[joint.dim + 2 :])
            assert joint.joins == (attempted(lambda merged=merged: tensor.view(merged)) is not None)


def test_the_transposed_matrix_by_hand():
    """(4, 6) transposed: stride (1, 6). Dimension 0 would have to step 4 * 6 = 24 to go on where 1 ends."""
    rule = explain_view((6, 4), (1, 6), (24,))
    assert [(j.dim, j.stride, j.needed, j.joins) for j in rule.joints] == [(0, 1, 24, False)]
    assert rule.joints[0].words == "stride[0] = 1 != 4 * 6 = 24"
    assert (rule.failing_dim, rule.boundary, rule.copied_elements) == (0, 0, 24)
    assert explain_view((6, 4), (1, 6), (2, 3, 4)).view_stride == (3, 1, 6)
    assert explain_view((6, 4), (1, 6), (2, 3, 4)).runs[1].view_dims == (0, 1)


@pytest.mark.parametrize(
    ("shape", "asked", "words"),
    [
        ((2, 3), (4,), "holds 4 elements, the tensor has 6"),
        ((2, 3), (-1, 4), "6 elements are not divisible by 4"),
        ((2, 0), (-1, 0), "ambiguous"),
        ((2, 3), (-1, 0), "A size of 0 holds no elements, the tensor has 6"),
        ((2, 3), (-1, -1), "Only one size can be inferred"),
        ((2, 3), (-2, 3), "A size is negative: -2"),
    ],
)
def test_shapes_that_hold_another_number_of_elements_are_told_so(shape, asked, words):
    tensor = torch.empty(shape)
    rule = explain_view(shape, tensor.stride(), asked)
    assert attempted(lambda: tensor.view(asked)) is None
    assert not rule.is_possible
    assert words in rule.reason
    assert rule.copied_elements is None
