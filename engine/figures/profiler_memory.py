"""Memory by operation: what each row of the table allocated, to the right, and freed, to the left."""

from __future__ import annotations

import math

import plotly.graph_objects as go

from engine.figures.chart_style import grid_colour, styled
from engine.figures.chart_svg import svg_page, svg_text
from engine.figures.palette import MUTED, TEXT, Theme, meaning
from engine.figures.profiler_rows import Bar, memory_bars
from engine.figures.svg import safe
from engine.figures.units import format_bytes
from engine.profiler.spec import Profiled

ROW_PIXELS = 27
HEAD = 96
WIDTH, LEFT, RIGHT, TOP = 960, 300, 60, 84
BINARY = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
TICKS = 5
ROOM = 0.12
LINEAR_BELOW = 64


def memory_chart(
    profiled: Profiled, theme: Theme = "light", selected: int | None = None, *, log: bool = False
) -> go.Figure:
    """Bars of both kinds and a diamond at their difference, which is the row's Self Mem; `selected` is in bold.

    `log` places n bytes at log(1 + n / 64) on either side of 0, so that small rows show beside a large one.
    """
    bars = memory_bars(profiled, selected)
    figure = go.Figure()
    labels = list(range(len(bars)))
    words = [bar.words for bar in bars]
    for key, values in (("allocated", [bar.allocated for bar in bars]), ("freed", [-bar.freed for bar in bars])):
        figure.add_bar(
            y=labels,
            x=[placed(value, log) for value in values],
            orientation="h",
            name=meaning(key).label,
            marker={"color": meaning(key).accent(theme), "pattern": {"shape": "/" if key == "freed" else ""}},
            customdata=words,
            hovertemplate="%{customdata}<extra></extra>",
        )
    figure.add_scatter(
        y=labels,
        x=[placed(bar.net, log) for bar in bars],
        mode="markers+text",
        text=[f"  {format_bytes(bar.net)}" for bar in bars],
        textposition=["middle right" if bar.net >= 0 else "middle left" for bar in bars],
        cliponaxis=False,
        name="net: the column Self Mem",
        marker={"symbol": "diamond", "size": 11, "color": TEXT[theme], "line": {"color": "#888888", "width": 1}},
        customdata=words,
        hovertemplate="%{customdata}<extra></extra>",
    )
    _add_axes(figure, bars, theme, selected, log)
    return styled(figure, HEAD + ROW_PIXELS * max(len(bars), 3), theme, barmode="relative", bargap=0.28, dragmode=False)


def _add_axes(figure: go.Figure, bars: list[Bar], theme: Theme, selected: int | None, log: bool) -> None:
    ends = max((bar.allocated for bar in bars), default=0), max((bar.freed for bar in bars), default=0)
    ticks = log_ticks(*ends) if log else byte_ticks([ends[0]], [ends[1]])
    low, high = placed(-ends[1], log), placed(ends[0], log)
    figure.update_yaxes(
        tickvals=list(range(len(bars))),
        ticktext=[
            f"<b>{safe(bar.label)}</b>" if selected is not None and bar.places == (selected,) else safe(bar.label)
            for bar in bars
        ],
        range=[len(bars) - 0.4, -0.6],
        automargin=True,
        showgrid=False,
        zeroline=False,
    )
    figure.update_xaxes(
        tickvals=[placed(tick, log) for tick in ticks],
        range=[low - ROOM * (high - low), high + ROOM * (high - low)],
        ticktext=[format_bytes(tick) for tick in ticks],
        title="← freed by the operation itself · allocated by it →" + (" (log scale)" if log else ""),
        gridcolor=grid_colour(theme),
        zeroline=True,
        zerolinecolor=TEXT[theme],
    )


def placed(size: float, log: bool) -> float:
    """Where so many bytes stand on the axis."""
    return math.copysign(math.log10(1 + abs(size) / LINEAR_BELOW), size) if log else size


def log_ticks(right: int, left: int) -> list[int]:
    """1 KiB, 32 KiB, 1 MiB, 32 MiB ... on both sides of 0, as far as they reach."""
    steps = [1024**power * factor for power in range(1, 5) for factor in (1, 32)]
    return [-step for step in reversed(steps) if step <= left] + [0] + [step for step in steps if step <= right]


def byte_ticks(right: list[int], left: list[int]) -> list[int]:
    """Round places in binary units on both sides of 0."""
    most, least = max(right, default=0), max(left, default=0)
    raw = max(most + least, 1) / TICKS
    unit = 1
    while raw / unit >= BINARY[-1] * 2:
        unit *= 1024
    step = unit * next((one for one in BINARY if one * unit >= raw), 1024)
    return list(range(-step * (least // step), most + 1, step))


def memory_svg(profiled: Profiled, theme: Theme = "light") -> str:
    """The same picture as a file."""
    bars = memory_bars(profiled)
    most, least = max((b.allocated for b in bars), default=1), max((b.freed for b in bars), default=0)
    scale = (WIDTH - LEFT - RIGHT) / max(most + least, 1)
    zero = LEFT + least * scale
    height = TOP + ROW_PIXELS * len(bars) + 44
    body = [svg_text(20, 30, "Memory by operation", TEXT[theme], 17, weight=700), *_legend(theme)]
    for tick in byte_ticks([most], [least]):
        x = zero + tick * scale
        body.append(f'<path d="M{x:.1f} {TOP - 6}V{height - 40}" stroke="{MUTED[theme]}" stroke-opacity=".3"/>')
        body.append(svg_text(x, height - 20, format_bytes(tick), MUTED[theme], 11, anchor="middle"))
    for number, bar in enumerate(bars):
        body += _svg_row(bar, TOP + ROW_PIXELS * number, zero, scale, theme)
    return svg_page(WIDTH, height, "Memory by operation", body, theme)


def _svg_row(bar: Bar, y: float, zero: float, scale: float, theme: Theme) -> list[str]:
    middle, net = y + ROW_PIXELS / 2, zero + bar.net * scale
    freed, allocated = meaning("freed").accent(theme), meaning("allocated").accent(theme)
    return [
        f"<g><title>{safe(bar.words)}</title>",
        svg_text(LEFT - 10, middle + 4, bar.label, TEXT[theme], 12, anchor="end"),
        f'<rect x="{zero - bar.freed * scale:.1f}" y="{y + 4:.1f}" width="{bar.freed * scale:.1f}" '
        f'height="{ROW_PIXELS - 8}" fill="{freed}"/>',
        f'<rect x="{zero:.1f}" y="{y + 4:.1f}" width="{bar.allocated * scale:.1f}" '
        f'height="{ROW_PIXELS - 8}" fill="{allocated}"/>',
        f'<path d="M{net:.1f} {middle - 6:.1f}l6 6l-6 6l-6 -6Z" fill="{TEXT[theme]}" stroke="#888888"/></g>',
    ]


def _legend(theme: Theme) -> list[str]:
    parts = []
    for number, key in enumerate(("allocated", "freed")):
        x = 20 + 110 * number
        parts.append(f'<rect x="{x}" y="46" width="12" height="12" fill="{meaning(key).accent(theme)}"/>')
        parts.append(svg_text(x + 18, 57, meaning(key).label, TEXT[theme], 12))
    parts.append(f'<path d="M246 46l6 6l-6 6l-6 -6Z" fill="{TEXT[theme]}"/>')
    return [*parts, svg_text(258, 57, "net: the column Self Mem", TEXT[theme], 12)]
