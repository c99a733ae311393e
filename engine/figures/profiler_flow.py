"""Who freed it: bytes as bands from the row that allocated them to the row that freed them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import plotly.graph_objects as go

from engine.figures.chart_style import styled
from engine.figures.palette import BACKGROUND, TEXT, Theme, meaning
from engine.figures.profiler_rows import labels_of, short
from engine.figures.svg import safe
from engine.figures.units import format_exact_bytes
from engine.profiler.spec import Flow, Profiled

MOST_BANDS = 18
HEIGHT = 440
BEFORE, ALIVE, OTHERS = "allocated before the profile", "still alive at the end", "other rows"

Band = tuple[str, str, int, int]
"""From, to, blocks, bytes."""


def bands(profiled: Profiled, selected: int | None = None) -> list[Band]:
    """The largest flows, all of those of `selected` first, and the rest as one band between other rows."""
    names = labels_of(profiled.rows)
    first = selected if selected is not None else -1
    flows = sorted(profiled.flows, key=lambda flow: (first not in (flow.allocated_by, flow.freed_by), -flow.bytes))
    found = [(*ends(names, flow), flow.blocks, flow.bytes) for flow in flows[:MOST_BANDS]]
    rest: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for flow in flows[MOST_BANDS:]:
        target = ALIVE if flow.freed_by is None else OTHERS
        rest[target][0] += flow.blocks
        rest[target][1] += flow.bytes
    return found + [(OTHERS, target, blocks, size) for target, (blocks, size) in rest.items()]


def ends(names: Sequence[str], flow: Flow) -> tuple[str, str]:
    """Names of the row that allocated and of the row that freed."""
    start = BEFORE if flow.allocated_by is None else names[flow.allocated_by]
    return start, ALIVE if flow.freed_by is None else names[flow.freed_by]


def flow_chart(profiled: Profiled, theme: Theme = "light", selected: int | None = None) -> go.Figure:
    """Allocators on the left, those who freed on the right; grey where nobody has yet."""
    drawn = bands(profiled, selected)
    left = list(dict.fromkeys(band[0] for band in drawn))
    right = list(dict.fromkeys(band[1] for band in drawn))
    allocated, freed = meaning("allocated").accent(theme), meaning("freed").accent(theme)
    quiet = meaning("temporary").accent(theme)
    chosen = labels_of(profiled.rows)[selected] if selected is not None else ""
    figure = go.Figure(
        go.Sankey(
            arrangement="snap",
            node={
                "label": [safe(short(name)) for name in (*left, *right)],
                "color": [allocated] * len(left) + [quiet if name == ALIVE else freed for name in right],
                "customdata": [safe(name) for name in (*left, *right)],
                "hovertemplate": "%{customdata}<extra></extra>",
                "pad": 16,
                "thickness": 14,
                "line": {"color": BACKGROUND[theme], "width": 0.5},
            },
            link={
                "source": [left.index(band[0]) for band in drawn],
                "target": [len(left) + right.index(band[1]) for band in drawn],
                "value": [band[3] for band in drawn],
                "color": [_faint(quiet if b[1] == ALIVE else freed, 0.55 if chosen in b[:2] else 0.22) for b in drawn],
                "customdata": [band_words(band) for band in drawn],
                "hovertemplate": "%{customdata}<extra></extra>",
            },
            textfont={"color": TEXT[theme], "size": 12},
        )
    )
    return styled(figure, HEIGHT, theme, margin={"l": 8, "r": 8, "t": 16, "b": 16})


def band_words(band: Band) -> str:
    """A band in a sentence."""
    start, target, blocks, size = band
    fate = target if target == ALIVE else f"freed by {target}"
    return safe(f"allocated by {start}, {fate}: {format_exact_bytes(size)} in {blocks} blocks")


def _faint(colour: str, opacity: float) -> str:
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},{opacity})"
