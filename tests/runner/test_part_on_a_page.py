"""A page draws the part of a result that is there, then the whole; what stops the rest leaves the part."""

from __future__ import annotations

import time

import pytest
from streamlit.testing.v1 import AppTest


def page() -> None:
    import streamlit as st

    from engine import run
    from pages.shared.jobs import compute_early, draw_rest

    asked = st.session_state["asked"]
    shown = compute_early(asked)
    draw_rest(asked)
    st.text(run(shown).text)


@pytest.fixture
def open_page(forking, monkeypatch):
    from tests.runner.misbehaving.spec import TwoPartsSpec

    monkeypatch.setattr("engine.runner._dispatcher", forking)

    def opened(**fields) -> AppTest:
        app = AppTest.from_function(page, default_timeout=100)
        app.session_state["asked"] = TwoPartsSpec(number=time.monotonic_ns(), **fields)
        app.run()
        end = time.monotonic() + 100
        while not app.text and time.monotonic() < end:
            app.run()
        return app

    return opened


def button(app: AppTest, label: str):
    return next(button for button in app.button if button.label == label)


def test_the_part_comes_first_and_stays_when_the_rest_is_stopped(open_page) -> None:
    app = open_page(seconds=20)
    assert app.text[0].value == "part"
    assert app.get("progress")
    button(app, "Stop").click().run()
    assert app.text[0].value == "part"
    assert "Stopped" in app.caption[0].value
    button(app, "Try again").click().run()
    assert app.get("progress")
    assert app.text[0].value == "part"
    button(app, "Stop").click().run()


def test_the_whole_follows(open_page) -> None:
    app = open_page(seconds=1.5)
    end = time.monotonic() + 100
    while app.text[0].value != "whole" and time.monotonic() < end:
        app.run()
    assert app.text[0].value == "whole"
    assert not app.caption
    assert not app.get("progress")


def test_a_rest_that_fails_says_so_beside_the_part(open_page) -> None:
    app = open_page(seconds=1.0, ends="raising")
    end = time.monotonic() + 100
    while not app.caption and time.monotonic() < end:
        app.run()
    assert app.text[0].value == "part"
    assert "PyTorch raised an error" in app.caption[0].value


def test_a_short_rest_is_not_drawn_apart(open_page) -> None:
    assert open_page(seconds=0.0).text[0].value == "whole"
