"""What a page shows while a job runs, when it is stopped, and when it faults."""

import time

from streamlit.testing.v1 import AppTest

from engine.models.spec import Gpt, ModelSpec, Recurrent


def page() -> None:
    import streamlit as st

    from engine.graph.spec import GraphSpec
    from pages.shared.jobs import compute

    traced = compute(GraphSpec(model=st.session_state["asked"]))
    st.session_state["nodes"] = len(traced.graph.nodes)


def open_with(model: ModelSpec) -> AppTest:
    app = AppTest.from_function(page, default_timeout=100)
    app.session_state["asked"] = model
    return app.run()


def wait_until_done(app: AppTest) -> AppTest:
    end = time.monotonic() + 100
    while app.get("progress") and time.monotonic() < end:
        time.sleep(0.2)
        app.run()
    return app


LONG = ModelSpec(architecture=Recurrent(cell="hand_written_lstm", steps=2000, layers=6))
TOO_LARGE = ModelSpec(architecture=Gpt(layers=48, heads=32, width=4096, sequence=2048))


def button(app: AppTest, label: str):
    return next(button for button in app.button if button.label == label)


def test_a_result_is_drawn_and_no_job_is_left_behind() -> None:
    app = wait_until_done(open_with(ModelSpec()))
    assert not app.exception
    assert app.session_state["nodes"] == 22
    assert app.session_state["jobs"] == {}


def test_a_long_job_shows_progress_and_stops_when_asked() -> None:
    app = open_with(LONG)
    assert app.get("progress")
    button(app, "Stop").click().run()
    app = wait_until_done(app)
    assert "Stopped" in app.info[0].value
    assert not app.error
    assert "nodes" not in app.session_state


def test_a_changed_spec_abandons_the_running_job() -> None:
    app = open_with(LONG)
    abandoned = app.session_state["jobs"]["main"]
    app.session_state["asked"] = ModelSpec(seed=7)
    app = wait_until_done(app.run())
    assert app.session_state["nodes"] == 22
    assert abandoned.wait(100)


def test_a_refusal_says_bytes_and_stays_until_tried_again() -> None:
    app = wait_until_done(open_with(TOO_LARGE))
    assert "Too large" in app.error[0].value
    assert "GiB" in app.text[0].value
    app.run()
    assert "Too large" in app.error[0].value
    app.session_state["asked"] = ModelSpec()
    app = wait_until_done(app.run())
    assert not app.error
    assert app.session_state["nodes"] == 22


def test_try_again_computes_again() -> None:
    app = open_with(LONG)
    button(app, "Stop").click().run()
    app = wait_until_done(app)
    button(app, "Try again").click().run()
    assert app.get("progress")
    button(app, "Stop").click().run()
