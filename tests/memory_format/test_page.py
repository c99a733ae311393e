"""The page opens at every question, says where channels_last went, and what to do without images."""

from __future__ import annotations

import pytest

from pages.shared.model_controls import TITLES
from pages.tensors.memory_formats_presets import PRESETS
from tests.app.pages_under_test import PAGES_FOLDER, errors, open_page, run_to_the_end

PAGE = PAGES_FOLDER / "tensors" / "02_memory_formats.py"
QUICK = (0, 3)
"""Questions opened by default; the others open in the slow tests."""


def at(number: int):
    return open_page(PAGE, **PRESETS[number].link_values())


@pytest.mark.parametrize(
    "number",
    [
        pytest.param(n, id=preset.question, marks=[] if n in QUICK else [pytest.mark.slow])
        for n, preset in enumerate(PRESETS)
    ],
)
def test_every_question_opens_with_its_own_settings(number):
    app = at(number)
    assert errors(app) == []
    assert not app.progress
    assert app.selectbox(key="question").value == number
    assert "restore" not in {button.key for button in app.button}
    assert {metric.label for metric in app.metric} >= {"% channels_last", "Losses", "Forward copies", "Bwd copies"}


def test_the_sentence_names_line_module_and_remedy():
    (sentence,) = [error.value for error in at(0).error]
    assert "blocks.0" in sentence
    assert "conv_net.py:" in sentence
    assert "reshape" in sentence
    assert "channel_shuffle" in sentence


def test_a_link_converts_inputs_only_from_the_first_run_on():
    app = open_page(
        PAGE, **{"model": TITLES["resnet"], "memory_format": "channels_last", "formats.converted": "inputs only"}
    )
    differing = next(metric for metric in app.metric if metric.label == "Grads differ")
    assert differing.value == "3"


def test_without_images_the_page_offers_questions_that_have_some():
    app = open_page(PAGE)
    assert "has no images" in app.info[0].value
    offered = [button for button in app.button if (button.key or "").startswith("formats.open.")]
    assert [button.label for button in offered] == [preset.question for preset in PRESETS]
    app.button(key="formats.open.0").click()
    run_to_the_end(app)
    assert errors(app) == []
    assert app.selectbox(key="model").value == "conv_net"
    assert app.metric


@pytest.mark.parametrize("mode", ["no_grad", "inference_mode"])
def test_inference_mode_says_what_watching_may_miss(mode):
    app = open_page(PAGE, **{**PRESETS[0].link_values(), "grad_mode": mode})
    assert errors(app) == []
    assert any("inference_mode PyTorch hands" in note.value for note in app.caption) == (mode == "inference_mode")


def test_a_filter_shows_rows_of_one_module_only():
    app = at(0)
    app.selectbox(key="formats.filter").set_value("every operation")
    app.text_input(key="formats.module").set_value("blocks.1")
    run_to_the_end(app)
    tables = [table.value for table in app.dataframe if "operation" in table.value]
    assert len(tables[0])
    assert set(tables[0]["module"]) <= {"blocks.1", "blocks.1.conv"}


@pytest.mark.slow
def test_measuring_waits_for_the_button_and_shows_a_verdict():
    app = at(0)
    app.session_state["formats.details"] = "Contiguous or channels_last?"
    run_to_the_end(app)
    app.button(key="formats.measured.button").click()
    run_to_the_end(app)
    assert errors(app) == []
    assert any("**Forward**: channels_last" in text.value for text in app.markdown)
