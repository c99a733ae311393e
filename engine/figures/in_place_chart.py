"""Bytes that each form of an update allocates in one step."""

from __future__ import annotations

import plotly.graph_objects as go

from engine.figures.chart_style import grid_colour, styled
from engine.figures.palette import TEXT, Theme, meaning
from engine.figures.units import format_bytes, format_count, format_significant
from engine.in_place.results import Update
from engine.in_place.spec import Updated


def allocation_bars(updated: Updated, theme: Theme) -> go.Figure:
    """A bar per form: bytes of new storages in one step, beside the bytes of all parameters as a line."""
    names = [update.name for update in updated.updates]
    sizes = [update.allocated_bytes for update in updated.updates]
    colours = [meaning("written" if one.keeps_data_ptr else "copy").accent(theme) for one in updated.updates]
    figure = go.Figure(
        go.Bar(
            x=sizes,
            y=names,
            orientation="h",
            marker={"color": colours},
            text=[_words(update) for update in updated.updates],
            textposition="outside",
            cliponaxis=False,
            hovertext=[update.code for update in updated.updates],
            hoverinfo="text",
        )
    )
    figure.add_vline(x=updated.parameter_bytes, line={"dash": "dot", "color": TEXT[theme], "width": 1})
    figure.add_annotation(
        x=updated.parameter_bytes, y=1.0, yref="paper", yanchor="bottom", showarrow=False,
        text=f"all parameters: {format_bytes(updated.parameter_bytes)}",
    )  # fmt: skip
    most = max([*sizes, updated.parameter_bytes])
    styled(figure, 300, theme, margin={"l": 8, "r": 24, "t": 36, "b": 40})
    figure.update_xaxes(
        range=[0, most * 1.45],
        title="bytes of new storages per step",
        gridcolor=grid_colour(theme),
        showticklabels=False,
    )
    return figure.update_yaxes(autorange="reversed", ticksuffix="  ")


def _words(update: Update) -> str:
    count = update.allocations
    text = format_count(int(count)) if count == int(count) else format_significant(count)
    kept = "data_ptr kept" if update.keeps_data_ptr else "data_ptr changed"
    return f" {format_bytes(update.allocated_bytes)} in {text} storages, {kept}"
