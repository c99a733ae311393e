"""The numbers of a step, a box or a wire: every gradient in a table, one of them as a heat map."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pandas as pd
import streamlit as st

from engine.figures.heat_map import summary_heat_map
from engine.figures.histogram import summary_histogram
from engine.figures.replay_lookup import Looked, gradients_between, gradients_of, members_of, steps_of
from engine.figures.replay_words import accumulation_words, shape_words
from engine.figures.scene import Scene
from engine.figures.units import format_time, shorten
from engine.replay.spec import Replay, Step
from pages.backward.replay_look import go_to, looked
from pages.shared.pin import code_text
from pages.shared.theme import shown_theme

MOST_STEPS = 40
"""Steps of one box, or gradients of one wire, whose gradients are listed."""


def draw_details(replay: Replay, scene: Scene) -> None:
    """What the reader turned to last, or what to do to see something."""
    what, value = looked()
    with st.container(border=True, key="replay-details"):
        if what == "step" and isinstance(value, int) and 0 <= value < len(replay.steps):
            _draw_step(replay, replay.steps[value])
        elif what == "selected" and isinstance(value, str) and scene.members.get(value):
            _draw_box(replay, value, scene.members[value])
        elif what == "wire" and isinstance(value, str):
            _draw_wire(replay, scene, value)
        else:
            st.caption(
                "Press play, or step with , and . — then the numbers of the step are here. Click an edge for the "
                "gradients that flowed along it, a box for its steps; double click a module to open it."
            )


def _draw_step(replay: Replay, step: Step) -> None:
    module = f" · module `{code_text(step.module)}`" if step.module else ""
    st.markdown(f"**Step {step.number + 1} of {len(replay.steps)} · `{code_text(step.name)}`**{module}")
    took = "raised" if step.duration_s is None else f"took {format_time(step.duration_s)}"
    facts = [
        f"pass {step.pass_number + 1}",
        f"thread {step.thread}",
        f"began {format_time(step.begun_s)} into it",
        took,
    ]
    facts += [accumulation_words(replay, one) for one in replay.accumulations if one.step == step.number]
    st.caption(" · ".join(code_text(fact) for fact in facts))
    if step.kind == "recompute":
        st.caption(f"A checkpoint ran this forward again: {step.operations} PyTorch functions.")
        return
    draw_gradients(gradients_of(replay, step), f"step.{step.number}")


def _draw_box(replay: Replay, address: str, members: Sequence[int]) -> None:
    steps = steps_of(replay, set(members))
    st.markdown(f"**`{code_text(shorten(address, 100))}`**  :gray[{len(members)} nodes, {len(steps)} steps]")
    if not steps:
        gone = min(members) >= len(replay.graph.nodes)
        st.caption("Only A has it: here nothing of it ran." if gone else "No backward() call reached it.")
        return
    names = {
        step.number: f"{step.number + 1} · {step.name} · pass {step.pass_number + 1}" for step in steps[:MOST_STEPS]
    }
    with st.container(horizontal=True, vertical_alignment="bottom"):
        chosen = st.selectbox("Step", list(names), format_func=names.__getitem__, key="replay.box.step", width=420)
        st.button("Show it in the picture", icon=":material/center_focus_strong:", on_click=go_to, args=(chosen,))
    if len(steps) > MOST_STEPS:
        st.caption(f"The first {MOST_STEPS} of {len(steps)} steps are listed; the table of steps has all.")
    draw_gradients(gradients_of(replay, replay.steps[chosen]), f"box.{chosen}")


def _draw_wire(replay: Replay, scene: Scene, value: str) -> None:
    source, _, target = value.partition("\n")
    found = gradients_between(replay, *members_of(scene.members, value))
    st.markdown(f"**`{code_text(shorten(source, 60))}` → `{code_text(shorten(target, 60))}`**  :gray[an edge]")
    if not found:
        st.caption("No gradient flowed along it.")
        return
    if len(found) > MOST_STEPS:
        st.caption(f"The first {MOST_STEPS} of {len(found)} gradients that flowed along it.")
    draw_gradients(found[:MOST_STEPS], "wire")


def draw_gradients(found: Sequence[Looked], key: str) -> None:
    """Every gradient in a table, and the one that is chosen as a picture of its values."""
    if not found:
        st.caption("It received and returned nothing.")
        return
    digits = {name: st.column_config.NumberColumn(format="%.4g") for name in ("norm", "min", "max", "mean")}
    st.dataframe(gradient_table(found), hide_index=True, width="stretch", column_config=digits)
    there = [number for number, one in enumerate(found) if one.summary is not None]
    if not there:
        st.caption("No gradient: the engine takes None for zeros.")
        return
    names = {number: f"{found[number].where} · step {found[number].step + 1}" for number in there}
    chosen = st.selectbox("Values of", there, format_func=names.__getitem__, key=f"replay.values.{key}", width=460)
    _draw_values(found[chosen], key)


def _draw_values(one: Looked, key: str) -> None:
    assert one.summary is not None
    theme, plain = shown_theme(), {"displayModeBar": False}
    image, spread = st.columns([6, 5], gap="large", vertical_alignment="center")
    with image:
        heat_map = summary_heat_map(one.summary, theme, title=one.where)
        st.plotly_chart(heat_map, key=f"replay.map.{key}", config=plain)
    if one.summary.numel > 1:
        with spread:
            histogram = summary_histogram(one.summary, theme, title="How its values are spread")
            st.plotly_chart(histogram, key=f"replay.histogram.{key}", config=plain)


def gradient_table(found: Sequence[Looked]) -> pd.DataFrame:
    """One row per gradient, numbers as numbers."""
    summaries = [one.summary for one in found]

    def column(name: str) -> list[float | None]:
        values = [math.nan if one is None else getattr(one, name) for one in summaries]
        return [None if math.isnan(value) else value for value in values]

    return pd.DataFrame(
        {
            "gradient": [one.where for one in found],
            "shape": ["None" if one is None else shape_words(one.shape) for one in summaries],
            "dtype": ["" if one is None else one.dtype.removeprefix("torch.") for one in summaries],
            "norm": column("norm"),
            "min": column("minimum"),
            "max": column("maximum"),
            "mean": column("mean"),
            "zeros": column("zeros"),
            "nan": column("nans"),
            "inf": column("infinities"),
        }
    )
