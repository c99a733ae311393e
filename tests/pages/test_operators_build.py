"""What a page that needs the compiled operators says in each of their states."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from engine.operators import background
from engine.operators.state import Kind, OperatorsState


def page() -> None:
    import streamlit as st

    from pages.shared.operators_build import draw_build_progress, operators_or_reason

    draw_build_progress()
    st.text(operators_or_reason() or "compiled")


@pytest.fixture
def open_in(monkeypatch):
    """open_in(kind, **fields): the page with the operators in that state; what was started is in `open_in.started`."""
    started: list[str] = []

    def opened(kind: Kind, **fields) -> AppTest:
        state = OperatorsState(kind=kind, detail=fields.pop("detail", "so it is"), **fields)
        monkeypatch.setattr(background, "operators_state", lambda: state)
        monkeypatch.setattr(background, "start_build", lambda: started.append(kind))
        monkeypatch.setattr("pages.shared.operators_build.start_build", lambda: started.append("again"))
        app = AppTest.from_function(page, default_timeout=100).run()
        assert not app.exception
        return app

    opened.started = started
    return opened


def test_built_nothing_is_said(open_in):
    app = open_in("built")
    assert [text.value for text in app.text] == ["compiled"]
    assert not app.get("progress")


def test_building_shows_how_far_it_is(open_in):
    app = open_in("building", detail="3 of 14: gelu_tanh.cpp", done=3, total=14)
    (bar,) = app.get("progress")
    assert "3 of 14: gelu_tanh.cpp" in bar.proto.text
    assert bar.proto.value == 21
    assert app.text[-1].value == "building: 3 of 14: gelu_tanh.cpp"
    assert open_in.started == []


def test_not_built_starts_the_build(open_in):
    app = open_in("not built")
    assert app.text[-1].value == "building: starting the compiler"
    assert "not built" in open_in.started


def test_a_failure_shows_the_compilers_words_and_can_be_tried_again(open_in):
    app = open_in("failed", detail="a.cpp:3:1: error: expected ';'", log_tail="all of it")
    assert "a.cpp:3:1: error: expected ';'" in [text.value for text in app.text]
    assert [code.value for code in app.code] == ["all of it"]
    assert open_in.started == []
    app.button[0].click().run()
    assert open_in.started == ["again"]


@pytest.mark.parametrize("kind", ["no compiler", "switched off"])
def test_without_a_compiler_the_reference_is_named(open_in, kind):
    app = open_in(kind, detail="none found (c++)")
    assert "none found (c++)" in app.info[0].value
    assert "PyTorch's own operations" in app.info[0].value
    assert open_in.started == []


def test_a_build_that_dies_without_a_word_is_not_started_for_ever(monkeypatch):
    monkeypatch.setattr(background, "operators_state", lambda: OperatorsState(kind="not built", detail=""))
    monkeypatch.setattr(background, "_at_low_priority", lambda: ["false"])
    monkeypatch.setattr(background, "_process", None)
    assert background.state_or_start().kind == "building"
    assert background._process.wait(10) == 1
    assert background.state_or_start().kind == "failed"
    assert "status 1" in background.current_state().detail
