"""Where a value lies between two numbers of each format, and what each format holds, as files."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from engine.figures.chart_svg import svg_page, svg_text
from engine.figures.number_format_bits import value_text
from engine.figures.number_format_charts import gap_ends, gap_of, powers_of, range_ends
from engine.figures.palette import LINE, MUTED, TEXT, Theme, meaning
from engine.number_format.formats import BY_NAME
from engine.number_format.results import Limit, Stored, Value

WIDTH, LEFT, TOP, ROW = 760, 150, 84, 32
GAP_LEFT, GAP_RIGHT = 300, 600


def gap_svg(value: Value, exact: Fraction | None, theme: Theme = "light") -> str:
    """One line per format from the number below to the one above; the filled end is stored, the diamond is typed."""
    title = f"{value.text}: between which two numbers does it lie?"
    body, bottom = [svg_text(20, 30, title, TEXT[theme], 16, weight=700)], TOP + ROW * len(value.stored)
    for x, word in ((GAP_LEFT, "below"), ((GAP_LEFT + GAP_RIGHT) / 2, "halfway"), (GAP_RIGHT, "above")):
        body.append(f'<path d="M{x} {TOP - 12}V{bottom}" stroke="{LINE[theme]}" stroke-opacity=".5"/>')
        body.append(svg_text(x, TOP - 20, word, MUTED[theme], 12, anchor="middle"))
    for number, stored in enumerate(value.stored):
        y = TOP + ROW * (number + 0.5)
        body.append(svg_text(LEFT, y + 4, stored.dtype, TEXT[theme], 12, anchor="end"))
        body += _gap(stored, exact, y, theme)
    return svg_page(WIDTH, bottom + 24, title, body, theme)


def _gap(stored: Stored, exact: Fraction | None, y: float, theme: Theme) -> list[str]:
    gap = None if exact is None else gap_of(stored, exact)
    if gap is None or exact is None:
        middle = (GAP_LEFT + GAP_RIGHT) / 2
        return [svg_text(middle, y + 4, f"{value_text(stored.value)}: in no gap", MUTED[theme], 12, anchor="middle")]
    colour, here = meaning("representable").accent(theme), BY_NAME[stored.dtype].value(int(stored.bits, 16))
    parts = [f'<path d="M{GAP_LEFT} {y}H{GAP_RIGHT}" stroke="{LINE[theme]}" stroke-width="2"/>']
    texts = gap_ends(gap)
    for side, x in enumerate((GAP_LEFT, GAP_RIGHT)):
        fill, radius = (colour, 6) if gap[side] == here else ("none", 4)
        parts.append(f'<circle cx="{x}" cy="{y}" r="{radius}" fill="{fill}" stroke="{colour}" stroke-width="2"/>')
        anchor, away = ("end", -12) if side == 0 else ("start", 12)
        parts.append(svg_text(x + away, y + 4, texts[side], TEXT[theme], 12, anchor=anchor))
    at = GAP_LEFT + float((exact - gap[0]) / (gap[1] - gap[0])) * (GAP_RIGHT - GAP_LEFT)
    diamond = f'<path d="M{at:.1f} {y - 6}l6 6l-6 6l-6 -6Z" fill="{meaning("input").accent(theme)}"/>'
    return [*parts, diamond]


def ranges_svg(value: Value, limits: Sequence[Limit], theme: Theme = "light") -> str:
    """From the smallest number above 0 to the largest, on an axis of powers of two, with the magnitude of the value."""
    mark, low, high = powers_of(value)
    scale, bottom = (WIDTH - LEFT - 50) / (high - low), TOP + ROW * len(limits)
    body = [svg_text(20, 30, "What does each format hold?", TEXT[theme], 16, weight=700)]
    every = 32 if high - low < 400 else 256
    for tick in range(low - low % every, high + 1, every):
        if tick >= low:
            x = LEFT + 20 + (tick - low) * scale
            body.append(f'<path d="M{x:.1f} {TOP - 4}V{bottom}" stroke="{LINE[theme]}" stroke-opacity=".35"/>')
            body.append(svg_text(x, bottom + 18, f"2^{tick}", MUTED[theme], 11, anchor="middle"))
    for number, limit in enumerate(limits):
        y = TOP + ROW * number + 7
        body.append(svg_text(LEFT, y + 14, limit.dtype, TEXT[theme], 12, anchor="end"))
        body += _range(limit, y, (low, high), scale, theme)
    if mark is not None:
        x, colour = LEFT + 20 + (mark - low) * scale, meaning("input").accent(theme)
        body.append(f'<path d="M{x:.1f} {TOP - 8}V{bottom}" stroke="{colour}" stroke-width="2"/>')
        body.append(svg_text(x, TOP - 14, f"|{value.text}| = 2^{mark:.4g}", colour, 12, anchor="middle"))
    body.append(svg_text(LEFT + 20, bottom + 44, "faint: subnormal · full: normal", MUTED[theme], 12))
    return svg_page(WIDTH, bottom + 60, "What does each format hold?", body, theme)


def _range(limit: Limit, y: float, window: tuple[int, int], scale: float, theme: Theme) -> list[str]:
    ends, parts = range_ends(BY_NAME[limit.dtype]), list[str]()
    for key, start, end in (("subnormal", ends[0], ends[1]), ("representable", ends[1], ends[2])):
        left, right = max(start, window[0]), min(end, window[1])
        if right > left and math.isfinite(left):
            parts.append(
                f'<rect x="{LEFT + 20 + (left - window[0]) * scale:.1f}" y="{y}" width="{(right - left) * scale:.1f}" '
                f'height="{ROW - 14}" fill="{meaning(key).accent(theme)}" '
                f'fill-opacity="{0.45 if key == "subnormal" else 1}"/>'
            )
    return parts
