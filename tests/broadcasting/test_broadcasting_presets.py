"""What the questions of the page tell people to notice is what PyTorch does."""

from __future__ import annotations

from functools import cache
from typing import get_args

import msgspec
import pytest
import torch

from engine import run
from engine.broadcasting.costs import cheapest_path
from engine.broadcasting.spec import EinsumSpec, Operand
from engine.figures.broadcasting_cells import broadcast_scene
from engine.figures.cells import find_panel
from engine.vectorisation.spec import LadderSpec, Problem
from pages.tensors.broadcasting_controls import SECTION, values_of
from pages.tensors.broadcasting_numbers import ladder_numbers
from pages.tensors.broadcasting_presets import PRESETS, SPECS


@cache
def outcome(question: str):
    return run(SPECS[question], inline=True)


def test_every_question_sets_every_widget_of_its_section():
    assert len(PRESETS) >= 6
    assert {preset.settings[SECTION] for preset in PRESETS} == {"Broadcast", "einsum", "Loop to vector"}
    for preset in PRESETS:
        assert preset.question.endswith("?")
        assert dict(preset.settings) == values_of(SPECS[preset.question])


def test_a_bias_meets_the_last_dimension_and_two_new_ones_help():
    found = outcome("Which dimension is at fault?")
    assert "non-singleton dimension 3" in found.error.message
    assert (found.fixes[0].code, found.fixes[0].result_shape) == ("b[:, None, None]", (2, 3, 4, 4))


def test_the_loss_is_not_zero_although_every_prediction_is_right():
    found = outcome("Why is this loss wrong without an error?")
    assert found.error is None
    assert (found.shape, found.loss, found.loss_same_shape) == ((4, 4), 2.5, 0.0)
    assert "incorrect results due to broadcasting" in found.warnings[0]


def test_the_outer_difference_is_40_gigabytes_and_no_operand_is_copied():
    found = outcome("Two vectors of 100 000: how large is their difference?")
    assert found.output_bytes == 40_000_000_000
    assert [place.expanded_storage_bytes for place in found.operands] == [400_000, 400_000]
    assert not found.computed


def test_row_means_are_subtracted_from_columns():
    question = "Does `x - x.mean(1)` centre the rows?"
    panel = find_panel(broadcast_scene(SPECS[question]), "result")
    first_of_b = 16
    assert [reads[1] - first_of_b for reads in panel.reads[:4]] == [0, 1, 2, 3]
    x = torch.arange(16.0).reshape(4, 4).square()
    assert (x - x.mean(1)).mean(1).abs().max() > 1
    assert (x - x.mean(1, keepdim=True)).mean(1).abs().max() < 1e-5
    with pytest.raises(RuntimeError, match="must match the size"):
        torch.zeros(4, 5) - torch.zeros(4)


def test_a_0_dim_float64_leaves_float16_alone_and_a_1_dim_does_not():
    question = "What does a float64 scalar do to float16?"
    assert outcome(question).dtype == "float16"
    spec = msgspec.structs.replace(SPECS[question], operands=(Operand((3, 4), "float16"), Operand((1,), "float64")))
    wide = run(spec, inline=True)
    assert wide.dtype == "float64"
    assert wide.output_bytes == 4 * outcome(question).output_bytes


def test_the_gradient_of_a_bias_is_summed_over_the_rows():
    bias = outcome("What is the gradient of a bias?").operands[1].gradient
    assert (bias.shape, bias.summed_dims, bias.max_abs_error) == ((10,), (0,), 0.0)


def test_in_place_does_not_grow():
    found = outcome("May `a.add_(b)` grow a?")
    assert found.in_place[0].error.message == "output with shape [4] doesn't match the broadcast shape [3, 4]"
    assert found.in_place[1].error is None
    assert found.writes[1].code == "a.expand(3, 4)[0, 0] = 0"
    assert found.writes[1].changed == 3


def test_batch_dims_broadcast_and_matrix_dims_do_not():
    assert outcome("What broadcasts in a batched matrix product?").shape == (2, 5, 3, 6)
    with pytest.raises(RuntimeError):
        torch.zeros(2, 1, 3, 1) @ torch.zeros(5, 4, 6)


def test_the_batch_is_summed_away_and_an_operand_copied():
    found = outcome("einsum: where did the batch go?")
    assert found.shape == (3, 5)
    assert "aten.clone.default" in {call.name for call in found.dispatched}
    kept = run(msgspec.structs.replace(SPECS["einsum: where did the batch go?"], equation="bij,bjk->bik"), inline=True)
    assert kept.shape == (8, 3, 5)


def test_the_vector_first_takes_millions_instead_of_billions():
    question = "einsum: does the order of a chain matter?"
    spec, found = SPECS[question], outcome("einsum: does the order of a chain matter?")
    best = cheapest_path(spec.parsed, spec.length_of)
    assert best.flops == 4 * 1000 * 1000
    assert best.path[0] == (1, 2)
    if found.opt_einsum == "not installed":
        assert found.flops > 1_900_000_000
        assert found.intermediate_bytes == 4_000_000


def test_attention_is_one_batched_product_without_a_copy():
    found = outcome("einsum: which indices does attention sum?")
    assert [(call.name, call.inputs[0][0]) for call in found.dispatched if not call.is_view] == [
        ("aten.bmm.default", 6)
    ]
    assert found.intermediate_bytes == 0


def test_the_diagonal_is_a_view():
    found = outcome("einsum: what does a repeated letter read?")
    assert (found.output_is_view, found.stride, found.intermediate_bytes) == (True, (6,), 0)
    matrix = torch.arange(25.0).reshape(5, 5)
    assert torch.einsum("ii->", matrix) == matrix.trace()
    assert run(EinsumSpec(equation="ii->"), inline=True).shape == ()


@pytest.mark.slow
def test_the_loops_pay_a_step_each_and_all_agree():
    ladder = outcome("How far is a Python loop behind einsum?")
    rungs = {rung.name: rung for rung in ladder.rungs}
    assert (rungs["row loop"].steps, rungs["element loop"].steps) == (1000, 200_000)
    errors = [rung.max_absolute_error for rung in ladder.rungs if rung.max_absolute_error is not None]
    assert len(errors) >= 4
    assert max(errors) < 1e-4


@pytest.mark.slow
def test_a_loop_records_nodes_per_step():
    ladder = outcome("Why is the backward of a loop slow?")
    nodes = {rung.name: rung.nodes for rung in ladder.rungs if rung.nodes is not None}
    shown = {number.label: number.value for number in ladder_numbers(ladder)}
    assert shown["Loop nodes"] == nodes["element loop"]
    assert shown["Vector nodes"] == nodes["broadcast"]
    assert None not in shown.values()
    assert nodes.pop("element loop") > 300
    assert max(nodes.values()) < 20


@pytest.mark.parametrize("problem", get_args(Problem))
def test_the_key_numbers_of_a_ladder_are_of_rungs_that_its_problem_has(problem):
    ladder = run(LadderSpec(problem=problem, rows=6, columns=5, rounds=5), inline=True)
    rungs = {rung.name: rung for rung in ladder.rungs}
    shown = {number.label: number for number in ladder_numbers(ladder)}
    assert None not in [number.value for number in shown.values()]
    assert shown["Fastest"].unit == "s"
    loop = "row loop" if "row loop" in rungs and rungs["row loop"].outcome == "measured" else "element loop"
    for label, name in (("Loop nodes", loop), ("Vector nodes", "broadcast")):
        assert shown[label].value == rungs[name].nodes
        assert name in shown[label].read_from
    assert shown[f"{loop.capitalize()} ×"].value >= 1
