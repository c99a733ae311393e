"""The controls of the run that ledger and timeline look at: how the training loop goes, and at which moment to look."""

from __future__ import annotations

from typing import Any

import streamlit as st

from engine.memory.ledger import MOMENTS, Moment, last_step
from engine.memory.spec import MemorySpec, MemoryTrace
from engine.models.spec import ModelSpec
from pages.shared.choice import draw_choice
from pages.shared.fields import common_arguments, draw_field, field_value

PREFIX = "memory"
RUN = ("optimizer", "steps", "kept")
MORE = ("zero_grad", "backward", "retain_graph")
LABELS = {"kept": "the loop keeps", "backward": "call backward"}
WIDTHS = {"optimizer": 150, "steps": 130, "kept": 220}
HELP = {
    "backward": "Off: forward and loss only, nothing frees what they saved",
    "retain_graph": "backward(retain_graph=True) keeps what it has read",
    "zero_grad": "How gradients are cleared at the end of a step",
    "kept": "What the training loop still refers to when a step ends",
    "steps": "Training steps that are recorded, one after the other",
    "optimizer": "Its state appears in its first step",
}
MOMENT, STEP = "memory_ledger.moment", "memory_ledger.step"
WITHOUT_BACKWARD = "Without backward there is no graph to retain and nothing to step on."


def draw_run_controls() -> None:
    """How the loop goes, the same on both pages; read it with `current_spec`."""
    for name in RUN:
        with st.container(width=WIDTHS[name]):
            draw_field(MemorySpec, name, f"{PREFIX}.{name}", label=LABELS.get(name, name))
    with st.popover("Loop", icon=":material/repeat:", help="backward and zero_grad: whether and how they are called"):
        for name in MORE:
            reason = WITHOUT_BACKWARD if name == "retain_graph" and not _value("backward") else ""
            draw_field(MemorySpec, name, f"{PREFIX}.{name}", label=LABELS.get(name, name), reason=reason)
            st.caption(HELP[name])


def current_spec(model: ModelSpec) -> MemorySpec:
    """What the controls of the run say."""
    values = {name: _value(name) for name in (*RUN, *MORE)}
    values["retain_graph"] = bool(values["retain_graph"]) and bool(values["backward"])
    return MemorySpec(model=model, **values)


def draw_moment() -> Moment:
    """At which moment of a step the ledger is opened."""
    chosen = draw_choice("Moment", MOMENTS, MOMENT)
    return next(moment for moment in MOMENTS if moment == chosen)


def draw_step(trace: MemoryTrace) -> int:
    """Of which step; only steps that began can be chosen."""
    steps = [str(number) for number in range(1, max(last_step(trace), 1) + 1)]
    if st.session_state.get(STEP) not in steps:
        st.session_state.pop(STEP, None)
    common = common_arguments(STEP, "The first step is special: the optimizer's state is not there yet")
    return int(st.selectbox("of step", steps, disabled=len(steps) == 1, **common) or steps[0])


def settings_of(spec: MemorySpec, **page: Any) -> dict[str, Any]:
    """Widget key -> value that makes the controls of the run show `spec`, and those of a page `page`."""
    return {f"{PREFIX}.{name}": getattr(spec, name) for name in (*RUN, *MORE)} | page


def _value(name: str) -> Any:
    return field_value(MemorySpec, name, f"{PREFIX}.{name}")
