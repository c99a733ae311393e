"""Every row of the catalogue runs as it says, and what it says it cannot do is refused in words."""

from __future__ import annotations

import inspect
import math

import pytest
import torch

from engine.operators import operator_names
from engine.timing import operators
from engine.timing.agreement import distance
from engine.timing.catalogue import CATALOGUE, TITLES, operands_of
from engine.timing.prepared import NotThere, draw, prepare
from engine.timing.variant import OperatorVariant, StepVariant, complaints, describe_variant, why_not_reused

ROWS, COLUMNS = 6, 4
FIXED = [name for name, row in CATALOGUE.items() if not row.compiled and not row.draws]
PYTORCHS = [name for name, row in CATALOGUE.items() if not row.compiled]
COMPILED = [row.compiled for row in CATALOGUE.values() if row.compiled]


def variant(name: str, **settings) -> OperatorVariant:
    return OperatorVariant(**{"operator": name, "rows": ROWS, "columns": COLUMNS} | settings)


def layouts(name: str) -> list[str]:
    return ["contiguous", "channels_last"] if CATALOGUE[name].takes_images else ["contiguous", "transposed", "strided"]


def test_titles_name_one_row_each():
    assert sorted(TITLES.values()) == sorted(CATALOGUE)


@pytest.mark.parametrize("name", PYTORCHS)
def test_a_row_has_a_function_of_its_operands(name):
    row = CATALOGUE[name]
    takes = len(inspect.signature(getattr(operators, name)).parameters)
    assert takes == len(operands_of(row.operands, ROWS, COLUMNS))
    assert hasattr(operators, f"{name}_out") is row.out
    assert row.reference in CATALOGUE


@pytest.mark.parametrize("name", FIXED)
def test_every_layout_computes_the_same(name):
    """Strided and transposed operands hold the numbers of the contiguous one; only places in memory differ."""
    plain = prepare(variant(name), 0, {}).results()
    for layout in layouts(name):
        made = prepare(variant(name, layout=layout), 0, {})
        assert made.operands[0].is_contiguous() is (layout == "contiguous") or COLUMNS == 1
        assert distance(made.results(), plain).verdict in ("identical", "equal up to rounding")


@pytest.mark.parametrize("name", FIXED)
def test_a_row_agrees_with_its_reference_in_float64(name):
    row = CATALOGUE[name]
    made = prepare(variant(name, dtype="float64"), 3, {})
    wanted = getattr(operators, row.reference)(*(x.detach().clone() for x in made.operands))
    assert distance(made.results(), {"result": wanted}).verdict in ("identical", "equal up to rounding")


@pytest.mark.parametrize("name", [name for name in PYTORCHS if CATALOGUE[name].differentiable])
def test_a_row_gives_gradients_of_every_floating_operand(name):
    made = prepare(variant(name, mode="grad", work="forward and backward"), 0, {})
    found = made.results()
    floating = [x for x in made.operands if x.is_floating_point()]
    assert [tuple(found[f"gradient {n + 1}"].shape) for n in range(len(floating))] == [tuple(x.shape) for x in floating]


@pytest.mark.parametrize("name", [name for name, row in CATALOGUE.items() if row.out])
def test_a_reused_output_is_the_same_memory_on_every_call(name):
    made = prepare(variant(name, output="reused"), 0, {})
    first, second = made.work(), made.work()
    assert first.data_ptr() == second.data_ptr()
    assert torch.equal(first, prepare(variant(name), 0, {}).work())


def test_like_operands_are_the_same_memory_and_others_are_not():
    drawn = {}
    a, b, other = (prepare(variant(name), 0, drawn) for name in ("gelu_tanh", "gelu_composed", "add"))
    assert a.operands[0].data_ptr() == b.operands[0].data_ptr()
    assert a.operands[0].data_ptr() != other.operands[0].data_ptr()
    written = prepare(variant("mul_in_place"), 0, drawn)
    assert written.operands[0].data_ptr() != a.operands[0].data_ptr()


@pytest.mark.parametrize("mode", ["no_grad", "inference_mode", "grad", "autocast bfloat16"])
def test_modes_are_pytorchs_own(mode):
    result = prepare(variant("linear", mode=mode), 0, {}).work()
    assert result.requires_grad is (mode in ("grad", "autocast bfloat16"))
    assert result.is_inference() is (mode == "inference_mode")
    assert result.dtype is (torch.bfloat16 if mode == "autocast bfloat16" else torch.float32)


def test_strided_is_every_second_column_of_a_wider_matrix():
    x = draw(CATALOGUE["relu"], variant("relu", layout="strided"), 0)[0]
    assert (tuple(x.shape), x.stride()) == ((ROWS, COLUMNS), (2 * COLUMNS, 2))


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"operator": "nothing"}, "must be in the catalogue; received 'nothing'"),
        ({"layout": "channels_last"}, "must be contiguous, transposed or strided; received 'channels_last'"),
        ({"operator": "conv2d", "layout": "transposed"}, "must be contiguous or channels_last; received 'transposed'"),
        ({"work": "forward and backward"}, "must be 'forward' under no_grad"),
        ({"operator": "mul_in_place", "mode": "grad"}, "must be no_grad or inference_mode"),
        ({"operator": "relu", "output": "reused"}, "takes no out="),
        ({"mode": "grad", "output": "reused"}, "out= does not support automatic differentiation"),
        ({"operator": "geglu", "columns": 7}, "must be even, as it halves them; received 7. Choose 8."),
        ({"operator": "atlas_geglu", "columns": 7}, "must be even, as it halves them; received 7. Choose 8."),
        ({"operator": "matmul", "rows": 8192, "columns": 8192}, "must need at most 4,294,967,296 multiplications"),
    ],
)
def test_what_cannot_be_is_refused_in_words(settings, words):
    with pytest.raises(ValueError, match="received") as caught:
        OperatorVariant(**settings)
    assert words in str(caught.value)


def test_pytorch_itself_refuses_what_out_is_refused_for():
    x = torch.ones(2, requires_grad=True)
    assert why_not_reused(variant("exp", mode="no_grad")) == ""
    with pytest.raises(RuntimeError, match="automatic differentiation"):
        torch.exp(x, out=torch.empty(2))


def test_a_variant_says_what_is_unusual_about_it():
    assert (
        describe_variant(variant("add", layout="strided", threads=2))
        == "add a tensor, 6×4, strided, no_grad, 2 threads"
    )
    assert describe_variant(StepVariant(work="forward")) == "forward, MLP 3 x 64"
    assert complaints(variant("add")) == {}


def test_every_operator_of_the_project_that_is_no_optimizer_has_a_row():
    assert set(COMPILED) == {name for name in operator_names() if not name.endswith("_step_")}


@pytest.mark.parametrize("name", [name for name, row in CATALOGUE.items() if row.compiled and not row.draws])
def test_a_compiled_row_agrees_with_its_eager_counterpart(name):
    row = CATALOGUE[name]
    try:
        found = prepare(variant(name), 1, {})
    except NotThere as error:
        pytest.skip(str(error))
    assert distance(found.results(), prepare(variant(row.reference), 1, {}).results()).verdict != "different"


def test_a_compiled_block_drops_as_many_as_it_is_asked_to():
    try:
        made = prepare(variant("atlas_bias_gelu_dropout_residual", rows=100, columns=100), 1, {})
    except NotThere as error:
        pytest.skip(str(error))
    dropped = (made.results()["result"] == made.operands[2]).double().mean()
    assert abs(dropped - 0.1) < 5 * math.sqrt(0.1 * 0.9 / 10_000)


@pytest.mark.parametrize("title", TITLES)
def test_a_title_fits_into_the_sidebar(title):
    assert len(title) <= 23


def test_images_show_all_four_sizes():
    assert (
        describe_variant(variant("relu_images", rows=8, columns=32)) == "ReLU of images, N 8, C 32, H 32, W 32, no_grad"
    )
