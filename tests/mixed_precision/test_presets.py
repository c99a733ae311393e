"""What the questions of the page claim, each against what was recorded."""

from __future__ import annotations

import csv
import io
from functools import lru_cache

import pytest

from engine import run
from engine.figures.mixed_precision_track import track_of
from engine.figures.mixed_precision_words import worst, worst_own
from engine.mixed_precision.results import LayerError
from engine.mixed_precision.spec import AutocastMap, AutocastSpec
from pages.memory import mixed_precision_presets as presets
from pages.memory.mixed_precision_exports import downloads
from pages.memory.mixed_precision_tables import layers_table
from pages.shared.number_columns import number_columns

pytestmark = pytest.mark.slow


@lru_cache
def mapped(spec: AutocastSpec) -> AutocastMap:
    return run(spec, inline=True)


def casts_by(found: AutocastMap, by: str = "autocast") -> list[str]:
    return [cast.phase for cast in found.casts if cast.by == by]


def own(row: LayerError) -> float:
    return row.own.relative


def test_saved_bytes_rise():
    found = mapped(presets.RAISED)
    assert (found.held_plain.beside_leaves_bytes, found.held.beside_leaves_bytes) == (4096, 6144)
    assert sorted(row.copy_bytes for row in found.kept_twice) == [2048, 2048]


def test_what_is_missing_is_a_dash_in_a_table_and_empty_in_a_file():
    found = mapped(presets.RAISED)
    shown, _ = number_columns(layers_table(found))
    assert [row.own is None or row.own.relative is None for row in found.layers] == [
        text == "–" for text in shown["own error"]
    ]
    files = {one.label: one.content for one in downloads(presets.RAISED, found)}
    read = csv.DictReader(io.StringIO(files["Layers (CSV)"]()))
    assert [row["own error"] == "" for row in read] == [text == "–" for text in shown["own error"]]
    assert "–" in set(shown["own error"])


def test_autocast_adds_operations():
    found = mapped(presets.SMALL)
    assert casts_by(found) == ["forward"] * 9
    assert casts_by(found, "backward of autocast") == ["backward"] * 8
    assert len(found.operations) - found.plain_operations == 17


def test_which_operations_stay_in_float32():
    gave = {}
    for call in mapped(presets.LANGUAGE).calls:
        gave.setdefault(call.name, set()).add((call.outputs[0], call.policy))
    for name in ("embedding", "add", "layer_norm"):
        assert gave[f"aten::{name}"] == {("float32", "not registered")} | gave[f"aten::{name}"] & {("int64", "x")}
    assert gave["aten::cross_entropy_loss"] == {("float32", "float32")}
    for name in ("linear", "scaled_dot_product_attention"):
        assert gave[f"aten::{name}"] == {("bfloat16", "low precision")}


def test_the_cache_casts_a_weight_once_and_when_it_does_not():
    def casts(spec):
        return {row.name: (row.uses, row.cache_on, row.cache_off) for row in mapped(spec).weights}

    weight, bias = "step.linear.weight", "step.linear.bias"
    assert casts(presets.LOOP) == casts(presets.LOOP_NO_GRAD) == {weight: (6, 1, 6), bias: (6, 1, 6)}
    assert casts(presets.LOOP_INFERENCE) == {weight: (6, 6, 6), bias: (6, 6, 6)}
    assert casts(presets.FROZEN) == {weight: (6, 6, 6), bias: (6, 6, 6)}
    track = track_of(mapped(presets.LOOP), "bfloat16")
    assert [step.cache_reads for step in track.steps if step.label == "linear"] == [0, 2, 2, 2, 2, 2]
    frozen = [row.tensor for row in mapped(presets.FROZEN).kept_twice]
    assert frozen.count(weight) == 6


def test_without_the_cache_every_step_keeps_a_copy():
    on, off = mapped(presets.LSTM), mapped(presets.LSTM_WITHOUT)
    assert off.held.saved_bytes > 3 * on.held.saved_bytes
    assert off.held.saved_bytes > off.held_plain.saved_bytes > on.held.saved_bytes
    assert off.held_other_cache.saved_bytes == on.held.saved_bytes
    recurrent = next(row for row in off.weights if row.name.endswith("hh.weight") or "hh" in row.name)
    copies = [row for row in off.kept_twice if row.tensor == recurrent.name]
    assert (recurrent.uses, len(copies)) == (20, 19)
    assert len([row for row in on.kept_twice if row.tensor == recurrent.name]) == 1


def test_layers_of_a_stack_lose_alike():
    found = mapped(presets.STACK)
    linear = [own(row) for row in found.layers if row.type == "Linear"]
    assert len(linear) == 12
    assert 0.002 < min(linear) <= max(linear) < 0.004
    assert found.outputs[0].relative < 1.5 * max(linear)
    assert worst_own(found.layers).type == "Linear"
    assert {row.type for row in found.layers if row.own is not None} == {"Linear"}


def test_what_autocast_does_not_know_loses_more():
    found = mapped(presets.CHAIN)
    start = next(own(row) for row in found.layers if row.path == "start")
    assert found.outputs[0].relative > 3 * start
    assert found.all_gradients.relative > found.outputs[0].relative
    assert {call.policy for call in found.calls if call.name == "aten::sin"} == {"not registered"}
    assert len(track_of(found, "bfloat16").steps) > 80


def test_float16_is_nearer_until_gradients_leave_its_range():
    wide, narrow = mapped(presets.BFLOAT16), mapped(presets.FLOAT16)
    gradients = worst(wide.gradients).relative / worst(narrow.gradients).relative
    assert 80 < gradients < 150
    assert 5 < worst(wide.outputs).relative / worst(narrow.outputs).relative < 10
    lost = [row.to_zero for row in mapped(presets.VANISHING).gradients if row.name.endswith("weight")]
    assert lost[0] == max(lost) > 1000
    assert sum(lost[:4]) > sum(lost[4:])
    wide = AutocastSpec(model=presets.VANISHING.model, dtype="bfloat16")
    assert sum(row.to_zero for row in mapped(wide).gradients) < sum(lost) / 50


def test_cross_entropy_gives_a_float32_loss():
    found = mapped(presets.CLASSIFIER)
    assert found.loss_dtype == "float32"
    assert found.outputs[0].dtypes == ("float32", "bfloat16")
    assert casts_by(found).count("loss") == 1
    assert mapped(presets.SMALL).loss_dtype == "bfloat16"


def test_there_are_at_least_eight_questions():
    assert len({preset.question for preset in presets.PRESETS}) >= 8
