"""The gradient over depth: the chart, what it says in words, and a way from a point to its step."""

from __future__ import annotations

import streamlit as st

from engine.figures.gradient_flow import gradient_flow
from engine.figures.gradient_points import FlowPoint, findings, module_points, node_points, thinned
from engine.figures.units import format_count
from engine.replay.spec import Replay
from pages.backward.replay_look import go_to
from pages.shared.bound import bind, none_but
from pages.shared.theme import shown_theme

WAYS = {"by module": module_points, "by node": node_points}


def draw_flow(replay: Replay, before: Replay | None) -> None:
    """Norm over depth of the last call that ran, against run A's where there is one."""
    with st.container(horizontal=True, vertical_alignment="center"):
        way = st.segmented_control(
            "Points",
            list(WAYS),
            default="by module",
            required=True,
            label_visibility="collapsed",
            **bind("flow.points", why=none_but(WAYS)),
        )
    points = _points(replay, way)
    if not points:
        st.caption("No step ran.")
        return
    drawn = thinned(points)
    chart = gradient_flow(drawn, shown_theme(), pinned=thinned(_points(before, way)) if before else ())
    event = st.plotly_chart(chart, key="flow", on_select="rerun", selection_mode="points")
    chosen = [point["customdata"][0] for point in event.selection.points if point.get("customdata")]
    if chosen and 0 <= chosen[0] < len(replay.steps):
        label = f"Show step {chosen[0] + 1} in the picture"
        st.button(label, icon=":material/center_focus_strong:", on_click=go_to, args=(int(chosen[0]),))
    if len(drawn) < len(points):
        st.caption(
            f"{format_count(len(drawn))} of {format_count(len(points))} points: of every stretch the smallest and the "
            "largest norm."
        )
    for sentence in findings(points):
        st.markdown(f":material/trending_down: {_plain(sentence)}")
    if not findings(points):
        st.caption("Neither vanishing nor exploding: less than a factor of 1000 between the two ends.")


def _points(replay: Replay, way: str) -> tuple[FlowPoint, ...]:
    ran = [one.number for one in replay.passes if one.last > one.first and one.error is None]
    return WAYS[way](replay, ran[-1] if ran else 0)


def _plain(sentence: str) -> str:
    """Without what Markdown would take for markup."""
    return "".join(f"\\{letter}" if letter in "\\`*_{}[]()#+-!|<>$:~" else letter for letter in sentence)
