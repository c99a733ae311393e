"""The chart of leaves as one self-contained SVG, for exports and reports."""

from __future__ import annotations

from collections.abc import Sequence

from engine.figures.leaf_chart import PATHS, STATES, SYMBOLS, LogScale, Series, beside, log_scale, power_text, state_of
from engine.figures.palette import BACKGROUND, LINE, MUTED, PALETTE, TEXT, Theme
from engine.figures.svg import FONT, safe
from engine.figures.units import shorten

LEFT, TOP, PLOT, BELOW, COLUMN = 84, 84, 320, 150, 26
NARROWEST, WIDEST = 720, 6000
STATE_PATHS = {"zero": "M-6 -1.5H6V1.5H-6Z", "none": "M0 -5A5 5 0 1 1 -.01 -5ZM0 -2.5A2.5 2.5 0 1 0 .01 -2.5Z"}
STATE_PATHS |= {"bad": "M-5 -3L-3 -5L0 -2L3 -5L5 -3L2 0L5 3L3 5L0 2L-3 5L-5 3L-2 0Z"}


def leaf_chart_svg(names: Sequence[str], series: Sequence[Series], theme: Theme, *, title: str, y_title: str) -> str:
    """The same marks on the same axis as `leaf_chart`, every leaf named."""
    width = min(WIDEST, max(NARROWEST, LEFT + 40 + COLUMN * len(names)))
    height = TOP + PLOT + BELOW
    scale = log_scale(series)
    body = [_text(24, 32, shorten(title, 90), TEXT[theme], 17, weight=700), *_legend(series, theme)]
    body += _axes(names, scale, width, y_title, theme)
    for number, one in enumerate(series):
        body += _marks(one, (number, len(series)), scale, len(names), width, theme)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
            f'font-family="{FONT}" role="img">',
            f"<title>{safe(title)}</title>",
            f'<rect width="{width}" height="{height}" fill="{BACKGROUND[theme]}"/>',
            *body,
            "</svg>",
        ]
    )


def _x(number: float, leaves: int, width: int) -> float:
    return LEFT + 16 + (width - LEFT - 48) * ((number + 0.5) / max(leaves, 1))


def _y(place: float, scale: LogScale) -> float:
    low, high = scale.floor - 0.4, scale.ceiling + 0.3
    return TOP + PLOT * (high - place) / (high - low)


def _legend(series: Sequence[Series], theme: Theme) -> list[str]:
    parts, x = [], 30.0
    for number, one in enumerate(series):
        parts.append(_mark(PATHS[SYMBOLS[number % len(SYMBOLS)]], x, 57, one.accent(theme)))
        parts.append(_text(x + 11, 61, one.label, TEXT[theme], 12))
        x += 40 + 7 * len(one.label)
    return parts


def _axes(names: Sequence[str], scale: LogScale, width: int, y_title: str, theme: Theme) -> list[str]:
    parts = []
    words = [(scale.floor, "0 / none"), *((tick, power_text(tick)) for tick in scale.ticks), (scale.ceiling, "nan, ∞")]
    for place, word in words:
        y = _y(place, scale)
        parts.append(f'<path d="M{LEFT} {y:.1f}H{width - 24}" stroke="{LINE[theme]}" stroke-opacity=".35"/>')
        parts.append(_text(LEFT - 8, y + 4, word, MUTED[theme], 11, anchor="end"))
    parts.append(_text(24, TOP - 8, y_title, MUTED[theme], 11))
    for number, name in enumerate(names):
        x, y = _x(number, len(names), width), TOP + PLOT + 14
        parts.append(_text(x, y, shorten(name, 26), MUTED[theme], 10, anchor="end", turn=-45))
    return parts


def _marks(one: Series, place: tuple[int, int], scale: LogScale, leaves: int, width: int, theme: Theme) -> list[str]:
    parts = []
    for number, value in enumerate(one.values):
        state = state_of(value)
        path = STATE_PATHS[state] if state else PATHS[SYMBOLS[place[0] % len(SYMBOLS)]]
        colour = PALETTE[STATES[state][0]].accent(theme) if state else one.accent(theme)
        parts.append(_mark(path, _x(beside(number, place), leaves, width), _y(scale.place(value), scale), colour))
    return parts


def _mark(path: str, x: float, y: float, colour: str) -> str:
    return f'<path d="{path}" transform="translate({x:.1f} {y:.1f})" fill="{colour}"/>'


def _text(
    x: float, y: float, text: str, colour: str, size: int, *, weight: int = 400, anchor: str = "start", turn: int = 0
) -> str:
    turned = f' transform="rotate({turn} {x:.1f} {y:.1f})"' if turn else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" font-weight="{weight}" fill="{colour}" '
        f'text-anchor="{anchor}"{turned}>{safe(text)}</text>'
    )
