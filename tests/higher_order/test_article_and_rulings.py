"""The article's hvp in every situation, and what autograd answers: the public cases."""

from __future__ import annotations

import inspect
from functools import cache

import pytest
import torch

from engine import run
from engine.higher_order import article
from engine.higher_order.spec import ArticleSpec, RulingSpec
from engine.script.higher_order_article import LITERAL

RAISES = {
    "v as a list, one tensor per parameter": "Mismatch in shape: grad_output[0] has a shape of torch.Size([4, 3])",
    "a parameter that the loss does not use": "The differentiated Tensor at index 2 appears to not have been used",
    "an output bias without a second derivative": "The differentiated Tensor at index 3 appears to not have been used",
    "a channels_last convolution": "view size is not compatible with input tensor's size and stride",
    "a frozen parameter": "One of the differentiated Tensors does not require grad",
    "a linear loss": "element 0 of tensors does not require grad and does not have a grad_fn",
    "after loss.backward()": "Trying to backward through the graph a second time",
}


@cache
def tried(seed: int = 0):
    return run(ArticleSpec(seed=seed), inline=True)


@pytest.mark.parametrize(("situation", "words"), RAISES.items())
def test_where_the_article_raises(situation, words):
    assert tried().of(situation).error.message.startswith(words)
    assert tried().of(situation).distance is None


def test_with_a_flat_v_the_article_is_right():
    one = tried().of("flat v, contiguous gradients")
    assert one.error is None
    assert one.distance < 1e-12


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_corrected_one_is_right_in_every_situation(seed):
    assert len(tried(seed).tried) == 8
    assert all(one.corrected_error is None for one in tried(seed).tried)
    assert max(one.corrected_distance for one in tried(seed).tried) < 1e-12


def test_the_article_is_run_word_for_word():
    run_lines = inspect.getsource(article.hvp).splitlines()
    shown = LITERAL.splitlines()
    assert [line for line in run_lines[2:] if line.strip()] == shown[1:]


def test_channels_last_strides_are_shown():
    assert tried().of("a channels_last convolution").strides[0].endswith("stride (27, 1, 9, 3)")


def test_the_default_dtype_is_left_as_it_was():
    tried.cache_clear()
    tried()
    assert torch.get_default_dtype() == torch.float32


NOT_USED = "The differentiated Tensor at index 0 appears to not have been used in the graph."


def test_unused_tensors_and_copies_made_later():
    found = run(RulingSpec(topic="unused and copies"), inline=True).rulings
    by_code = {one.code: one for one in found}
    for code in ("grad(y, u)", "grad(y, -x)", "grad(y, x.clone())", "grad(y, x.view(2))", "grad(y, x[:1])"):
        assert by_code[code].error.message.startswith(NOT_USED)
    assert by_code["grad(y, x)"].value == "[2.0, 4.0]"
    assert by_code["grad(y, u, allow_unused=True)"].value == "None"
    assert by_code["grad(y, u, materialize_grads=True)"].value == "0.0"
    assert by_code["grad(y, u, allow_unused=False, materialize_grads=True)"].error.type == "ValueError"
    detached = by_code["grad(y.detach(), x)"].error.message
    assert detached == "element 0 of tensors does not require grad and does not have a grad_fn"


def test_create_graph_makes_a_cycle_with_backward_alone():
    """In a worker of its own: PyTorch warns once per process."""
    backward, cut, grad = run(RulingSpec(topic="create_graph leaks")).rulings
    assert backward.value == "alive after del: True; alive after gc.collect(): True"
    assert cut.value == grad.value == "alive after del: False; alive after gc.collect(): False"
    assert "reference cycle" in " ".join(backward.warnings)
    assert grad.warnings == ()


def test_complex_gradients_are_conjugate():
    values = [one.value for one in run(RulingSpec(topic="complex numbers"), inline=True).rulings]
    assert values[:4] == ["(6+8j)", "4j", "(2-4j)", "0j"]
    last = run(RulingSpec(topic="complex numbers"), inline=True).rulings[-1]
    assert last.error.message == "grad can be implicitly created only for real scalar outputs but got torch.complex64"
