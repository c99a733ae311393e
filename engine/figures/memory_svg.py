"""What the pictures of memory share: groups that speak on hover, marks, a legend, fills of the categories."""

from __future__ import annotations

from collections.abc import Iterable
from xml.sax.saxutils import quoteattr

from engine.figures.chart_svg import svg_text
from engine.figures.palette import MARKS, SURFACE, TEXT, Theme, meaning, mix
from engine.memory.blocks import CATEGORIES

WIDTH = 930
"""Pixels of a picture beside the sidebar of a window that is 1280 wide; a wider one shows it larger."""
AMOUNT: dict[Theme, float] = {"light": 0.4, "dark": 0.46}
"""How much of a category's accent its areas have: text on them stays readable."""


WIDE, NARROW = frozenset("mwMW@%…—"), frozenset("iljtfrI.,:;'|![]()/ ")
"""Letters much wider and narrower than others."""
MOST_LETTERS = 200


def area_colour(category: str, theme: Theme) -> str:
    """The fill of a category's area."""
    return mix(SURFACE[theme], meaning(category).accent(theme), AMOUNT[theme])


def speaking(words: str, content: str, extra: str = "") -> str:
    """A group that tells `words` on hover."""
    tip = words.encode("utf-8", "replace").decode("utf-8").translate({c: " " for c in range(32) if c != 10})
    return f"<g{extra} data-tip={quoteattr(tip, {chr(10): '&#10;'})}>{content}</g>"


def mark(category: str, x: float, y: float, scale: float, theme: Theme) -> str:
    """The category's mark in a 10 x 10 box with its upper left corner at (x, y)."""
    what = meaning(category)
    return (
        f'<path transform="translate({x:.1f} {y:.1f}) scale({scale})" d="{MARKS[what.mark]}" '
        f'fill="{what.accent(theme)}" fill-rule="evenodd"/>'
    )


def box(x: float, y: float, width: float, height: float, fill: str, extra: str = "") -> str:
    """A rectangle."""
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{fill}"{extra}/>'


def text_width(text: str, size: float, weight: int = 400) -> float:
    """Pixels that a line takes at most in a common sans-serif font."""
    units = sum(0.92 if one in WIDE else 0.36 if one in NARROW else 0.74 if one.isupper() else 0.62 for one in text)
    return units * size * (1.0 if weight < 600 else 1.07)


def shortened(text: str, size: float, room: float, weight: int = 400) -> str:
    """The line, or the longest that fits into `room` pixels with its middle cut; "" where not even four letters fit."""
    if text_width(text, size, weight) <= room:
        return text
    for letters in range(len(text) - 1, 3, -1):
        head = (letters - 1) // 2
        cut = f"{text[:head]}…{text[len(text) - (letters - 1 - head) :]}"
        if text_width(cut, size, weight) <= room:
            return cut
    return ""


def fitting_text(x: float, y: float, text: str, colour: str, size: float, room: float, *, weight: int = 400) -> str:
    """One line cut in the middle to `room` pixels; nothing where not even four letters fit."""
    words = shortened(text[:MOST_LETTERS], size, room, weight)
    return svg_text(x, y, words, colour, size, weight=weight) if words else ""


def whole_text(x: float, y: float, text: str, colour: str, size: float, room: float, *, weight: int = 400) -> str:
    """One line, nothing where it does not fit into `room` pixels."""
    return svg_text(x, y, text, colour, size, weight=weight) if text_width(text, size, weight) <= room else ""


def clipped(x: float, y: float, width: float, height: float, content: str) -> str:
    """What is drawn in a rectangle, cut at its edges."""
    if not content:
        return ""
    place = f"{x:.1f} {y:.1f} {width:.1f} {height:.1f}"
    return (
        f'<svg x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" viewBox="{place}" '
        f'overflow="hidden">{content}</svg>'
    )


def category_legend(present: Iterable[str], x: float, y: float, theme: Theme) -> tuple[list[str], float, float]:
    """Fill, mark and words of every category in the picture, in lines; and where the next may stand."""
    parts, left, found = [], x, set(present)
    for category in CATEGORIES:
        if category not in found:
            continue
        words = meaning(category).label
        needed = 36 + 6.2 * len(words)
        if left + needed > WIDTH and left > x:
            left, y = x, y + 18
        parts.append(box(left, y - 10, 12, 12, area_colour(category, theme), ' rx="2"'))
        parts.append(mark(category, left + 1.5, y - 8.5, 0.9, theme))
        parts.append(svg_text(left + 17, y, words, TEXT[theme], 11.5))
        left += needed
    return parts, left, y
