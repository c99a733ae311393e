"""A verdict as a small label: its colour, its mark and its words, as HTML."""

from __future__ import annotations

import base64

from engine.claims.verdict import Kind
from engine.figures.palette import MARKS, MUTED, TEXT, Theme, meaning
from engine.figures.svg import safe

MEANINGS: dict[Kind, str] = {
    "holds": "claim_holds",
    "holds only when": "claim_sometimes",
    "does not hold": "claim_fails",
    "not decided": "claim_open",
    "could not run here": "claim_impossible",
}


def badge_html(kind: Kind, theme: Theme) -> str:
    """A pill with the mark in front; the mark is an image, as a style sheet's are taken out of user HTML."""
    what = meaning(MEANINGS[kind])
    accent = what.accent(theme)
    return (
        f'<span style="display:inline-flex;align-items:center;gap:.4em;padding:.12em .6em;border-radius:1em;'
        f"background:{what.fill(theme)};border:1px solid {accent};color:{TEXT[theme]};font-size:.86rem;"
        f'white-space:nowrap"><img alt="" width="11" height="11" src="{mark_image(what.mark, accent)}">'
        f"{safe(what.label)}</span>"
    )


def mark_image(mark: str, colour: str) -> str:
    """A mark of the palette as an image address that needs no network."""
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="-.5 -.5 11 11">'
        f'<path d="{MARKS[mark]}" fill="{colour}" fill-rule="evenodd"/></svg>'
    )
    return f"data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()}"


def not_run_html(state: str, theme: Theme) -> str:
    """Where there is no verdict: what the claim waits for, in quiet letters."""
    return f'<span style="color:{MUTED[theme]};font-size:.86rem;white-space:nowrap">{safe(state)}</span>'
