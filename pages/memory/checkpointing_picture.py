"""The picture of policies: a click on a mark, or the list beside it, chooses the one that is looked at."""

from __future__ import annotations

from typing import Any

import streamlit as st

from engine.checkpointing.policy import Policy
from engine.checkpointing.standard import titled
from engine.figures.checkpointing_chart import HEIGHT, policies_chart
from engine.figures.checkpointing_points import (
    Across,
    Point,
    Up,
    forecast_points,
    outcome_points,
)
from pages.memory.checkpointing_controls import SHOWN, across, draw_across, draw_up, up
from pages.memory.checkpointing_results import Known
from pages.shared.bound import bind, none_but
from pages.shared.theme import shown_theme

CHART = "policies.chart"
CONFIG = {"displaylogo": False, "toImageButtonOptions": {"format": "png", "filename": "policies", "scale": 2}}
PRESENTED = 1.2


def shown_up(known: Known) -> Up:
    """What is drawn up: until times are there, FLOPs that are run again."""
    asked = up()
    return "recomputed_flops" if asked == "time" and known.comparison is None else asked


def points(known: Known, x: Across, y: Up) -> tuple[tuple[Point, ...], tuple[Point, ...]]:
    """(measured, forecast)."""
    outcomes = known.outcomes.outcomes if known.outcomes is not None else ()
    measured = outcome_points(outcomes, x, y, known.comparison, known.blocks)
    forecasts = known.forecasts.forecasts if known.forecasts is not None else ()
    return measured, forecast_points(forecasts, x, y, measured, known.blocks)


def chosen_policy(policies: tuple[Policy, ...], blocks: int) -> Policy:
    """The one looked at: what was chosen, else the first after off."""
    label = st.session_state.get(SHOWN)
    return next((one for one in policies if titled(one, blocks) == label), policies[min(1, len(policies) - 1)])


def draw_chooser(policies: tuple[Policy, ...], blocks: int) -> Policy:
    """The list of policies beside the picture."""
    labels = [titled(one, blocks) for one in policies]
    if st.session_state.get(SHOWN) not in labels:
        st.session_state.pop(SHOWN, None)
    st.selectbox(
        "Look at",
        labels,
        index=min(1, len(labels) - 1),
        help="Or click a mark in the picture",
        **bind(SHOWN, why=none_but(labels)),
    )
    return chosen_policy(policies, blocks)


def draw_picture(known: Known, chosen: Policy, before: Known | None) -> None:
    """Axes above, then every policy as a mark."""
    with st.container(horizontal=True, vertical_alignment="bottom", key="policies.axes"):
        draw_across("across", "policies.across")
        draw_up()
    y = shown_up(known)
    measured, forecast = points(known, across(), y)
    earlier = points(before, across(), y)[0] if before is not None else ()
    height = round(HEIGHT * PRESENTED) if st.session_state.get("present") else HEIGHT
    figure = policies_chart(
        measured, forecast, across(), y, shown_theme(), chosen=chosen, before=earlier, height=height
    )
    st.plotly_chart(figure, key=CHART, on_select=_choose, selection_mode="points", config=CONFIG)


def _choose() -> None:
    found: list[dict[str, Any]] = st.session_state[CHART].selection.points
    data = found[0].get("customdata") if found else None
    if data:
        st.session_state[SHOWN] = data if isinstance(data, str) else data[0]
