"""What every plotly chart of the product shares: transparent ground, the theme's text, a faint grid."""

from __future__ import annotations

from typing import Any

import plotly.graph_objects as go

from engine.figures.palette import LINE, TEXT, Theme


def styled(figure: go.Figure, height: int, theme: Theme, **layout: Any) -> go.Figure:
    """The figure in the product's look; `layout` overrides what `update_layout` takes."""
    figure.update_layout(
        height=height,
        margin={"l": 8, "r": 16, "t": 36, "b": 56},
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
        font={"color": TEXT[theme]},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        hoverlabel={"bordercolor": LINE[theme]},
    )
    return figure.update_layout(**layout)


def grid_colour(theme: Theme) -> str:
    """Of lines behind the data."""
    return "rgba(109,122,139,0.25)" if theme == "dark" else "rgba(141,153,168,0.3)"
