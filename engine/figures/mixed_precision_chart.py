"""The track of a run under autocast as a chart: dtypes as lanes, casts between them, kept bytes below."""

from __future__ import annotations

from html import escape
from typing import Any

import plotly.graph_objects as go

from engine.figures.chart_style import grid_colour, styled
from engine.figures.mixed_precision_track import MOST_STEPS, Step, Track, module_bands, step_name, step_words
from engine.figures.palette import BACKGROUND, CATEGORICAL, LINE, MUTED, TEXT, Theme, meaning
from engine.figures.units import format_bytes, shorten

HEIGHT = 470
DTYPE_COLOURS = {"float32": 0, "bfloat16": 1, "float16": 1, "float64": 2, "complex64": 4, "complex128": 4}
THICKNESS = 0.5
MOST_TURNED = 48
"""Steps whose names still have room aslant."""
LETTERS = 130
"""Letters that fit across the chart."""
LEAST_LETTERS = 7
"""Fewer of a longer name say nothing."""
NOTHING: list[Any] = [None]
"""Plotly leaves a trace without any point out of the legend."""
KEPT = (
    ("output_bytes", "kept: result of the step", "saved", ""),
    ("activation_copy_bytes", "kept: copy of an activation", "copy", "/"),
    ("weight_copy_bytes", "kept: copy of a weight", "duplicate", "x"),
)
"""Field of a step, words, meaning of the colour and pattern of its bar."""


def dtype_colour(dtype: str, theme: Theme) -> str:
    """The colour of a dtype's lane; both 16-bit ones share theirs, as one run has one of them."""
    return CATEGORICAL[DTYPE_COLOURS.get(dtype, 7)][theme == "dark"]


def track_chart(
    track: Track, theme: Theme = "light", *, height: int = HEIGHT, selected: int | None = None
) -> go.Figure:
    """Bars in lanes, arrows for casts, marks for weights; `customdata` of a mark is the number of its step."""
    figure = go.Figure()
    levels = {dtype: len(track.lanes) - 1 - place for place, dtype in enumerate(track.lanes)}
    for dtype in track.lanes:
        _add_lane(figure, track, dtype, levels[dtype], theme)
    _add_casts(figure, track, levels, theme)
    _add_weights(figure, track, len(track.lanes) - 0.28, theme)
    for place in range(len(KEPT)):
        _add_kept(figure, track, place, theme)
    _add_bands(figure, track, theme)
    if selected is not None and 0 <= selected < len(track.steps):
        figure.add_vline(x=selected, line={"color": TEXT[theme], "width": 1, "dash": "dot"}, layer="below")
    _name_axes(figure, track, theme)
    # A click chooses a step, which the dotted line shows: what plotly itself would dim stays as it is.
    for kind in ("bar", "scatter"):
        figure.update_traces(selected_marker_opacity=1, unselected_marker_opacity=1, selector={"type": kind})
    return styled(
        figure,
        height,
        theme,
        barmode="overlay",
        bargap=0.12,
        margin={"l": 8, "r": 44, "t": 76, "b": 8},
        modebar={"orientation": "v"},
        hovermode="closest",
        # Of the container: turned names of steps make the plot lower, and bands must not come near.
        legend={"orientation": "h", "yref": "container", "y": 0.99, "yanchor": "top", "x": 0},
    )


def _hover(step: Step) -> str:
    return "<br>".join(escape(line) for line in step_words(step))


def _add_lane(figure: go.Figure, track: Track, dtype: str, level: int, theme: Theme) -> None:
    here = [
        (number, step, count) for number, step in enumerate(track.steps) for name, count in step.ran if name == dtype
    ]
    heights = [THICKNESS * (0.35 + 0.65 * count / step.calls) for _, step, count in here]
    figure.add_bar(
        x=[number for number, _, _ in here] or NOTHING,
        y=heights or NOTHING,
        base=[level - size / 2 for size in heights] or None,
        name=dtype,
        marker={"color": dtype_colour(dtype, theme), "line": {"width": 0}},
        customdata=[[number] for number, _, _ in here],
        text=[_hover(step) for _, step, _ in here],
        textposition="none",
        hovertemplate="%{text}<extra></extra>",
        offset=-0.44,
        width=0.88,
    )


def _add_casts(figure: go.Figure, track: Track, levels: dict[str, int], theme: Theme) -> None:
    """From the lane a step's input came in to the lane it went out in: by a cast, or inside its kernel."""
    cast: tuple[list[Any], list[Any]] = ([], [])
    inside: tuple[list[Any], list[Any]] = ([], [])
    heads: dict[str, list[Any]] = {"x": [], "y": [], "symbol": []}
    for number, step in enumerate(track.steps):
        moves = list(dict.fromkeys(step.casts))
        pairs = moves or ([(step.came_in, step.went_out)] if step.came_in != step.went_out else [])
        for source, target in pairs:
            if source not in levels or target not in levels or source == target:
                continue
            x, y = cast if moves else inside
            up = levels[target] > levels[source]
            edge = THICKNESS / 2
            ends = (levels[source] + (edge if up else -edge), levels[target] + (-edge if up else edge))
            x += [number - 0.3, number - 0.3, None]
            y += [*ends, None]
            heads["x"].append(number - 0.3)
            heads["y"].append(ends[1] + (-0.04 if up else 0.04))
            heads["symbol"].append("triangle-up" if up else "triangle-down")
    colour = meaning("copy").accent(theme)
    for (x, y), name, dash in ((cast, "cast", "solid"), (inside, "changes inside the kernel", "dot")):
        if x:
            line = {"color": colour if dash == "solid" else MUTED[theme], "width": 2, "dash": dash}
            figure.add_scatter(x=x, y=y, mode="lines", name=name, line=line, hoverinfo="skip")
    marker = {"symbol": heads["symbol"], "size": 8, "color": colour}
    figure.add_scatter(x=heads["x"], y=heads["y"], mode="markers", marker=marker, showlegend=False, hoverinfo="skip")


def _add_weights(figure: go.Figure, track: Track, level: float, theme: Theme) -> None:
    """Over each step: a weight that is cast here, or one whose copy the cache had."""
    colour = meaning("parameter").accent(theme)
    kinds = (
        ("weight_casts", "weights cast here", "triangle-down"),
        ("cache_reads", "read from the cache", "circle-open"),
    )
    for field, name, symbol in kinds:
        here = [(number, step) for number, step in enumerate(track.steps) if getattr(step, field)]
        if here:
            figure.add_scatter(
                x=[number for number, _ in here],
                y=[level] * len(here),
                mode="markers",
                name=name,
                marker={"symbol": symbol, "size": 9, "color": colour, "line": {"width": 2, "color": colour}},
                customdata=[[number] for number, _ in here],
                text=[_hover(step) for _, step in here],
                hovertemplate="%{text}<extra></extra>",
            )


def _add_kept(figure: go.Figure, track: Track, place: int, theme: Theme) -> None:
    field, words, key, pattern = KEPT[place]
    here = [(number, step) for number, step in enumerate(track.steps) if getattr(step, field)]
    if not here:
        return
    figure.add_bar(
        x=[number for number, _ in here],
        y=[getattr(step, field) for _, step in here],
        base=[sum(getattr(step, below) for below, *_ in KEPT[:place]) for _, step in here],
        name=words,
        yaxis="y2",
        marker={
            "color": meaning(key).accent(theme),
            "pattern": {"shape": pattern, "fillmode": "overlay", "fgcolor": BACKGROUND[theme], "size": 6},
            "line": {"width": 0},
        },
        customdata=[[number] for number, _ in here],
        text=[_hover(step) for _, step in here],
        textposition="none",
        hovertemplate="%{text}<extra></extra>",
        offset=-0.44,
        width=0.88,
    )


def _add_bands(figure: go.Figure, track: Track, theme: Theme) -> None:
    """Names of modules along the top, where they have room."""
    letters = LETTERS / max(1, len(track.steps))
    for number, (first, after, name) in enumerate(module_bands(track)):
        if number % 2:
            figure.add_vrect(
                x0=first - 0.5, x1=after - 0.5, fillcolor=LINE[theme], opacity=0.09, line_width=0, layer="below"
            )
        room = int((after - first) * letters)
        if room >= min(len(name), LEAST_LETTERS):
            figure.add_annotation(
                x=(first + after - 1) / 2,
                y=1,
                yref="paper",
                yanchor="bottom",
                text=escape(shorten(name, room)),
                showarrow=False,
                font={"size": 11, "color": MUTED[theme]},
            )


def _name_axes(figure: go.Figure, track: Track, theme: Theme) -> None:
    count = len(track.lanes)
    labels = [step_name(step) for step in track.steps] if len(track.steps) <= MOST_STEPS else []
    aslant = len(labels) <= MOST_TURNED
    figure.update_xaxes(
        range=[-0.6, max(len(track.steps), 8) - 0.4],
        tickvals=list(range(len(labels))),
        ticktext=[escape(shorten(label, 20 if aslant else 16)) for label in labels],
        tickangle=(-50 if len(labels) > 9 else 0) if aslant else -90,
        tickfont={"size": 12 if aslant else 9},
        showgrid=False,
        zeroline=False,
        anchor="y2",
    )
    figure.update_layout(
        yaxis={
            "domain": [0.36, 1],
            "range": [-0.5, count - 0.1],
            "tickvals": list(range(count)),
            "ticktext": list(reversed(track.lanes)),
            "gridcolor": grid_colour(theme),
            "zeroline": False,
            "tickfont": {"size": 13},
        },
        yaxis2={"domain": [0, 0.27], "gridcolor": grid_colour(theme), "zeroline": False, **_byte_ticks(track)},
    )


def _byte_ticks(track: Track) -> dict[str, Any]:
    top = max((step.saved_bytes for step in track.steps), default=0)
    values = [0, top / 2, top] if top else [0]
    return {
        "tickvals": values,
        "ticktext": [format_bytes(round(value)) for value in values],
        "range": [0, top * 1.05 or 1],
    }


def chosen_step(selection: Any, count: int) -> int | None:
    """The number of the step whose mark was clicked, None for none; `selection` is what the chart reports."""
    points = ((selection or {}).get("selection") or {}).get("points") or []
    for point in points:
        data = point.get("customdata")
        data = list(data.values()) if isinstance(data, dict) else data
        if isinstance(data, list) and data and isinstance(data[0], int) and 0 <= data[0] < count:
            return data[0]
    return None
