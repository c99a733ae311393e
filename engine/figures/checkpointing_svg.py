"""The picture of policies as one self-contained SVG, for files and reports."""

from __future__ import annotations

from collections.abc import Sequence

from engine.figures.chart_svg import svg_page, svg_text
from engine.figures.checkpointing_axes import Axis, bands_of, bytes_axis, cost_axis, front_lines
from engine.figures.checkpointing_places import place_labels
from engine.figures.checkpointing_points import (
    ACROSS_WORDS,
    UP_WORDS,
    Across,
    Point,
    Up,
    meaning_of,
    pareto_front,
    short_label,
)
from engine.figures.palette import LINE, MARKS, MUTED, TEXT, Theme, meaning

WIDTH, HEIGHT = 880, 520
LEFT, RIGHT, TOP, BOTTOM = 96, 24, 60, 80
LEGEND = ("saved", "checkpoint", "moved_away", "gradients_differ")
LEGEND_WORDS = {"saved": "off", "checkpoint": "checkpoint: run again", "moved_away": "moved away, brought back"}
SIZE = 1.35


def policies_svg(
    measured: Sequence[Point], forecast: Sequence[Point], across: Across, up: Up, title: str, theme: Theme = "light"
) -> str:
    """Marks with their labels, the front, both axes and a legend."""
    everything = [*measured, *forecast]
    x, y = bytes_axis(everything), cost_axis(everything, up)
    body = [svg_text(LEFT, 30, title, TEXT[theme], 16, weight=700), *_grid(x, y, theme)]
    body.append(
        svg_text(_at_x(x, (x.low + x.high) / 2), HEIGHT - 44, ACROSS_WORDS[across], MUTED[theme], 12, anchor="middle")
    )
    body.append(svg_text(LEFT, TOP - 8, UP_WORDS[up], MUTED[theme], 12))
    body.append(_front(pareto_front(measured or forecast, up), x, y, theme))
    body += [_mark(point, x, y, theme) for point in (*forecast, *measured)]
    named = measured or forecast
    marks = [(_at_x(x, point.x_bytes) - LEFT, _at_y(y, point.y) - TOP) for point in named]
    labels = [short_label(point.policy, point.blocks) for point in named]
    inside = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM
    lines = [*bands_of(named, x, y, *inside), *front_lines(pareto_front(named, up), x, y, *inside)]
    places = place_labels(marks, labels, *inside, lines)
    for label, (across_px, down_px), place in zip(labels, marks, places, strict=True):
        anchor = "start" if place.anchor == "left" else "end"
        at = LEFT + across_px + place.right, TOP + down_px + place.down + 4
        body.append(svg_text(*at, label, TEXT[theme], 12, anchor=anchor))
    body += _legend(everything, theme)
    return svg_page(WIDTH, HEIGHT, title, body, theme)


def _at_x(axis: Axis, value: float) -> float:
    return LEFT + axis.share(value) * (WIDTH - LEFT - RIGHT)


def _at_y(axis: Axis, value: float) -> float:
    return TOP + (1 - axis.share(value)) * (HEIGHT - TOP - BOTTOM)


def _grid(x: Axis, y: Axis, theme: Theme) -> list[str]:
    line = f'stroke="{LINE[theme]}" stroke-opacity=".35"'
    parts = []
    for tick, words in zip(x.ticks, x.words, strict=True):
        at = _at_x(x, tick)
        parts.append(f'<path d="M{at:.1f} {TOP}V{HEIGHT - BOTTOM}" {line}/>')
        parts.append(svg_text(at, HEIGHT - BOTTOM + 18, words, MUTED[theme], 11, anchor="middle"))
    for tick, words in zip(y.ticks, y.words, strict=True):
        at = _at_y(y, tick)
        parts.append(f'<path d="M{LEFT} {at:.1f}H{WIDTH - RIGHT}" {line}/>')
        parts.append(svg_text(LEFT - 8, at + 4, words, MUTED[theme], 11, anchor="end"))
    return parts


def _front(front: Sequence[Point], x: Axis, y: Axis, theme: Theme) -> str:
    if len(front) < 2:
        return ""
    path = f"M{_at_x(x, front[0].x_bytes):.1f} {_at_y(y, front[0].y):.1f}"
    path += "".join(f"H{_at_x(x, one.x_bytes):.1f}V{_at_y(y, one.y):.1f}" for one in front[1:])
    return f'<path d="{path}" fill="none" stroke="{LINE[theme]}" stroke-width="1.6"/>'


def _mark(point: Point, x: Axis, y: Axis, theme: Theme) -> str:
    what = meaning(meaning_of(point))
    colour, at = what.accent(theme), (_at_x(x, point.x_bytes), _at_y(y, point.y))
    if point.estimated:
        return f'<circle cx="{at[0]:.1f}" cy="{at[1]:.1f}" r="9" fill="none" stroke="{colour}" stroke-width="1.6"/>'
    band = ""
    if point.low is not None and point.high is not None:
        ends = _at_y(y, point.high), _at_y(y, point.low)
        band = f'<path d="M{at[0]:.1f} {ends[0]:.1f}V{ends[1]:.1f}" stroke="{colour}" stroke-width="2" opacity=".6"/>'
    return band + _shape(what.mark, at[0], at[1], colour)


def _shape(mark: str, x: float, y: float, colour: str) -> str:
    moved = f"translate({x - 5 * SIZE:.1f} {y - 5 * SIZE:.1f}) scale({SIZE})"
    return f'<path d="{MARKS[mark]}" fill="{colour}" fill-rule="evenodd" transform="{moved}"/>'


def _legend(points: Sequence[Point], theme: Theme) -> list[str]:
    present = {meaning_of(point) for point in points}
    parts, at = [], float(LEFT)
    for key in (key for key in LEGEND if key in present):
        what, words = meaning(key), LEGEND_WORDS.get(key, meaning(key).label)
        parts.append(_shape(what.mark, at + 6, HEIGHT - 18, what.accent(theme)))
        parts.append(svg_text(at + 20, HEIGHT - 14, words, TEXT[theme], 12))
        at += 40 + 6.6 * len(words)
    if any(point.estimated for point in points):
        parts.append(f'<circle cx="{at + 6:.1f}" cy="{HEIGHT - 18}" r="7" fill="none" stroke="{MUTED[theme]}"/>')
        parts.append(svg_text(at + 20, HEIGHT - 14, "estimated", TEXT[theme], 12))
    return parts
