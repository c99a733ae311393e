"""Saved bytes by module as a stacked bar chart: each storage once, at the node that saved it first in the forward."""

from __future__ import annotations

from collections import Counter
from html import escape

import plotly.graph_objects as go

from engine.figures.chart_style import styled
from engine.figures.fold import forward_order
from engine.figures.palette import LINE, Theme, meaning
from engine.figures.units import BYTE_UNITS, MINUS, format_bytes, format_exact_bytes, shorten
from engine.graph.spec import Graph

BARS = 16
"""Bars that stay readable in a chart of 400 pixels; the rest is summed up as one."""
OWNERS = ("intermediate", "input", "buffer", "parameter")
PATTERNS = {"intermediate": "", "input": "x", "buffer": "-", "parameter": "."}
"""Never colour alone; stripes are left to what a checkpoint dropped."""
LIGHTER = 0.4
"""Opacity of run A's bars."""
OUTSIDE = "(outside of modules)"


Rows = dict[str, Counter[str]]
"""Module -> bytes per owner kind, in forward order."""


def bytes_by_module(graph: Graph, bars: int = BARS) -> Rows:
    """Bytes at the greatest depth of modules that needs at most `bars` rows."""
    return at_one_depth(bytes_by_path(graph), bars=bars)[0]


def at_one_depth(*found: Rows, bars: int = BARS) -> tuple[Rows, ...]:
    """The same rows for each, at the greatest depth that needs at most `bars` of them; the smallest summed up else."""
    deepest = max((path.count(".") + 1 for own in found for path in own), default=1)
    for depth in range(deepest, 0, -1):
        merged = [_cut(own, depth) for own in found]
        paths = dict.fromkeys(path for rows in merged for path in rows)
        if len(paths) <= bars:
            return tuple({path: rows.get(path, Counter()) for path in paths} for rows in merged)
    return _sum_up([{path: rows.get(path, Counter()) for path in paths} for rows in merged], bars)


def draw_saved_by_module(graph: Graph, theme: Theme = "light", before: Graph | None = None) -> go.Figure:
    """Horizontal stacked bars, one colour per owner kind; with `before` also run A, lighter; exact bytes on hover."""
    runs = [bytes_by_path(one) for one in ((before, graph) if before is not None else (graph,))]
    rows = at_one_depth(*runs, bars=BARS if before is None else BARS // 2 + 2)
    scale = _unit(max((sum(row.values()) for run in rows for row in run.values()), default=0))
    figure = go.Figure()
    for number, run in enumerate(rows):
        old = rows[0] if number else None
        is_a = before is not None and not number
        place = number - (len(rows) - 1) / 2
        for owner in _owners(run):
            last = not any(owner in _owners(later) for later in rows[number + 1 :])
            _add_bars(figure, run, owner, scale, theme, old=old, place=place, is_a=is_a, in_legend=last)
    if before is not None:
        figure.add_bar(name="A, lighter", x=[None], y=[None], marker={"color": LINE[theme], "opacity": LIGHTER})
    return _styled(figure, list(rows[0]), len(rows), BYTE_UNITS[scale], theme)


def _owners(run: Rows) -> list[str]:
    return [owner for owner in OWNERS if any(row[owner] for row in run.values())]


def _add_bars(
    figure: go.Figure,
    run: Rows,
    owner: str,
    scale: int,
    theme: Theme,
    *,
    old: Rows | None,
    place: float,
    is_a: bool,
    in_legend: bool,
) -> None:
    sizes = [row[owner] for row in run.values()]
    figure.add_bar(
        name=meaning(owner).label,
        legendgroup=owner,
        showlegend=in_legend,
        y=[at + place * 0.42 for at in range(len(run))],
        width=0.38 if is_a or old is not None else 0.8,
        x=[size / 1024**scale for size in sizes],
        orientation="h",
        marker={
            "color": meaning(owner).accent(theme),
            "opacity": LIGHTER if is_a else 1.0,
            "pattern": {"shape": PATTERNS[owner]},
        },
        customdata=[
            [shorten(path, 80), _told(size, old[path][owner] if old is not None else None, is_a)]
            for path, size in zip(run, sizes, strict=True)
        ],
        hovertemplate="%{customdata[0]}<br>%{customdata[1]}<extra>" + meaning(owner).label + "</extra>",
    )


def _told(size: int, before: int | None, is_a: bool) -> str:
    told = f"{'A: ' if is_a else ''}{format_bytes(size)} ({format_exact_bytes(size)})"
    if before is None:
        return told
    change = size - before
    sign = "+" if change > 0 else MINUS
    return f"{told}<br>{f'{sign}{format_bytes(abs(change))} to A' if change else '= A'}"


def _styled(figure: go.Figure, paths: list[str], runs: int, unit: str, theme: Theme) -> go.Figure:
    margin = {"l": 8, "r": 8, "t": 36, "b": 40}
    height = 110 + (24 if runs == 1 else 36) * max(len(paths), 3)
    styled(figure, height, theme, barmode="stack", margin=margin)
    words = [escape(shorten(path, 40)) for path in paths]
    figure.update_yaxes(
        tickvals=list(range(len(paths))), ticktext=words, range=[len(paths) - 0.5, -0.5], automargin=True
    )
    figure.update_xaxes(title=f"saved for backward, {unit}", gridcolor=LINE[theme], zeroline=False)
    return figure


def bytes_by_path(graph: Graph) -> Rows:
    """Innermost module -> bytes per owner kind; each storage where it was saved first in the forward."""
    keys = forward_order(graph)
    seen: set[int] = set()
    found: Rows = {}
    for node in sorted((graph.nodes[i] for i in graph.saved_counts.nonzero()[0].tolist()), key=lambda n: keys[n.id]):
        for slot in node.saved:
            if slot.storage_id is not None and slot.storage_id not in seen and slot.owner_kind:
                seen.add(slot.storage_id)
                found.setdefault(node.module or OUTSIDE, Counter())[slot.owner_kind] += slot.storage_bytes
    return found


def _cut(rows: Rows, depth: int) -> Rows:
    merged: Rows = {}
    for path, row in rows.items():
        merged.setdefault(".".join(path.split(".")[:depth]), Counter()).update(row)
    return merged


def _sum_up(runs: list[Rows], bars: int) -> tuple[Rows, ...]:
    sizes = {path: max(sum(rows[path].values()) for rows in runs) for path in runs[0]}
    largest = set(sorted(sizes, key=lambda path: -sizes[path])[: bars - 1])
    rest = f"{len(sizes) - len(largest)} smaller modules"
    return tuple(
        {path: row for path, row in rows.items() if path in largest}
        | {rest: sum((row for path, row in rows.items() if path not in largest), Counter())}
        for rows in runs
    )


def _unit(largest: int) -> int:
    scale = 0
    while largest >= 1024 and scale < len(BYTE_UNITS) - 1:
        largest, scale = largest // 1024, scale + 1
    return scale
