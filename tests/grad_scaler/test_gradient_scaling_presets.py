"""What the questions of the gradient scaling page tell people to notice is what PyTorch does."""

from __future__ import annotations

import csv
import io
import json
import math
import warnings
from functools import cache

import pytest
import torch

from engine import run
from engine.figures.grad_scaler_timeline import timeline
from engine.figures.grad_scaler_words import found_inf_rows, headline, share, spread_named
from pages.memory.gradient_scaling_controls import values_of
from pages.memory.gradient_scaling_details import steps_table
from pages.memory.gradient_scaling_exports import downloads
from pages.memory.gradient_scaling_presets import PRESETS, SPECS

CASE = "Six steps with an inf and a nan: where is the scale?"
LOW = "Does the scale stop at 1?"
SHRINKS = "Why does the scale keep shrinking?"
CLIP = "Clip before unscale: what goes wrong?"
BF16 = "Does bf16 need a scaler?"
LOST = "Which gradients does float16 lose?"
SETTLES = "Where does the scale settle?"
TWO = "Two optimizers, one overflow: who is skipped?"
SECOND = "Why is the second step refused?"
EARLY = "Accumulation: what does an early unscale_ do?"
THROWN = "Scaled loss thrown away: why does nothing move?"
TINY = "Does 1e-8 survive float16?"
CUDA = 'GradScaler("cuda") without CUDA: what does it scale?'


@cache
def outcome(question: str):
    return run(SPECS[question], inline=True)


def test_every_question_sets_every_control_and_can_be_saved():
    assert set(SPECS) == {CASE, LOW, SHRINKS, CLIP, BF16, LOST, SETTLES, TWO, SECOND, EARLY, THROWN, TINY, CUDA}
    for preset in PRESETS:
        assert preset.question.endswith("?")
        assert dict(preset.settings) == values_of(SPECS[preset.question])
    for question in (CASE, SECOND):
        for download in downloads(SPECS[question], outcome(question)):
            assert download.content()


def test_nan_inf_and_nothing_are_told_apart_in_the_table_and_in_every_file():
    steps = outcome(CASE).run.steps
    assert [step.loss for step in steps if not math.isfinite(step.loss)] == pytest.approx(
        [math.inf, math.nan], nan_ok=True
    )
    assert steps[1].applied_norm is None
    table, _ = steps_table(outcome(CASE))
    assert list(table["loss"]) == ["1", "inf", "0.9", "0.8", "nan", "0.7"]
    assert list(table["norm applied"]) == ["1", "–", "1", "1", "–", "1"]
    assert "norm clipped" not in table.columns
    assert list(table["first weight"]) == [step.first_weight for step in steps]
    files = {one.file_name: one.content() for one in downloads(SPECS[CASE], outcome(CASE))}
    read = list(csv.DictReader(io.StringIO(files["steps.csv"])))
    assert [row["loss"] for row in read] == [str(step.loss) for step in steps]
    assert [row["norm applied"] == "" for row in read] == [step.applied_norm is None for step in steps]
    told = json.loads(files["gradient_scaling.json"], parse_constant=lambda name: pytest.fail(name))["run"]["steps"]
    assert [str(float(step["loss"])) for step in told] == [str(step.loss) for step in steps]
    assert told[1]["applied_norm"] is None
    report = files["gradient_scaling.html"]
    assert "<td>inf</td>" in report
    assert "<td>nan</td>" in report
    assert "None" not in report.partition("<h2>Script")[0]
    assert "inf or nan in step 2, 5" in files["norms.svg"]
    words = [one.text for one in timeline(outcome(CASE).run, None, "light").layout.annotations]
    assert words == ["inf", "nan"] * 2


def test_a_scaler_for_cuda_scales_nothing_where_there_is_none():
    found, there = outcome(CUDA), torch.cuda.is_available()
    assert found.run.enabled == there
    assert found.beside.enabled
    assert [step.number for step in found.beside.steps if step.skipped] == [5]
    if not there:
        assert ["CUDA is not available" in text for text in found.run.warnings] == [True]
        assert {step.scale_before for step in found.run.steps} == {1.0}
        assert [math.isnan(step.first_weight) for step in found.run.steps] == [n >= 5 for n in range(1, 13)]
        assert "**not enabled**" in headline(found, 65536.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with torch.autocast("cuda"):
            assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype == torch.float32


def test_the_public_case_and_the_scale_below_one():
    steps = outcome(CASE).run.steps
    assert [round(step.first_weight, 4) for step in steps] == [0.9, 0.9, 0.8, 0.7, 0.7, 0.6]
    assert [step.scale_after for step in steps] == [65536.0, 32768.0, 32768.0, 65536.0, 32768.0, 32768.0]
    assert "**Steps 2 and 5** of 6 skipped" in headline(outcome(CASE), 65536.0)
    assert outcome(LOW).run.steps[-1].scale_after == 0.25


@pytest.mark.slow
def test_a_forgotten_zero_grad_keeps_the_inf():
    steps = outcome(SHRINKS).run.steps
    assert [step.number for step in steps if step.skipped] == list(range(4, 25))
    assert [step.scale_after for step in steps[3:]] == [2.0 ** (16 - n) for n in range(1, 22)]
    _, rows = found_inf_rows(outcome(SHRINKS).run)
    marked = {(row[0], cell) for row in rows for cell in row[2:] if cell != "·"}
    assert marked == {("head.weight", "✕ 1")}
    right = outcome(SHRINKS).beside.steps
    assert all(a.loss == pytest.approx(b.loss, rel=1e-3) for a, b in zip(steps[:3], right[:3], strict=True))


@pytest.mark.slow
def test_clipping_scaled_gradients_divides_them_away():
    step, right = outcome(CLIP).run.steps[0], outcome(CLIP).beside.steps[0]
    assert step.scaled_norm == pytest.approx(172_365, rel=1e-3)
    assert step.applied_norm == pytest.approx(0.5 / 65536, rel=1e-3)
    assert (right.unscaled_norm, right.applied_norm) == (pytest.approx(2.63, rel=1e-2), pytest.approx(0.5, rel=1e-3))
    losses = [one.loss for one in outcome(CLIP).run.steps]
    assert max(losses) - min(losses) < 1e-3 < right.loss - outcome(CLIP).beside.steps[-1].loss


@pytest.mark.slow
def test_bfloat16_rounds_no_gradient_to_zero_and_float16_half_of_them():
    assert next(preset.against for preset in PRESETS if preset.question == BF16).autocast == "float16"
    for question in (BF16, LOST):
        spread = spread_named(outcome(question), "parameters")
        half = share(spread, "float16", 1.0)
        assert share(spread, "bfloat16", 1.0).lost == 0
        assert half.to_zero / half.counted == pytest.approx(0.5, abs=0.06)
        assert share(spread, "float16", 65536.0).to_zero < 0.01 * half.counted
        assert next(one for one in spread.best if one.dtype == "float8_e4m3fn").lost > 0
    assert outcome(BF16).run.steps[-1].scale_after == 1.0


@pytest.mark.slow
def test_the_scale_saws_at_the_edge_of_float16():
    steps = outcome(SETTLES).run.steps
    assert sum(step.skipped for step in steps) > len(steps) / 3
    events = "".join(step.event[0] for step in steps)
    assert set(events) == {"g", "b"}
    assert "bb" not in events
    peaks = [step.scale_before for step in steps if step.event == "backoff"]
    assert peaks == sorted(peaks)
    assert peaks[-1] > peaks[0]


@pytest.mark.slow
def test_the_other_mistakes_end_as_told():
    two = outcome(TWO).run.steps[4]
    assert (two.found_inf, two.taken) == ((0.0, 1.0), (True, False))
    assert outcome(TWO).run.steps[-1].scale_after == 32768.0
    assert outcome(SECOND).run.error_step == 2
    assert "step() has already been called since the last update()" in outcome(SECOND).run.error.message
    early = outcome(EARLY).run.steps
    assert 80_000 < early[0].applied_norm < 100_000
    assert outcome(EARLY).beside.steps[0].applied_norm == pytest.approx(2.63, rel=0.01)
    assert all(math.isnan(step.loss) for step in early[1:])
    assert early[-1].scale_after < 1
    thrown = outcome(THROWN).run.steps
    assert f"{thrown[0].loss:.2f}" == f"{thrown[-1].loss:.2f}"
    assert all(step.taken == (True,) for step in thrown)


def test_a_tiny_gradient_is_zero_in_float16_unless_scaled():
    spread = spread_named(outcome(TINY), "parameters")
    assert share(spread, "float16", 1.0).to_zero == 1
    assert share(spread, "float16", 65536.0).normal == 1
    value = torch.tensor(1e-8)
    assert value.half().item() == 0.0
    assert round((value * 65536).half().float().item() / 65536, 12) == 9.997e-09
