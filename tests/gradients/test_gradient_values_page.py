"""The page's sections, its clicks, its exports and its comparison with a pinned run."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import pytest

from engine import run
from engine.gradients.spec import ClippingSpec, DifferenceSpec, GradientsSpec
from engine.models.spec import Expression, Mlp, ModelSpec
from pages.backward.gradient_values_chart import _choose
from pages.backward.gradient_values_controls import CHART, KINDS, LEAF, SECTION
from pages.backward.gradient_values_exports import downloads
from pages.backward.gradient_values_values import value_table
from pages.shared.pin import encode_spec
from tests.app.pages_under_test import PAGES_FOLDER, errors, open_page, run_to_the_end

PAGE = PAGES_FOLDER / "backward/02_gradient_values.py"
SMALL = ModelSpec(architecture=Mlp(layers=2, depth=2, width=8))


def slow_but(quick: str) -> list[Any]:
    """All sections, those other than `quick` where slow tests run."""
    return [section if section == quick else pytest.param(section, marks=pytest.mark.slow) for section in KINDS]


@pytest.mark.parametrize("section", slow_but("Clipping"))
def test_every_section_opens_with_numbers(section):
    app = open_page(PAGE, **{SECTION: section})
    assert errors(app) == []
    assert [error.value for error in app.error] == []
    assert len(app.metric) >= 4
    if section == "Clipping":
        figures = [json.loads(chart.proto.spec)["data"] for chart in app.get("plotly_chart")]
        scales = [trace["zmax"] for data in figures for trace in data if trace.get("showscale") and "zmax" in trace]
        assert len(scales) == 3, "before, and after both ways of clipping"
        assert len(set(scales)) == 1


@pytest.mark.slow
@pytest.mark.parametrize("section", KINDS)
@pytest.mark.parametrize("name", ["in_place_after_save", "complex_abs2"])
def test_every_section_survives_a_model_that_fails_or_is_complex(section, name):
    app = open_page(PAGE, **{SECTION: section, "model": "Tensor expression", "expression.name": name})
    assert errors(app) == []


def test_a_leaf_is_kept_in_the_link_and_one_of_another_model_is_not():
    app = open_page(PAGE, **{LEAF: "head.weight"})
    assert app.selectbox(key=LEAF).value == "head.weight"
    app.selectbox(key="model").set_value("embedding")
    run_to_the_end(app)
    assert errors(app) == []
    assert app.selectbox(key=LEAF).value in app.selectbox(key=LEAF).options


def test_a_click_on_the_chart_chooses_the_leaf(monkeypatch):
    state: dict[str, Any] = {CHART: type("Event", (), {"selection": None})()}
    monkeypatch.setattr("streamlit.session_state", state)
    _choose(["a", "b"])
    assert LEAF not in state
    point = type("Selection", (), {"points": [{"customdata": [1]}]})()
    state[CHART] = type("Event", (), {"selection": point})()
    _choose(["a", "b"])
    assert state[LEAF] == "b"


def test_pinning_brings_cosine_and_difference_to_a():
    before, now = SMALL, ModelSpec(architecture=SMALL.architecture, autocast="bfloat16")
    differences = run(DifferenceSpec(model=before, against="given", other=now), inline=True)
    spec = GradientsSpec(model=now)
    table = value_table(spec, run(spec, inline=True), differences).set_index("leaf")
    assert 0.999 < table.loc["layers.0.linear.weight", "cosine to A"] < 1
    assert table.loc["layers.0.linear.weight", "relative to A"] > 0
    app = open_page(PAGE, pinned=encode_spec(GradientsSpec(model=ModelSpec(seed=1))))
    assert errors(app) == []
    assert all(metric.delta for metric in app.metric)


@pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("name", ["mlp", "in_place_after_save"])
def test_every_file_is_made(kind, name):
    failing = ModelSpec(architecture=Expression(name="in_place_after_save"))
    if name != "mlp" and kind.__name__ == "AccumulationSpec":
        pytest.skip("an expression has no batch to divide")
    spec = kind() if name == "mlp" else kind(model=failing)
    outcome = run(spec, inline=True)
    files = {file.file_name: file.content() for file in downloads(spec, outcome, "norms")}
    assert len(files) == 7
    texts = {name: text if isinstance(text, str) else text.decode() for name, text in files.items()}
    stem = kind.__name__.removesuffix("Spec").lower()
    assert texts[f"{stem}.svg"].startswith("<svg")
    assert "<h1>" in texts[f"{stem}.html"]
    json.loads(texts[f"{stem}.json"])
    rows = list(csv.reader(io.StringIO(texts[f"{stem}.csv"])))
    assert len(rows) > 1 or name != "mlp"
    assert all(len(row) == len(rows[0]) for row in rows)


@pytest.mark.slow
def test_a_refused_clip_is_told_in_pytorchs_words():
    app = open_page(
        PAGE,
        **{SECTION: "Clipping", "gradients.clipping.poison": "nan", "gradients.clipping.error_if_nonfinite": "true"},
    )
    assert errors(app) == []
    assert any("clip_grad_norm_" in error.value for error in app.error)
    assert any("non-finite, so it cannot be clipped" in code.value for code in app.code)
    assert run(ClippingSpec(poison="nan", error_if_nonfinite=True), inline=True).norm_error is not None


def test_micro_batches_beyond_the_batch_are_refused_and_the_questions_stay():
    app = open_page(PAGE, **{SECTION: "Accumulation", "gradients.accumulation.micro_batches": "9"})
    assert errors(app) == []
    assert any("must not exceed the batch of 4" in text.value for text in app.text)
    assert app.selectbox(key="question").options
