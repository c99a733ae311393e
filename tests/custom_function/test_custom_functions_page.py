"""The page: what it says of text it cannot read, what it draws without a curve, and the files it saves."""

from __future__ import annotations

import csv
import io
import json
import xml.etree.ElementTree as ElementTree

import msgspec
import pytest

from engine.custom_function.catalogue import TYPED
from engine.custom_function.results import CheckedFunction
from engine.custom_function.spec import CustomFunctionSpec
from engine.custom_function.verdict_words import REMEDIES
from pages.backward.custom_functions_details import lifetime_words, order_table, slot_table, trace_table
from pages.backward.custom_functions_exports import downloads
from pages.backward.custom_functions_picture import ICONS, literal
from pages.backward.custom_functions_presets import PRESETS
from tests.app.pages_under_test import PAGES_FOLDER, errors, open_page
from tests.custom_function.checking import check, checked

PAGE = PAGES_FOLDER / "backward/03_custom_functions.py"
SAVED = [
    CustomFunctionSpec(),
    CustomFunctionSpec(function="SinCos"),
    CustomFunctionSpec(function="LinearFunction"),
    CustomFunctionSpec(function="JoinedList"),
    CustomFunctionSpec(function="HandReLU", dtype="complex128"),
    CustomFunctionSpec(function=TYPED, forward="log(x)", backward="g / x * (x < 1e300) + 0 * y"),
]


@pytest.mark.parametrize("spec", SAVED, ids=lambda spec: f"{spec.function}-{spec.dtype}")
def test_every_file_can_be_saved(spec):
    found = checked(spec)
    files = {one.file_name: one.content() for one in downloads(spec, found)}
    assert json.loads(files["custom-function.json"])["verdict"]["kind"] == found.verdict.kind
    assert json.loads(files["spec.json"])["function"] == spec.function
    curves = list(csv.reader(io.StringIO(files["curves.csv"])))
    assert len(curves) == 1 + len(found.curves) * spec.samples
    assert len(list(csv.reader(io.StringIO(files["jacobians.csv"])))) == 1 + found.check.entries
    assert found.verdict.kind in files["custom-function.html"]
    for name in (name for name in files if name.endswith(".svg")):
        assert ElementTree.fromstring(files[name]).tag.endswith("svg")
    assert ("custom-function.svg" in files) == bool(found.curves)


def test_a_result_survives_the_wire():
    found = check()
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(found), type=CheckedFunction) == found


def test_tables_say_what_was_read():
    shift = check(function="ShiftWithoutSlot")
    assert list(slot_table(shift)["next_functions"]) == ["torch::autograd::AccumulateGrad", "no entry"]
    assert list(slot_table(shift)["backward returned"]) == ["Tensor (4,) float64", "missing"]
    assert list(trace_table(check())["decided"])[-1] == "intended clip"
    assert list(order_table(check())["passes"]) == ["no", "yes", "yes", "yes"]
    words = " ".join(lifetime_words(check(function="XExpOnCtx").lifetime))
    assert "only by gc.collect()" in words
    assert "unnoticed" in words


def test_markdown_is_shown_as_it_is():
    assert literal("a_b *c* [d](e) <img> $x$ :red[y]") == ("a\\_b \\*c\\* \\[d\\](e) \\<img\\> \\$x\\$ \\:red\\[y\\]")


def test_every_verdict_has_an_icon():
    assert set(ICONS) == set(REMEDIES)


def test_text_that_cannot_be_read_is_told_and_questions_stay():
    app = open_page(PAGE, **{"function.function": TYPED, "function.backward": "g * nonsense(x)"})
    assert errors(app) == []
    assert [one.value for one in app.error] == ["**These settings cannot be used**"]
    assert "'nonsense' is not a function here" in " ".join(one.value for one in app.text)
    assert app.selectbox(key="question").options


@pytest.mark.slow
def test_a_link_rebuilds_a_typed_function():
    query = {"function.function": TYPED, "function.forward": "x**3", "function.backward": "2 * g * x**2"}
    app = open_page(PAGE, **query)
    assert errors(app) == []
    (told,) = [one.value for one in app.error]
    assert "wrong formula" in told
    assert "0.667x numerical everywhere" in told


@pytest.mark.slow
def test_without_a_curve_the_jacobians_are_the_picture():
    app = open_page(PAGE, **{"function.function": "LinearFunction"})
    assert errors(app) == []
    assert len(app.get("plotly_chart")) == 3
    assert [group.label for group in app.get("button_group")][:1] == ["Jacobian"]


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(PRESETS)))
def test_every_question_opens(number):
    preset = PRESETS[number]
    app = open_page(PAGE, **{key: str(value) for key, value in preset.link_values().items()})
    assert errors(app) == []
    assert app.session_state["question"] == number
    assert app.metric
    assert not any("You have changed settings" in caption.value for caption in app.caption)
