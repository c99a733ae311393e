"""Parameters that nothing uses, and units that are never on."""

from __future__ import annotations

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from engine.diagnostics.results import Diagnosis, Units
from engine.figures.diagnostics_words import source_words
from engine.figures.heat_map import heat_map
from pages.shared.theme import shown_theme

MOST_ROWS, MOST_UNITS = 40, 256


def draw_units(diagnosis: Diagnosis) -> None:
    """Names of unused parameters, then activations with their dead and saturated units."""
    _draw_unused(diagnosis)
    if not diagnosis.units:
        st.info("No activation function with a batch dimension ran in this forward.", icon=":material/info:")
        return
    st.dataframe(pd.DataFrame(list(map(_row, diagnosis.units))), hide_index=True, width="stretch")
    st.plotly_chart(_map(diagnosis.units), key="diagnose.units", config={"displayModeBar": False})


def _draw_unused(diagnosis: Diagnosis) -> None:
    if not diagnosis.unused:
        st.markdown("Every parameter that requires a gradient is reached from the loss.")
        return
    st.warning(
        f"{len(diagnosis.unused)} parameters require a gradient and are not reached from the loss. "
        "DistributedDataParallel waits for each of them: its second forward raises unless it is built with "
        "`find_unused_parameters=True`. An optimizer skips them while `.grad` is None.",
        icon=":material/link_off:",
    )
    st.code("\n".join(diagnosis.unused), language=None)


def _row(row: Units) -> dict[str, object]:
    return {
        "module": row.module or "the program",
        "activation": row.operation,
        "units": row.units,
        "samples": row.samples,
        "dead": row.dead,
        "dead share": f"{row.dead / row.units:.0%}",
        "saturated": row.saturated,
        "no gradient": row.without_gradient,
        "line": source_words(row.source),
    }


def _map(units: tuple[Units, ...]) -> go.Figure:
    shown = units[:MOST_ROWS]
    width = min(MOST_UNITS, max(row.units for row in shown))
    values = np.full((len(shown), width), np.nan)
    for number, row in enumerate(shown):
        shares = np.frombuffer(row.active_share.data, dtype=np.float64)[:width]
        values[number, : len(shares)] = shares
    names = [f"{row.module or 'program'}: {row.operation}" for row in shown]
    title = "Share of samples for which a unit is not 0"
    return heat_map(values, shown_theme(), title=title, diverging=False, rows=names)
