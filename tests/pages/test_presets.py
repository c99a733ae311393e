"""Questions over page changes, and in front of a room that shall predict before it sees."""

from __future__ import annotations

from importlib import import_module

from tests.app.pages_under_test import errors, open_page, run_to_the_end
from tests.source_tree import ROOT

IN_PLACE = ROOT / "pages" / "backward" / "05_in_place.py"
CUSTOM = ROOT / "pages" / "backward" / "03_custom_functions.py"


def questions(name: str) -> list[str]:
    return [preset.question for preset in import_module(f"pages.backward.{name}_presets").PRESETS]


def test_a_question_does_not_come_along_to_another_page():
    app = open_page(CUSTOM)
    run_to_the_end(app.selectbox(key="question").set_value(2))
    assert app.selectbox(key="question").value == 2
    app.switch_page(str(IN_PLACE.relative_to(ROOT / "pages")))
    run_to_the_end(app)
    assert app.selectbox(key="question").value is None
    assert not any("changed settings" in caption.value for caption in app.caption)
    assert errors(app) == []


def test_a_link_opens_its_question():
    asked = questions("in_place")[1]
    app = open_page(IN_PLACE, question=asked)
    assert app.selectbox(key="question").value == 1


def test_presenting_covers_the_answer_until_it_is_asked_for():
    app = open_page(CUSTOM, present="true")
    assert app.metric  # without a question there is nothing to predict
    run_to_the_end(app.selectbox(key="question").set_value(2))
    assert not app.metric
    run_to_the_end(app.button(key="uncover").click())
    assert app.metric
    run_to_the_end(app.button(key="step.Next").click())
    assert not app.metric
    run_to_the_end(app.toggle(key="present").set_value(False))
    assert app.metric
    assert errors(app) == []
