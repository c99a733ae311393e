"""What a search under a budget looked at: bytes against FLOPs run again, the budget a line, the chosen one ringed."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import plotly.graph_objects as go

from engine.checkpointing.policy import label_of
from engine.checkpointing.spec import Candidate, Searched
from engine.figures.chart_style import grid_colour, styled
from engine.figures.chart_svg import svg_page, svg_text
from engine.figures.checkpointing_axes import Axis, bytes_axis, cost_axis, format_flops
from engine.figures.checkpointing_places import LETTER, Place, place_labels
from engine.figures.checkpointing_places import LINE as LINE_HEIGHT
from engine.figures.checkpointing_points import UP_WORDS, Point, short_label
from engine.figures.palette import LINE, MARKS, MUTED, TEXT, Theme, meaning
from engine.figures.units import format_bytes, format_exact_bytes, shorten

HEIGHT = 440
INSIDE = (860.0, 360.0)
WIDTH_SVG, HEIGHT_SVG = 880, 500
LEFT, RIGHT, TOP, BOTTOM = 96, 24, 60, 56
ROOT = "√n"


def points_of(candidates: Sequence[Candidate]) -> tuple[Point, ...]:
    """Each where its forecast puts it."""
    return tuple(
        Point(policy=one.policy, x_bytes=one.budgeted_bytes, y=float(one.recomputed_flops), estimated=True)
        for one in candidates
    )


def state_of(candidate: Candidate) -> str:
    """The palette's word for a candidate: what was chosen, what fits, what does not."""
    if candidate.chosen:
        return "claim_holds"
    return "checkpoint" if candidate.fits else "refused"


def named(candidates: Sequence[Candidate]) -> list[int]:
    """Candidates whose label is drawn: the chosen one, sqrt(n) segments, and the ends."""
    if not candidates:
        return []
    least = min(range(len(candidates)), key=lambda number: candidates[number].budgeted_bytes)
    wanted = [n for n, one in enumerate(candidates) if one.chosen or ROOT in one.found_by or one.policy.kind == "off"]
    return list(dict.fromkeys((*wanted, least)))


def candidates_chart(found: Searched, theme: Theme = "light", height: int = HEIGHT) -> go.Figure:
    """Every candidate as a mark; right of the dashed line nothing fits."""
    figure = go.Figure()
    points = points_of(found.candidates)
    x, y = _axes(found, points)
    for key, symbol in (("refused", "x-thin-open"), ("checkpoint", "square"), ("claim_holds", "star")):
        which = [number for number, one in enumerate(found.candidates) if state_of(one) == key]
        if which:
            _add(figure, found, points, which, key, symbol, theme)
    figure.add_vline(x=found.budget_bytes, line={"color": TEXT[theme], "dash": "dash", "width": 1.4})
    figure.add_annotation(
        x=found.budget_bytes,
        y=1,
        yref="paper",
        text=_budget_words(found),
        showarrow=False,
        xanchor="left",
        xshift=5,
        font={"color": TEXT[theme]},
    )
    _add_labels(figure, found, points, x, y, theme)
    grid = {"gridcolor": grid_colour(theme), "zeroline": False}
    figure.update_xaxes(range=[x.low, x.high], tickvals=x.ticks, ticktext=x.words, title="bytes, estimated", **grid)
    title = UP_WORDS["recomputed_flops"] + ", estimated"
    figure.update_yaxes(range=[y.low, y.high], tickvals=y.ticks, ticktext=y.words, title=title, **grid)
    return styled(figure, height, theme, margin={"l": 8, "r": 16, "t": 36, "b": 48})


def _budget_words(found: Searched) -> str:
    return f"budget {format_bytes(found.budget_bytes)}"


def _axes(found: Searched, points: Sequence[Point]) -> tuple[Axis, Axis]:
    budget = Point(policy=points[0].policy, x_bytes=found.budget_bytes, y=0.0) if points else None
    return bytes_axis([*points, *([budget] if budget else [])]), cost_axis(points, "recomputed_flops")


def _add(
    figure: go.Figure,
    found: Searched,
    points: Sequence[Point],
    which: Sequence[int],
    key: str,
    symbol: str,
    theme: Theme,
) -> None:
    words = {"refused": "over the budget", "checkpoint": "fits", "claim_holds": "chosen: fits and recomputes least"}
    colour = meaning(key).accent(theme)
    figure.add_scatter(
        x=[points[number].x_bytes for number in which],
        y=[points[number].y for number in which],
        mode="markers",
        name=words[key],
        marker={"symbol": symbol, "color": colour, "size": 17 if key == "claim_holds" else 10, "line": {"width": 1.6}},
        customdata=[_hover(found.candidates[number]) for number in which],
        hovertemplate="%{customdata}<extra></extra>",
    )


def _hover(one: Candidate) -> str:
    lines = [f"<b>{escape(shorten(label_of(one.policy), 80))}</b>", f"found by {escape(one.found_by)}"]
    lines.append(f"{format_exact_bytes(one.budgeted_bytes)}, {format_flops(one.recomputed_flops)} again (estimated)")
    lines += [] if one.measured_bytes is None else [f"{format_exact_bytes(one.measured_bytes)} counted in a run"]
    return "<br>".join(lines)


def _label(one: Candidate) -> str:
    root = "√n = " if ROOT in one.found_by else ""
    return root + short_label(one.policy)


def _add_labels(figure: go.Figure, found: Searched, points: Sequence[Point], x: Axis, y: Axis, theme: Theme) -> None:
    for number, place in _places(found, points, x, y, *INSIDE):
        figure.add_annotation(
            x=points[number].x_bytes,
            y=points[number].y,
            text=escape(_label(found.candidates[number])),
            showarrow=False,
            xanchor=place.anchor,
            xshift=place.right,
            yshift=-place.down,
            font={"size": 12, "color": TEXT[theme]},
        )


def _places(
    found: Searched, points: Sequence[Point], x: Axis, y: Axis, width: float, height: float
) -> list[tuple[int, Place]]:
    which = named(found.candidates)
    marks = [(x.share(points[n].x_bytes) * width, (1 - y.share(points[n].y)) * height) for n in which]
    at = x.share(found.budget_bytes) * width
    budget = [(at - 2, 0.0, at + 2, height), (at, 0.0, at + 5 + LETTER * len(_budget_words(found)), LINE_HEIGHT)]
    places = place_labels(marks, [_label(found.candidates[n]) for n in which], width, height, budget)
    return list(zip(which, places, strict=True))


def candidates_svg(found: Searched, title: str, theme: Theme = "light") -> str:
    """The same as one self-contained SVG."""
    points = points_of(found.candidates)
    x, y = _axes(found, points)
    width, height = WIDTH_SVG - LEFT - RIGHT, HEIGHT_SVG - TOP - BOTTOM
    body = [svg_text(LEFT, 28, title, TEXT[theme], 16, weight=700)]
    for tick, words in zip(x.ticks, x.words, strict=True):
        at = LEFT + x.share(tick) * width
        body.append(f'<path d="M{at:.1f} {TOP}V{TOP + height}" stroke="{LINE[theme]}" stroke-opacity=".35"/>')
        body.append(svg_text(at, TOP + height + 18, words, MUTED[theme], 11, anchor="middle"))
    for tick, words in zip(y.ticks, y.words, strict=True):
        at = TOP + (1 - y.share(tick)) * height
        body.append(f'<path d="M{LEFT} {at:.1f}H{LEFT + width}" stroke="{LINE[theme]}" stroke-opacity=".35"/>')
        body.append(svg_text(LEFT - 8, at + 4, words, MUTED[theme], 11, anchor="end"))
    at = LEFT + x.share(found.budget_bytes) * width
    body.append(f'<path d="M{at:.1f} {TOP}V{TOP + height}" stroke="{TEXT[theme]}" stroke-dasharray="6 4"/>')
    body.append(svg_text(at + 5, TOP + 12, _budget_words(found), TEXT[theme], 12))
    for one, point in zip(found.candidates, points, strict=True):
        what = meaning(state_of(one))
        place = LEFT + x.share(point.x_bytes) * width - 6, TOP + (1 - y.share(point.y)) * height - 6
        body.append(
            f'<path d="{MARKS[what.mark]}" fill="{what.accent(theme)}" fill-rule="evenodd" '
            f'transform="translate({place[0]:.1f} {place[1]:.1f}) scale(1.2)"/>'
        )
    for number, (right, down, side) in _places(found, points, x, y, width, height):
        spot = LEFT + x.share(points[number].x_bytes) * width + right
        anchor = "start" if side == "left" else "end"
        level = TOP + (1 - y.share(points[number].y)) * height + down + 4
        body.append(svg_text(spot, level, _label(found.candidates[number]), TEXT[theme], 12, anchor=anchor))
    said = f"bytes and {UP_WORDS['recomputed_flops']}, both estimated"
    body.append(svg_text(LEFT + width / 2, HEIGHT_SVG - 12, said, MUTED[theme], 12, anchor="middle"))
    return svg_page(WIDTH_SVG, HEIGHT_SVG, title, body, theme)


def search_rows(found: Searched) -> list[tuple[object, ...]]:
    """One row per candidate, raw numbers."""
    return [
        (
            label_of(one.policy),
            one.found_by,
            one.budgeted_bytes,
            one.measured_bytes,
            one.recomputed_flops,
            "yes" if one.fits else "no",
            "yes" if one.chosen else "",
        )
        for one in found.candidates
    ]


def search_headline(found: Searched) -> str:
    """What the search came to, in one sentence."""
    budget = format_bytes(found.budget_bytes)
    if found.policy is None:
        return f"Nothing fits into {budget}: the least that is possible is {format_bytes(found.smallest_bytes)}."
    chosen = next((one for one in found.candidates if one.chosen), None)
    if chosen is None:
        return f"{label_of(found.policy)} fits into {budget}."
    again = format_flops(chosen.recomputed_flops)
    off = next((one.budgeted_bytes for one in found.candidates if one.policy.kind == "off"), found.off_bytes)
    kept = f"{format_bytes(chosen.budgeted_bytes)} of {format_bytes(off)}, {again} run again (estimated)"
    counted = "" if chosen.measured_bytes is None else f", {format_bytes(chosen.measured_bytes)} counted"
    return f"{label_of(found.policy)}: {kept}{counted}. Found by {chosen.found_by}."
