"""What the charts saved as SVG have in common: the page they are drawn on and its text."""

from __future__ import annotations

from collections.abc import Iterable

from engine.figures.palette import BACKGROUND, Theme
from engine.figures.svg import FONT, safe


def svg_page(width: float, height: float, title: str, body: Iterable[str], theme: Theme) -> str:
    """One self-contained SVG with its title for those who cannot see it; sizes in pixels."""
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
            f'viewBox="0 0 {width:.0f} {height:.0f}" font-family="{FONT}" role="img">',
            f"<title>{safe(title)}</title>",
            f'<rect width="{width:.0f}" height="{height:.0f}" fill="{BACKGROUND[theme]}"/>',
            *body,
            "</svg>",
        ]
    )


def svg_text(
    x: float, y: float, text: str, colour: str, size: float, *, weight: int = 400, anchor: str = "start"
) -> str:
    """One line of escaped text; `anchor` is SVG's text-anchor."""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" font-weight="{weight}" fill="{colour}" '
        f'text-anchor="{anchor}">{safe(text)}</text>'
    )
