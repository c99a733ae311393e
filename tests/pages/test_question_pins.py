"""The A that a question pins leaves with the question, on every page that has such questions."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from engine.graph.spec import GraphSpec
from engine.models.spec import Mlp, ModelSpec
from pages.shared.pin import PARAMETER, encode_spec
from pages.shared.presets import Preset
from tests.source_tree import ROOT

MODULES = [
    ".".join(path.relative_to(ROOT).with_suffix("").parts) for path in sorted((ROOT / "pages").glob("*/*_presets.py"))
]


def presets_of(module: str) -> tuple[Preset, ...]:
    return getattr(import_module(module), "PRESETS", ())


COMPARING = [module for module in MODULES if any(preset.against is not None for preset in presets_of(module))]


def _quick_or_slow(module: str) -> Any:
    return module if "profiler" in module else pytest.param(module, marks=pytest.mark.slow)


def page(module: str) -> None:
    """Questions and the pin of a page, without its picture; `other` shows a picture of another kind of run."""
    from importlib import import_module

    import streamlit as st

    from engine.machine.spec import MachineSpec
    from pages.shared.pin import draw_pin
    from pages.shared.presets import choose_preset, draw_preset

    presets = import_module(module).PRESETS
    choose_preset(presets)
    of_page = next(preset.against for preset in presets if preset.against is not None)
    draw_pin(MachineSpec() if st.session_state.get("other") else of_page)
    draw_preset(presets)


def pinned(app: AppTest) -> str | None:
    assert not app.exception
    text: Any = app.query_params.get(PARAMETER)
    return text[0] if isinstance(text, list) else text


@pytest.mark.parametrize("way", ["chosen", "another kind between", "by a link"])
@pytest.mark.parametrize("module", [_quick_or_slow(module) for module in COMPARING])
def test_a_question_without_a_comparison_lets_go_of_the_a_before(module, way):
    presets = presets_of(module)
    first = next(number for number, preset in enumerate(presets) if preset.against is not None)
    second = next((number for number, preset in enumerate(presets) if preset.against is None), None)
    if second is None:
        pytest.skip("every question of this page compares")
    app = AppTest.from_function(page, default_timeout=100, kwargs={"module": module})
    if way == "by a link":
        app.query_params |= presets[first].link_values()
        app.run()
    else:
        app.run().selectbox(key="question").set_value(first).run()
    assert pinned(app) == encode_spec(presets[first].against)
    if way == "another kind between":
        app.session_state["other"] = True
        assert pinned(app.run()) is None
    app.selectbox(key="question").set_value(second).run()
    app.session_state["other"] = False
    assert pinned(app.run()) is None
    assert [button.key for button in app.button if button.key in ("pin", "unpin")] == ["pin"]


def test_the_readers_own_a_stays():
    module = "pages.graph.autograd_graph_presets"
    without = next(number for number, preset in enumerate(presets_of(module)) if preset.against is None)
    own = encode_spec(GraphSpec(model=ModelSpec(architecture=Mlp(), batch=7)))
    app = AppTest.from_function(page, default_timeout=100, kwargs={"module": module})
    app.query_params[PARAMETER] = own
    app.run().selectbox(key="question").set_value(without).run()
    assert pinned(app) == own
