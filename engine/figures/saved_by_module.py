"""Saved bytes by module as a stacked bar chart: each storage once, at the node that saved it first in the forward."""

from __future__ import annotations

from collections import Counter

import plotly.graph_objects as go

from engine.figures.chart_style import styled
from engine.figures.fold import forward_order
from engine.figures.palette import LINE, Theme, meaning
from engine.figures.units import BYTE_UNITS, format_bytes, format_exact_bytes
from engine.graph.spec import Graph

BARS = 16
"""Bars that stay readable in a chart of 400 pixels; the rest is summed up as one."""
OWNERS = ("intermediate", "input", "buffer", "parameter")
PATTERNS = {"intermediate": "", "input": "x", "buffer": "-", "parameter": "."}
"""Never colour alone; stripes are left to what a checkpoint dropped."""
OUTSIDE = "(outside of modules)"


def bytes_by_module(graph: Graph, bars: int = BARS) -> dict[str, Counter[str]]:
    """Module -> bytes per owner kind, in forward order, at the greatest depth that needs at most `bars` rows."""
    own = bytes_by_path(graph)
    deepest = max((path.count(".") + 1 for path in own), default=1)
    for depth in range(deepest, 0, -1):
        merged = _cut(own, depth)
        if len(merged) <= bars:
            return merged
    return _sum_up(_cut(own, 1), bars)


def draw_saved_by_module(graph: Graph, theme: Theme = "light") -> go.Figure:
    """Horizontal stacked bars, one colour per owner kind; exact bytes on hover."""
    rows = bytes_by_module(graph)
    scale = _unit(max((sum(row.values()) for row in rows.values()), default=0))
    figure = go.Figure()
    for owner in OWNERS:
        sizes = [row[owner] for row in rows.values()]
        if any(sizes):
            figure.add_bar(
                name=meaning(owner).label,
                y=list(rows),
                x=[size / 1024**scale for size in sizes],
                orientation="h",
                marker={
                    "color": meaning(owner).accent(theme),
                    "pattern": {"shape": PATTERNS[owner]},
                },
                customdata=[f"{format_bytes(size)} ({format_exact_bytes(size)})" for size in sizes],
                hovertemplate="%{y}<br>%{customdata}<extra>%{fullData.name}</extra>",
            )
    return _styled(figure, len(rows), BYTE_UNITS[scale], theme)


def _styled(figure: go.Figure, rows: int, unit: str, theme: Theme) -> go.Figure:
    margin = {"l": 8, "r": 8, "t": 36, "b": 40}
    styled(figure, 110 + 24 * max(rows, 3), theme, barmode="stack", margin=margin)
    figure.update_yaxes(autorange="reversed", automargin=True, type="category")
    figure.update_xaxes(title=f"saved for backward, {unit}", gridcolor=LINE[theme], zeroline=False)
    return figure


def bytes_by_path(graph: Graph) -> dict[str, Counter[str]]:
    """Innermost module -> bytes per owner kind, in forward order."""
    keys = forward_order(graph)
    seen: set[int] = set()
    found: dict[str, Counter[str]] = {}
    for node in sorted(graph.nodes, key=lambda node: keys[node.id]):
        for slot in node.saved:
            if slot.storage_id is not None and slot.storage_id not in seen and slot.owner_kind:
                seen.add(slot.storage_id)
                found.setdefault(node.module or OUTSIDE, Counter())[slot.owner_kind] += slot.storage_bytes
    return found


def _cut(rows: dict[str, Counter[str]], depth: int) -> dict[str, Counter[str]]:
    merged: dict[str, Counter[str]] = {}
    for path, row in rows.items():
        merged.setdefault(".".join(path.split(".")[:depth]), Counter()).update(row)
    return merged


def _sum_up(rows: dict[str, Counter[str]], bars: int) -> dict[str, Counter[str]]:
    largest = set(sorted(rows, key=lambda path: -sum(rows[path].values()))[: bars - 1])
    kept = {path: row for path, row in rows.items() if path in largest}
    others = [row for path, row in rows.items() if path not in largest]
    return kept | {f"{len(others)} smaller modules": sum(others, Counter())}


def _unit(largest: int) -> int:
    scale = 0
    while largest >= 1024 and scale < len(BYTE_UNITS) - 1:
        largest, scale = largest // 1024, scale + 1
    return scale
