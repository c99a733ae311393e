"""A row of choices keeps what a question set, also where it is drawn only after a computation."""

from __future__ import annotations

from streamlit.testing.v1 import AppTest


def page() -> None:
    import streamlit as st

    from pages.shared.choice import draw_choice, let_wait

    if st.button("ask", key="ask"):
        let_wait({"row": "b", "another page's row": "x"})
    if not st.toggle("computing", key="computing"):
        st.text(draw_choice("row", ("a", "b", "c"), "row"))


def test_what_a_question_set_is_there_once_the_row_is_drawn_and_can_be_changed_again():
    app = AppTest.from_function(page, default_timeout=100).run()
    assert app.text[0].value == "a"
    app.toggle(key="computing").set_value(True)
    app.button(key="ask").click().run()
    assert not app.text
    app.session_state["row"] = "c"  # what the browser still shows
    app.toggle(key="computing").set_value(False).run()
    assert app.text[0].value == "b"
    app.session_state["row"] = "c"
    app.run()
    assert app.text[0].value == "c"
    assert not app.exception
