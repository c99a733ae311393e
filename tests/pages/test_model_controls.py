"""Every field of ModelSpec has one control, and setting the controls gives the model back."""

import pytest
from streamlit.testing.v1 import AppTest

from engine.models.spec import ModelSpec
from pages.graph.autograd_graph_presets import PRESETS
from pages.shared.model_controls import ARCHITECTURES, TITLES, TOPICS, widget_values


def test_every_toggle_is_shown_exactly_once() -> None:
    shown = [name for names in TOPICS.values() for name in names]
    assert sorted(shown) == sorted(name for name in ModelSpec.__struct_fields__ if name != "architecture")


def test_every_architecture_has_a_title() -> None:
    assert TITLES.keys() == ARCHITECTURES.keys()


def controls() -> None:
    import streamlit as st

    from pages.shared.model_controls import current_model, draw_model_controls

    draw_model_controls()
    st.session_state["shown"] = current_model()


@pytest.mark.parametrize("number", range(len(PRESETS)))
def test_controls_show_the_model_of_a_preset(number: int) -> None:
    model = PRESETS[number].model
    app = AppTest.from_function(controls, default_timeout=100)
    for key, value in widget_values(model).items():
        app.session_state[key] = value
    app.run()
    assert not app.exception
    assert app.session_state["shown"] == model


@pytest.mark.parametrize("tag", sorted(ARCHITECTURES))
def test_defaults_of_every_architecture(tag: str) -> None:
    app = AppTest.from_function(controls, default_timeout=100).run()
    app.selectbox(key="model").set_value(tag).run()
    assert not app.exception
    assert app.session_state["shown"] == ModelSpec(architecture=ARCHITECTURES[tag]())
