"""The track of a run under autocast as one self-contained SVG, for files."""

from __future__ import annotations

from engine.figures.chart_svg import svg_page, svg_text
from engine.figures.mixed_precision_chart import KEPT, LEAST_LETTERS, THICKNESS, dtype_colour
from engine.figures.mixed_precision_track import MOST_STEPS, Step, Track, module_bands, step_name, step_words
from engine.figures.palette import LINE, MUTED, TEXT, Theme, meaning
from engine.figures.svg import safe
from engine.figures.units import format_bytes, shorten

LEFT, TOP, RIGHT = 92, 96, 24
LANE, WEIGHTS, GAP, KEPT_HEIGHT = 74, 26, 34, 90
NARROW, WIDE = 9.0, 46.0
LABELLED = 14.0
"""Pixels per step from which each can carry its name."""
NAMES = 106


def track_svg(track: Track, theme: Theme = "light", *, title: str) -> str:
    """Lanes with their steps, casts as arrows, weights above, bytes kept below; each step tells of itself on hover."""
    narrow = LABELLED if len(track.steps) <= MOST_STEPS else NARROW
    step = min(WIDE, max(narrow, 900 / max(1, len(track.steps))))
    lanes_top = TOP + WEIGHTS
    kept_top = lanes_top + LANE * len(track.lanes) + GAP
    width = LEFT + RIGHT + max(560.0, step * len(track.steps))
    height = kept_top + KEPT_HEIGHT + (NAMES if step >= LABELLED else 24)
    body = [svg_text(LEFT, 28, title, TEXT[theme], 16, weight=700), *_legend(track, theme)]
    body += _bands(track, step, kept_top + KEPT_HEIGHT, theme)
    for place, dtype in enumerate(track.lanes):
        y = lanes_top + LANE * (place + 0.5)
        body.append(svg_text(LEFT - 12, y + 4, dtype, TEXT[theme], 12, anchor="end"))
        body.append(f'<path d="M{LEFT} {y:.0f}H{width - RIGHT:.0f}" stroke="{LINE[theme]}" stroke-opacity=".35"/>')
    middles = {dtype: lanes_top + LANE * (place + 0.5) for place, dtype in enumerate(track.lanes)}
    top = max((one.saved_bytes for one in track.steps), default=0)
    body += _kept_axis(top, kept_top, width, theme)
    for number, one in enumerate(track.steps):
        x = LEFT + step * number
        parts = [*_blocks(one, x, step, middles, theme), *_casts(one, x, step, middles, theme)]
        parts += [*_weights(one, x + step / 2, lanes_top - 10, theme)]
        parts += _kept(one, x, step, kept_top, top, theme)
        if step >= LABELLED:
            parts.append(_name(one, x + step / 2, kept_top + KEPT_HEIGHT + 12, theme))
        body.append(f"<g><title>{safe(chr(10).join(step_words(one)))}</title>{''.join(parts)}</g>")
    return svg_page(width, height, title, body, theme)


def _blocks(one: Step, x: float, step: float, middles: dict[str, float], theme: Theme) -> list[str]:
    parts = []
    for dtype, count in one.ran:
        size = LANE * THICKNESS * (0.35 + 0.65 * count / one.calls)
        parts.append(
            f'<rect x="{x + 0.06 * step:.1f}" y="{middles[dtype] - size / 2:.1f}" width="{0.88 * step:.1f}" '
            f'height="{size:.1f}" rx="2" fill="{dtype_colour(dtype, theme)}"/>'
        )
    return parts


def _casts(one: Step, x: float, step: float, middles: dict[str, float], theme: Theme) -> list[str]:
    moves = list(dict.fromkeys(one.casts))
    pairs = moves or ([(one.came_in, one.went_out)] if one.came_in != one.went_out else [])
    colour, parts = meaning("copy").accent(theme), list[str]()
    for source, target in pairs:
        if source == target or source not in middles or target not in middles:
            continue
        up = middles[target] < middles[source]
        edge = LANE * THICKNESS / 2 * (-1 if up else 1)
        start, end = middles[source] + edge, middles[target] - edge
        at, dash = x + 0.2 * step, "" if moves else ' stroke-dasharray="2 3"'
        stroke = colour if moves else MUTED[theme]
        parts.append(f'<path d="M{at:.1f} {start:.1f}V{end:.1f}" stroke="{stroke}" stroke-width="2"{dash}/>')
        back = 6 if up else -6
        parts.append(f'<path d="M{at:.1f} {end:.1f}l-4 {back}h8Z" fill="{colour}"/>')
    return parts


def _weights(one: Step, x: float, y: float, theme: Theme) -> list[str]:
    colour = meaning("parameter").accent(theme)
    if one.weight_casts:
        return [f'<path d="M{x - 5:.1f} {y - 5}h10l-5 9Z" fill="{colour}"/>']
    if one.cache_reads:
        return [f'<circle cx="{x:.1f}" cy="{y}" r="4" fill="none" stroke="{colour}" stroke-width="2"/>']
    return []


def _kept(one: Step, x: float, step: float, top: float, most: int, theme: Theme) -> list[str]:
    parts, y = [], top + KEPT_HEIGHT
    for field, _, key, pattern in KEPT:
        size = KEPT_HEIGHT * getattr(one, field) / most if most else 0.0
        if size > 0:
            y -= size
            opacity = 0.72 if pattern else 1.0
            parts.append(
                f'<rect x="{x + 0.06 * step:.1f}" y="{y:.2f}" width="{0.88 * step:.1f}" height="{size:.2f}" '
                f'fill="{meaning(key).accent(theme)}" fill-opacity="{opacity:g}"/>'
            )
    return parts


def _kept_axis(most: int, top: float, width: float, theme: Theme) -> list[str]:
    parts = [svg_text(LEFT, top - 8, "new bytes kept for backward", MUTED[theme], 11)]
    for share in (0.0, 1.0):
        y = top + KEPT_HEIGHT * (1 - share)
        parts.append(f'<path d="M{LEFT} {y:.0f}H{width - RIGHT:.0f}" stroke="{LINE[theme]}" stroke-opacity=".35"/>')
        parts.append(svg_text(LEFT - 12, y + 4, format_bytes(round(most * share)), MUTED[theme], 11, anchor="end"))
    return parts


def _bands(track: Track, step: float, bottom: float, theme: Theme) -> list[str]:
    parts = []
    for number, (first, after, name) in enumerate(module_bands(track)):
        x, size = LEFT + step * first, step * (after - first)
        if number % 2:
            parts.append(
                f'<rect x="{x:.1f}" y="{TOP - 18}" width="{size:.1f}" height="{bottom - TOP + 18:.1f}" '
                f'fill="{LINE[theme]}" fill-opacity=".09"/>'
            )
        if (room := int(size / 6.4)) >= min(len(name), LEAST_LETTERS):
            parts.append(svg_text(x + size / 2, TOP - 6, shorten(name, room), MUTED[theme], 11, anchor="middle"))
    return parts


def _name(one: Step, x: float, y: float, theme: Theme) -> str:
    text = shorten(step_name(one), 18)
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="11" fill="{TEXT[theme]}" text-anchor="end" '
        f'transform="rotate(-50 {x:.1f} {y:.1f})">{safe(text)}</text>'
    )


def _legend(track: Track, theme: Theme) -> list[str]:
    entries = [(dtype, dtype_colour(dtype, theme)) for dtype in track.lanes]
    entries += [
        ("cast", meaning("copy").accent(theme)),
        ("weight: ▾ cast, ○ from the cache", meaning("parameter").accent(theme)),
    ]
    entries += [(words, meaning(key).accent(theme)) for _, words, key, _ in KEPT]
    parts, x, y = [], float(LEFT), 48.0
    for words, colour in entries:
        needed = 24 + 6.6 * len(words)
        if x + needed > 900:
            x, y = float(LEFT), y + 17
        parts.append(f'<rect x="{x:.0f}" y="{y - 9:.0f}" width="11" height="11" rx="2" fill="{colour}"/>')
        parts.append(svg_text(x + 16, y, words, TEXT[theme], 11.5))
        x += needed
    return parts
