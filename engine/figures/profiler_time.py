"""Where the time goes: the operations of a profile over time, each below the one that called it, and self time."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import plotly.graph_objects as go

from engine.figures.chart_style import grid_colour, styled
from engine.figures.chart_svg import svg_page, svg_text
from engine.figures.palette import MUTED, TEXT, Theme, meaning
from engine.figures.profiler_rows import is_around, labels_of, short
from engine.figures.svg import safe
from engine.figures.units import format_time
from engine.profiler.columns import Phase
from engine.profiler.spec import Operation, Profiled

MOST_BOXES = 500
MOST_TEXTS = 24
"""Boxes with a name in them, the longest: the browser measures each text anew at every zoom."""
DEEPEST = 24
STRETCHES = 300
"""Parts of the whole time: shorter gaps between operations left out do not show."""
MOST_LINKS = 12
SELF_BARS = 12
ROW_PIXELS = 26
COLOURS: dict[Phase, str] = {
    "forward": "operation",
    "recompute": "recomputed",
    "backward": "gradient",
    "optimizer step": "optimizer_state",
}
WIDTH = 1180
NANOSECOND = 1e-9


def boxes(profiled: Profiled) -> list[int]:
    """The operations drawn: the longest, at most MOST_BOXES and DEEPEST deep; who calls one of them is among them.

    Python calls around what is profiled are not.
    """
    operations = profiled.operations
    inside = np.array([not is_around(row) for row in profiled.rows], dtype=bool)[operations.rows]
    shallow = np.flatnonzero(inside & (operations.depths < DEEPEST))
    longest = shallow[np.argsort(-operations.durations_ns[shallow], kind="stable")][:MOST_BOXES]
    return sorted(longest.tolist())


def stretches(profiled: Profiled, shown: list[int]) -> list[tuple[int, int, Phase, int]]:
    """(start, end, phase, how many) where outermost operations ran that are too short to be drawn, in nanoseconds.

    Without these, time that many short operations took would look like time in which nothing ran.
    """
    operations = profiled.operations
    inside = np.array([not is_around(row) for row in profiled.rows], dtype=bool)[operations.rows]
    if not shown:
        return []
    inside &= operations.depths == operations.depths[shown].min()
    inside[shown] = False
    starts, ends = operations.starts_ns, operations.starts_ns + operations.durations_ns
    whole, found = int(ends[shown].max() - starts[shown].min()), list[tuple[int, int, Phase, int]]()
    for place in np.flatnonzero(inside).tolist():
        start, end, phase = int(starts[place]), int(ends[place]), operations.phases[place]
        if found and found[-1][2] == phase and start - found[-1][1] <= whole // STRETCHES:
            found[-1] = found[-1][0], max(end, found[-1][1]), phase, found[-1][3] + 1
        else:
            found.append((start, end, phase, 1))
    return found


def left_out_words(profiled: Profiled) -> str:
    """What the picture leaves out, "" where it shows everything."""
    shown, there = len(boxes(profiled)), len(profiled.operations)
    if shown == there:
        return ""
    return (
        f"The {shown} longest of {there} operations are drawn, faint where only shorter ones ran; the Chrome trace of "
        "the exports holds all of them."
    )


def time_chart(profiled: Profiled, theme: Theme = "light", selected: int | None = None) -> go.Figure:
    """Time to the right, calls downwards; lines join the forward operations of `selected` and their backward."""
    operations, shown = profiled.operations, boxes(profiled)
    names, figure = labels_of(profiled.rows), go.Figure()
    begin = int(operations.starts_ns[shown].min()) if shown else 0
    _add_stretches(figure, profiled, shown, theme)
    named = set(sorted(shown, key=lambda place: -int(operations.durations_ns[place]))[:MOST_TEXTS])
    for phase, key in COLOURS.items():
        chosen = [place for place in shown if operations.phases[place] == phase]
        if not chosen:
            continue
        figure.add_bar(
            y=operations.depths[chosen],
            base=(operations.starts_ns[chosen] - begin) * NANOSECOND,
            x=np.maximum(operations.durations_ns[chosen], 1) * NANOSECOND,
            orientation="h",
            name=phase,
            width=0.92,
            marker={
                "color": meaning(key).accent(theme),
                "line": _outlines([operations.rows[place] == selected for place in chosen], theme),
            },
            text=[safe(names[operations.rows[p]].rpartition("::")[2]) if p in named else "" for p in chosen],
            textposition="inside",
            insidetextanchor="start",
            constraintext="inside",
            textangle=0,
            customdata=[_words(profiled, names, place) for place in chosen],
            hovertemplate="%{customdata}<extra></extra>",
        )
    _add_links(figure, profiled, shown, selected, theme)
    depth = int(operations.depths[shown].max()) + 1 if shown else 1
    top = int(operations.depths[shown].min()) if shown else 0
    figure.update_yaxes(range=[depth - 0.4, top - 0.6], visible=False, fixedrange=True)
    figure.update_xaxes(
        tickformat="~s", ticksuffix="s", title="seconds since the first operation began", gridcolor=grid_colour(theme)
    )
    look = {"uniformtext": {"mode": "hide", "minsize": 10}, "barmode": "overlay", "dragmode": "zoom"}
    return styled(figure, 96 + ROW_PIXELS * max(depth - top, 4), theme, **look)


def _add_stretches(figure: go.Figure, profiled: Profiled, shown: list[int], theme: Theme) -> None:
    found = stretches(profiled, shown)
    if not found:
        return
    operations = profiled.operations
    begin, top = int(operations.starts_ns[shown].min()), int(operations.depths[shown].min())
    figure.add_bar(
        y=[top] * len(found),
        base=[(start - begin) * NANOSECOND for start, *_ in found],
        x=[max(end - start, 1) * NANOSECOND for start, end, *_ in found],
        orientation="h",
        width=0.92,
        opacity=0.3,
        showlegend=False,
        marker={"color": [_accent(phase, theme) for _, _, phase, _ in found], "line": {"width": 0}},
        customdata=[_stretch_words(one) for one in found],
        hovertemplate="%{customdata}<extra></extra>",
    )


def _stretch_words(stretch: tuple[int, int, Phase, int]) -> str:
    start, end, phase, many = stretch
    return f"{many} shorter operations and what they called: {phase}, {format_time((end - start) * NANOSECOND)}"


def _outlines(are_selected: list[bool], theme: Theme) -> dict[str, list[Any]]:
    return {
        "color": [TEXT[theme] if one else "rgba(127,127,127,.5)" for one in are_selected],
        "width": [2 if one else 0.5 for one in are_selected],
    }


def _words(profiled: Profiled, names: list[str], place: int) -> str:
    operations = profiled.operations
    parts = [
        f"<b>{safe(names[operations.rows[place]][:110])}</b>",
        f"{operations.phases[place]}, {format_time(operations.durations_ns[place] * NANOSECOND)}",
    ]
    if (number := int(operations.sequence_nrs[place])) >= 0:
        parts.append(f"sequence number {number}")
    if (made := int(operations.forwards[place])) >= 0:
        parts.append(f"backward of {safe(names[operations.rows[made]])} ({operations.phases[made]})")
    return "<br>".join(parts)


def links(profiled: Profiled, selected: int | None) -> list[tuple[int, int]]:
    """(forward operation, engine evaluation) with `selected` at one end, else around one; some of many, evenly."""
    operations = profiled.operations
    if selected is None:
        return []
    pairs = [(int(operations.forwards[place]), place) for place in np.flatnonzero(operations.forwards >= 0).tolist()]
    found = [pair for pair in pairs if selected in operations.rows[list(pair)]]
    found = found or [pair for pair in pairs if selected in _rows_around(profiled, pair[0])]
    return found[:: -(-len(found) // MOST_LINKS) or 1]


def _rows_around(profiled: Profiled, place: int) -> set[int]:
    operations, found = profiled.operations, set[int]()
    phase = operations.phases[place]
    while place >= 0 and operations.phases[place] == phase:
        found.add(int(operations.rows[place]))
        place = int(operations.parents[place])
    return found


def _add_links(figure: go.Figure, profiled: Profiled, shown: list[int], selected: int | None, theme: Theme) -> None:
    operations, drawn = profiled.operations, set(shown)
    pairs = [pair for pair in links(profiled, selected) if drawn.issuperset(pair)]
    if not pairs:
        return
    middle = (operations.starts_ns - operations.starts_ns[shown].min() + operations.durations_ns / 2) * NANOSECOND
    figure.add_scatter(
        x=[value for made, place in pairs for value in (middle[made], middle[place], None)],
        y=[value for made, place in pairs for value in (operations.depths[made], operations.depths[place], None)],
        mode="lines+markers",
        line={"color": TEXT[theme], "width": 1, "dash": "dot"},
        marker={"size": 4, "symbol": "circle"},
        opacity=0.7,
        name="forward → its backward",
        hoverinfo="skip",
    )


def self_rows(profiled: Profiled) -> list[tuple[int, Operation]]:
    """The rows with most self time."""
    rows = sorted(enumerate(profiled.rows), key=lambda one: -one[1].self_cpu_time_s)
    return [one for one in rows[:SELF_BARS] if one[1].self_cpu_time_s > 0]


def self_chart(profiled: Profiled, theme: Theme = "light") -> go.Figure:
    """Self CPU time by row, longest first, with its share of the whole."""
    rows, names = self_rows(profiled), labels_of(profiled.rows)
    total = sum(row.self_cpu_time_s for row in profiled.rows) or 1.0
    words = [f"{format_time(row.self_cpu_time_s)}, {row.self_cpu_time_s / total:.1%}" for _, row in rows]
    figure = go.Figure(
        go.Bar(
            y=list(range(len(rows))),
            x=[row.self_cpu_time_s for _, row in rows],
            orientation="h",
            text=words,
            textposition="auto",
            marker={"color": meaning("operation").accent(theme)},
            customdata=[
                f"{safe(names[place])}: {text} in {row.calls} calls"
                for (place, row), text in zip(rows, words, strict=True)
            ],
            hovertemplate="%{customdata}<extra></extra>",
            showlegend=False,
        )
    )
    figure.update_yaxes(
        tickvals=list(range(len(rows))),
        ticktext=[safe(short(names[place])) for place, _ in rows],
        range=[len(rows) - 0.4, -0.6],
        automargin=True,
        showgrid=False,
    )
    figure.update_xaxes(tickformat="~s", ticksuffix="s", title="Self CPU time", gridcolor=grid_colour(theme))
    return styled(figure, 80 + 25 * max(len(rows), 3), theme, dragmode=False)


def time_svg(profiled: Profiled, theme: Theme = "light") -> str:
    """The operations over time as a file."""
    operations, shown = profiled.operations, boxes(profiled)
    names = labels_of(profiled.rows)
    begin = int(operations.starts_ns[shown].min()) if shown else 0
    end = int((operations.starts_ns + operations.durations_ns)[shown].max()) if shown else 1
    scale = (WIDTH - 40) / max(end - begin, 1)
    depth = int(operations.depths[shown].max()) + 1 if shown else 1
    body = [svg_text(20, 30, "Operations over time", TEXT[theme], 17, weight=700), *_legend(theme)]
    for one in stretches(profiled, shown):
        x, width = 20 + (one[0] - begin) * scale, max((one[1] - one[0]) * scale, 0.4)
        y = 70 + ROW_PIXELS * int(operations.depths[shown].min())
        body.append(
            f'<rect x="{x:.2f}" y="{y}" width="{width:.2f}" height="{ROW_PIXELS - 2}" '
            f'fill="{_accent(one[2], theme)}" fill-opacity=".3"><title>{_stretch_words(one)}</title></rect>'
        )
    for place in shown:
        x, width = 20 + (int(operations.starts_ns[place]) - begin) * scale, int(operations.durations_ns[place]) * scale
        y, name = 70 + ROW_PIXELS * int(operations.depths[place]), names[operations.rows[place]]
        fill = _accent(operations.phases[place], theme)
        body.append(
            f'<rect x="{x:.2f}" y="{y}" width="{max(width, 0.4):.2f}" height="{ROW_PIXELS - 2}" fill="{fill}">'
            f"<title>{safe(name)}, {format_time(operations.durations_ns[place] * NANOSECOND)}</title></rect>"
        )
    height = 70 + ROW_PIXELS * depth + 40
    words = f"{format_time((end - begin) * NANOSECOND)} in all, profiler included. {left_out_words(profiled)}"
    body.append(svg_text(20, height - 16, words, MUTED[theme], 12))
    return svg_page(WIDTH, height, "Operations over time", body, theme)


@cache
def _accent(phase: Phase, theme: Theme) -> str:
    return meaning(COLOURS[phase]).accent(theme)


def _legend(theme: Theme) -> list[str]:
    parts = []
    for number, phase in enumerate(COLOURS):
        x = 20 + 130 * number
        parts.append(f'<rect x="{x}" y="44" width="12" height="12" fill="{_accent(phase, theme)}"/>')
        parts.append(svg_text(x + 18, 55, phase, TEXT[theme], 12))
    return parts
