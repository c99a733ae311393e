"""The pictures of the gradient scaling page as files: scale, norms, gradients by power of two."""

from __future__ import annotations

import math
from collections.abc import Sequence

from engine.figures.chart_svg import svg_page, svg_text
from engine.figures.grad_scaler_spread import BANDS, limits_of
from engine.figures.grad_scaler_timeline import NORMS, non_finite_word, plain_scale
from engine.figures.lines_svg import Line, lines_svg
from engine.figures.palette import LINE, MUTED, TEXT, Theme, meaning
from engine.figures.units import format_count
from engine.grad_scaler.results import Range, Run, Spread

WIDTH, LEFT, RIGHT = 860, 118, 24
TOP, BARS, LANE = 74, 210, 34
MOST_NUMBERED = 14
"""Steps that a title has room for."""


def scale_svg(run: Run, theme: Theme) -> str:
    """The scale over the steps; skipped steps are named in the title."""
    x = [end for step in run.steps for end in (step.number - 0.5, step.number + 0.5)]
    y = [step.scale_before for step in run.steps for _ in range(2)]
    if run.steps:
        x, y = [*x, run.steps[-1].number + 0.5], [*y, run.steps[-1].scale_after]
    skipped = _numbered([step.number for step in run.steps if step.skipped])
    title = f"GradScaler: the scale; skipped: {skipped or 'none'}"
    return lines_svg([Line("scale", x, y)], theme, title=title, x_title="step", log_y=True)


def norms_svg(run: Run, theme: Theme) -> str:
    """Norms of all gradients over the steps."""
    x = [float(step.number) for step in run.steps]
    lines = []
    for place, (name, field, _, _) in enumerate(NORMS):
        values = [getattr(step, field) for step in run.steps]
        if any(value is not None for value in values):
            lines.append(Line(name, x, [math.nan if value is None else value for value in values], place))
    bad = _numbered([step.number for step in run.steps if non_finite_word(step.scaled_norm)])
    title = "Norm of all gradients" + (f"; inf or nan in step {bad}" if bad else "")
    return lines_svg(lines, theme, title=title, x_title="step", log_y=True)


def _numbered(steps: Sequence[int]) -> str:
    return ", ".join(map(str, steps[:MOST_NUMBERED])) + (" …" if len(steps) > MOST_NUMBERED else "")


def spread_svg(spread: Spread, ranges: Sequence[Range], scale: float, theme: Theme) -> str:
    """Bars of the gradients with and without the scale over the ranges of the formats."""
    low, high = limits_of(spread, scale)
    unit = (WIDTH - LEFT - RIGHT) / (high - low)
    most = math.log10(max(spread.counts, default=1)) + 0.3
    body = [svg_text(LEFT, 26, f"Gradients of the {spread.source} by power of two", TEXT[theme], 16, weight=700)]
    names = [("as they are", meaning("gradient").accent(theme), 0.0, 0.9)]
    if shift := math.log2(scale):
        names.append((f"times {plain_scale(scale)}", MUTED[theme], shift, 0.5))
    for place, (name, colour, moved, opacity) in enumerate(names):
        body.append(f'<rect x="{LEFT + 150 * place}" y="44" width="11" height="11" fill="{colour}"/>')
        body.append(svg_text(LEFT + 150 * place + 17, 54, name, TEXT[theme], 12))
        for exponent, count in zip(spread.exponents, spread.counts, strict=True):
            height = BARS * (math.log10(count) + 0.3) / most
            body.append(
                f'<rect x="{LEFT + (exponent + moved - low) * unit:.1f}" y="{TOP + BARS - height:.1f}" '
                f'width="{unit * 0.94:.1f}" height="{height:.1f}" fill="{colour}" fill-opacity="{opacity}">'
                f"<title>{format_count(count)}</title></rect>"
            )
    for row, lane in enumerate(ranges):
        body += _lane(lane, TOP + BARS + 16 + LANE * row, (low, high), unit, theme)
    bottom = TOP + BARS + 16 + LANE * len(ranges)
    every = max(2, 2 * round((high - low) / 24))
    for tick in range(low - low % every + every, high + 1, every):
        body.append(svg_text(LEFT + (tick - low) * unit, bottom + 14, f"2^{tick}", MUTED[theme], 11, anchor="middle"))
    return svg_page(WIDTH, bottom + 30, "Gradients by power of two", body, theme)


def _lane(lane: Range, y: float, limits: tuple[int, int], unit: float, theme: Theme) -> list[str]:
    parts = [svg_text(LEFT - 8, y + 15, lane.dtype, TEXT[theme], 12, anchor="end")]
    ends = [math.log2(v) for v in (lane.smallest_subnormal, lane.smallest_normal, lane.largest)]
    for (key, word), start, end in zip(BANDS, ends[:-1], ends[1:], strict=True):
        left, right = max(start, limits[0]), min(end, limits[1])
        if right > left:
            x, width = LEFT + (left - limits[0]) * unit, (right - left) * unit
            accent = meaning(key).accent(theme)
            parts.append(
                f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="22" fill="{accent}" fill-opacity=".3" '
                f'stroke="{accent}"/>'
            )
            if width > 60:
                parts.append(svg_text(x + width / 2, y + 15, word, TEXT[theme], 11, anchor="middle"))
    parts.append(f'<path d="M{LEFT} {y + 28:.1f}H{WIDTH - RIGHT}" stroke="{LINE[theme]}" stroke-opacity=".3"/>')
    return parts
