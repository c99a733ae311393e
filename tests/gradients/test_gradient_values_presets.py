"""What the questions of the page tell people to notice is what PyTorch does."""

from __future__ import annotations

from functools import cache
from typing import Any

import msgspec

from engine import run
from engine.models.spec import Mlp
from pages.backward.gradient_values_controls import KINDS, SECTION, current_spec, values_of
from pages.backward.gradient_values_presets import PRESETS, SPECS


@cache
def outcome(question: str) -> Any:
    return run(SPECS[question], inline=True)


def changed(question: str, **settings: Any) -> Any:
    return run(msgspec.structs.replace(SPECS[question], **settings), inline=True)


def test_every_question_sets_every_widget_of_its_section():
    assert {preset.settings[SECTION] for preset in PRESETS} == set(KINDS)
    for preset in PRESETS:
        assert preset.question.endswith("?")
        assert preset.model == SPECS[preset.question].model
        assert dict(preset.settings) == values_of(SPECS[preset.question])


def test_without_widgets_each_section_asks_its_default():
    for section, kind in KINDS.items():
        assert current_spec(section, kind().model) == kind()


def test_one_learning_rate_cannot_suit_a_deep_plain_stack():
    question = "Can one learning rate suit every layer?"
    found = outcome(question)
    first, last = found.row("layers.0.linear.weight"), found.row("head.weight")
    assert last.gradient.norm > 1e4 * first.gradient.norm
    assert 0.2 < last.value.norm / first.value.norm < 5
    model = msgspec.structs.replace(SPECS[question].model, architecture=Mlp(layers=16, depth=16, residual=True))
    joined = changed(question, model=model)
    gap = joined.row("head.weight").gradient.norm / joined.row("layers.0.linear.weight").gradient.norm
    assert gap < 100


def test_bf16_autocast_keeps_the_direction():
    found = outcome("Does bf16 autocast change the direction of my gradients?")
    assert 0.9999 < found.whole.cosine < 1
    assert {row.name for row in found.rows if row.identical} == {"head.bias"}
    assert all(row.relative < 0.01 for row in found.rows)
    assert {row.dtype_b for row in found.rows} == {"float32"}


def test_checkpointing_gives_the_same_bits_with_the_random_state():
    question = "Does checkpointing change gradients?"
    assert all(row.identical for row in outcome(question).rows)
    other = msgspec.structs.replace(SPECS[question].model, preserve_rng_state=False)
    assert not changed(question, model=other).whole.identical


def test_every_entry_agrees_and_float32_leaves_few_digits():
    found = outcome("Is my backward right?")
    assert {entry.verdict for entry in found.entries} == {"agrees"}
    large = [entry for entry in found.entries if abs(entry.exact) > 0.1]
    assert all(entry.error < 1e-6 * abs(entry.exact) for entry in large)
    lost = sorted(abs(entry.own_numeric - entry.gradient) / abs(entry.gradient) for entry in large)
    assert 1e-4 < lost[len(lost) // 2] < 0.05


def test_the_straight_through_estimator_differs():
    found = outcome("When does a right gradient fail the check?")
    differing = [entry for entry in found.entries if entry.verdict == "differs"]
    assert differing
    assert {(entry.exact, entry.numeric) for entry in differing} == {(1.0, 0.0)}


def test_four_micro_batches_are_four_times_as_long():
    question = "Do 4 micro-batches give the gradient of one batch?"
    found = outcome(question)
    assert round(found.whole[0].norm_b / found.whole[0].norm_a, 4) == 4
    assert found.whole[1].relative < 1e-6
    three = changed(question, micro_batches=3)
    assert three.sizes == (3, 3, 2)
    assert 0.02 < three.whole[1].relative < 0.2
    assert three.whole[2].relative < 1e-6


def test_clipping_by_norm_keeps_the_direction_and_by_value_does_not():
    found = outcome("What does clipping by norm do that clipping by value does not?")
    assert 52 < found.total_norm < 54
    assert abs(found.total_after_norm - 1) < 1e-4
    assert abs(found.cosine_norm - 1) < 1e-9
    assert 21 < found.total_after_value < 23
    assert found.cosine_value < 0.8


def test_one_nan_spoils_all_by_norm_and_one_leaf_by_value():
    question = "What does one NaN do to clipping?"
    found = outcome(question)
    assert all(row.after_norm.nans == row.after_norm.numel for row in found.rows)
    assert sum(row.after_value.nans > 0 for row in found.rows) == 1
    assert changed(question, error_if_nonfinite=True).norm_error is not None


def test_adamw_skips_none_and_steps_with_zeros():
    found = outcome("None or zeros: does it matter to AdamW?")
    moved = {way.name: way.moved for way in found.ways}
    assert moved["set_to_none=True"] == 0
    assert {row.steps_counted for row in found.ways[0].rows} == {1}
    assert 0.55 < moved["set_to_none=False"] / found.first_moved < 0.8


def test_the_frozen_trunk_and_the_auxiliary_head_have_none_and_the_inputs_do():
    found = outcome("Which leaves get no gradient, and why?")
    without = {row.name: row.why for row in found.rows if row.gradient is None}
    assert {name.partition(".")[0]: why for name, why in without.items()} == {
        "blocks": "frozen",
        "auxiliary_head": "no_path",
    }
    assert {row.name for row in found.rows if row.kind == "input"} & without.keys() == set()


def test_the_sparse_gradient_stores_64_rows():
    row = outcome("What is stored of a sparse gradient?").row("table.weight")
    assert (row.stored, row.is_coalesced, row.value.shape[0]) == (64, False, 1000)


def test_float64_differs_by_rounding_that_grows_towards_the_input():
    found = outcome("Is a large model's gradient as long in float64?")
    assert all(row.relative < 1e-5 for row in found.rows)
    weights = [row.relative for row in found.rows if row.name.endswith("weight")]
    assert max(weights[: len(weights) // 2]) > max(weights[-2:])
