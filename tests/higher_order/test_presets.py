"""What the questions of the page tell people to notice is what PyTorch does."""

from __future__ import annotations

from functools import cache

import msgspec
import numpy as np
import pytest

from engine import run
from engine.figures.arrays import array
from engine.figures.higher_order_charts import savings
from engine.higher_order.spec import ProductSpec
from pages.backward.higher_order_controls import KINDS, SECTION, values_of
from pages.backward.higher_order_exports import downloads
from pages.backward.higher_order_numbers import numbers_of
from pages.backward.higher_order_presets import PRESETS, SPECS
from pages.backward.higher_order_products import claim_rows, predicted

CUBE = "What is the second derivative of x**3?"
LINEAR = "Why does the second derivative of something linear raise?"
RELU = "Why is the Hessian of a ReLU layer zero?"
NODES = "How many graph nodes does each order cost?"
ZEROS = "Is the Hessian of a product right with two zeros?"
SAVES = "What does a Hessian-vector product save?"
LARGE = "What if the Hessian is too large?"
ARTICLE = "The article's hvp: where does it fail?"
LEAK = "Does create_graph leak?"
CURVED = "How curved is my loss?"


@cache
def outcome(question: str, **changed):
    return run(msgspec.structs.replace(SPECS[question], **changed), inline=True)


def test_every_question_sets_every_widget_of_its_section():
    assert {preset.settings[SECTION] for preset in PRESETS} == set(KINDS)
    for preset in PRESETS:
        assert preset.question.endswith("?")
        assert dict(preset.settings) == values_of(SPECS[preset.question])


def test_the_cube_has_12_and_12_with_4_nodes_each():
    found = outcome(CUBE).orders
    assert [(one.value, one.nodes) for one in found[1:]] == [(12.0, 4), (12.0, 4)]
    assert [one.value for one in outcome(CUBE, order=4).orders[3:]] == [6.0, 0.0]


def test_the_linear_one_raises_is_none_or_is_zero():
    assert "appears to not have been used in the graph" in outcome(LINEAR).orders[2].error.message
    assert outcome(LINEAR, allow_unused=True).orders[2].outcome == "None"
    assert outcome(LINEAR, materialize_grads=True).orders[2].value == 0.0
    for more in ({}, {"allow_unused": True}, {"materialize_grads": True}):
        assert "does not require grad" in outcome(LINEAR, function="0.3 * x", **more).orders[2].error.message


def test_relu_has_nine_zeros_and_tanh_has_not():
    assert outcome(RELU).zeros == 9
    assert all(way.max_abs_difference == 0.0 for way in outcome(RELU).ways)
    assert np.abs(array(outcome(RELU, function="tanh layer").matrix)).sum() == pytest.approx(1.12, abs=0.005)
    loss = outcome(RELU, function="ReLU network loss", point=(), n=30)
    assert loss.zeros < loss.matrix.shape[0] ** 2


def test_the_nodes_grow_with_every_order_of_a_product_and_not_of_a_power():
    assert [one.nodes for one in outcome(NODES).orders] == [4, 9, 22, 45, 82]
    assert [one.nodes for one in outcome(NODES, function="x**4").orders] == [2, 4, 4, 4, 4]


def test_two_zeros_leave_one_pair_of_sixes():
    matrix = array(outcome(ZEROS).matrix)
    assert sorted(matrix[matrix != 0].tolist()) == [6.0, 6.0]
    assert matrix[2, 3] == matrix[3, 2] == 6.0
    assert outcome(ZEROS).closed_form == 0.0
    assert array(outcome(ZEROS, matrix="Jacobian").matrix).tolist() == [[0.0, 0.0, 0.0, 0.0]]


@pytest.mark.slow
def test_what_a_product_saves_grows_with_n():
    found = outcome(SAVES, rounds=5)
    shares = {n: share for n, share, _ in savings(found)}
    assert found.n == 199
    assert shares[25] < 0.9
    assert 0.88 < shares[199] < 0.93
    assert sorted(shares.values()) == list(shares.values())
    exponents = {one.name: one.bytes_exponent for one in found.growth}
    assert exponents["double backward"] == pytest.approx(1, abs=0.2)
    assert exponents["full Hessian @ v"] == pytest.approx(2, abs=0.2)
    assert list(claim_rows(found)["n"]) == sorted(shares)
    assert "1\u202f990" in predicted(found)
    assert [number.label for number in numbers_of(SPECS[SAVES], found)][3:] == ["Less memory", "Times as fast"]


@pytest.mark.slow
def test_a_hessian_of_320_gigabytes_is_refused_and_the_products_run():
    found = outcome(LARGE, rounds=5)
    assert found.hessian_bytes == 320_000_000_000
    assert found.full_refused
    assert found.product("double backward").peak_bytes < 8 * 200_000 * 8
    assert found.growth[0].bytes_exponent == pytest.approx(1, abs=0.05)
    assert savings(found) == []


def test_the_article_raises_in_seven_of_eight_and_the_corrected_one_in_none():
    found = outcome(ARTICLE)
    assert sum(one.error is not None for one in found.tried) == 7
    assert len(found.tried) == 8
    assert all(one.corrected_error is None and one.corrected_distance < 1e-12 for one in found.tried)
    assert found.of(SPECS[ARTICLE].situation).error is not None


def test_only_backward_leaks():
    backward, cut, grad = run(SPECS[LEAK]).rulings
    assert backward.value.endswith("gc.collect(): True")
    assert "True" not in cut.value + grad.value


def test_three_digits_come_well_before_the_residual():
    found = outcome(CURVED)
    assert found.n == 97
    assert not found.converged
    digits = [abs(one.eigenvalue - found.largest) < 5e-3 for one in found.iterations]
    assert 5 < digits.index(True) < 60
    assert found.expected_rate > 0.85
    assert found.eigenvalue == pytest.approx(found.largest, rel=1e-3)


QUICK = [question for question, spec in SPECS.items() if not isinstance(spec, ProductSpec)]


@pytest.mark.parametrize("question", QUICK)
def test_every_file_of_every_section_can_be_saved(question):
    files = downloads(SPECS[question], outcome(question))
    assert len({file.file_name for file in files}) == len(files) >= 5
    for file in files:
        content = file.content()
        assert content, file.file_name
        if file.file_name.endswith(".svg"):
            assert content.startswith("<svg")
            assert content.endswith("</svg>")
            assert "nan" not in content


@pytest.mark.parametrize("question", QUICK)
def test_every_section_has_three_to_five_numbers_that_say_where_they_come_from(question):
    numbers = numbers_of(SPECS[question], outcome(question))
    assert 3 <= len(numbers) <= 5
    assert all(number.read_from for number in numbers)
