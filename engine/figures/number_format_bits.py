"""The bits of one value in every format, fields aligned: exponents end and mantissas begin in one column."""

from __future__ import annotations

from collections.abc import Sequence

from engine.figures.chart_svg import svg_page, svg_text
from engine.figures.palette import CATEGORICAL, LINE, MUTED, SURFACE, TEXT, Theme, mix
from engine.figures.svg import safe
from engine.number_format.formats import BY_NAME, FORMATS, Format
from engine.number_format.results import Stored, Value

FIELDS = ("sign", "exponent", "mantissa")
PLACES = (1, 0, 2)
"""Of each field's colour in the categorical palette."""
MOST_EXPONENT = max(one.exponent_bits for one in FORMATS)
CELL, ROW = 9.4, 30
LABEL, LEFT = 128, 136


def bit_words(layout: Format, bits: str) -> tuple[str, str, str]:
    """Sign, exponent and mantissa as zeros and ones."""
    stored = int(bits, 16)
    text = f"{stored:0{layout.bits}b}"
    end = layout.sign_bits + layout.exponent_bits
    return text[: layout.sign_bits], text[layout.sign_bits : end], text[end:]


def value_text(value: float) -> str:
    """The shortest digits that give this float64 back."""
    return repr(value) if abs(value) < 1e16 or value != value else f"{value:.6g}"


def error_text(stored: Stored) -> str:
    """How far the stored number is from the typed one, or what became of it."""
    if stored.outcome in ("inf", "nan", "saturated", "sign lost", "no zero"):
        return stored.outcome
    if stored.outcome == "zero" and stored.relative_error:
        return "rounds to 0"
    word = "subnormal, " if stored.outcome == "subnormal" else ""
    if stored.relative_error is None:
        return word + "exact" if stored.rounding == "exact" else stored.outcome
    return f"{word}exact" if stored.relative_error == 0 else f"{word}off by {stored.relative_error:.2g}"


def field_colour(place: int, theme: Theme) -> str:
    """The accent of sign, exponent or mantissa."""
    return CATEGORICAL[PLACES[place]][theme == "dark"]


def bits_html(value: Value, theme: Theme) -> str:
    """A table of the fields; the value itself was parsed as a number, names come from torch."""
    rows = "".join(_row(one, theme) for one in value.stored)
    legend = "".join(
        f'<span style="display:inline-block;margin-right:1.2rem"><span style="color:{field_colour(place, theme)};'
        f'font-weight:700">■</span> {name}</span>'
        for place, name in enumerate(FIELDS)
    )
    head = f'<th colspan="2" style="text-align:left;font-weight:400;border:0">{legend}</th>'
    head += "".join(
        f'<th style="text-align:right;border:0;font-weight:400">{word}</th>'
        for word in ("value", "against the number as typed")
    )
    return (
        f'<div style="overflow-x:auto"><table style="border-collapse:collapse;width:100%;font-size:.86rem;'
        f'color:{TEXT[theme]};font-variant-numeric:tabular-nums"><tr>{head}</tr>{rows}</table></div>'
    )


def _row(stored: Stored, theme: Theme) -> str:
    layout = BY_NAME[stored.dtype]
    line = f"border-top:1px solid {mix(SURFACE[theme], LINE[theme], 0.3)};padding:5px 4px;white-space:nowrap"
    sign, exponent, mantissa = bit_words(layout, stored.bits)
    blank = MOST_EXPONENT - layout.exponent_bits + 1 - layout.sign_bits
    cells = "".join(
        f'<span style="background:{mix(SURFACE[theme], field_colour(place, theme), 0.25)};'
        f'color:{TEXT[theme]};margin-right:3px;border-bottom:2px solid {field_colour(place, theme)}">{text}</span>'
        for place, text in enumerate((sign, exponent, mantissa))
        if text
    )
    mono = "font-family:'DejaVu Sans Mono',Menlo,Consolas,monospace;font-size:.82rem"
    return (
        f'<tr><td style="{line}"><code>{safe(stored.dtype)}</code></td>'
        f'<td style="{line};{mono}"><span style="white-space:pre">{" " * blank}</span>{cells}</td>'
        f'<td style="{line};text-align:right"><b>{safe(value_text(stored.value))}</b></td>'
        f'<td style="{line};text-align:right;color:{MUTED[theme]}">{safe(error_text(stored))}</td></tr>'
    )


def bits_svg(value: Value, theme: Theme) -> str:
    """The same as a picture for files and reports."""
    body = [svg_text(16, 28, f"{value.text} in every format", TEXT[theme], 16, weight=700)]
    for place, name in enumerate(FIELDS):
        body.append(
            f'<rect x="{LEFT + 110 * place}" y="44" width="11" height="11" fill="{field_colour(place, theme)}"/>'
        )
        body.append(svg_text(LEFT + 110 * place + 17, 54, name, TEXT[theme], 12))
    edge = LEFT + (1 + MOST_EXPONENT) * CELL
    for row, stored in enumerate(value.stored):
        layout, y = BY_NAME[stored.dtype], 70 + ROW * row
        words = bit_words(layout, stored.bits)
        body.append(svg_text(LABEL, y + 15, stored.dtype, TEXT[theme], 12, anchor="end"))
        x = edge - (layout.exponent_bits + layout.sign_bits) * CELL
        for place, text in enumerate(words):
            body += _cells(text, x, y, field_colour(place, theme), theme)
            x += len(text) * CELL
        right = edge + 52 * CELL + 190
        body.append(svg_text(right, y + 15, value_text(stored.value), TEXT[theme], 12, weight=700, anchor="end"))
        body.append(svg_text(right + 150, y + 15, error_text(stored), MUTED[theme], 11, anchor="end"))
    return svg_page(edge + 52 * CELL + 356, 84 + ROW * len(value.stored), f"{value.text} in every format", body, theme)


def _cells(text: str, x: float, y: float, colour: str, theme: Theme) -> Sequence[str]:
    parts = []
    for place, bit in enumerate(text):
        left = x + place * CELL
        parts.append(
            f'<rect x="{left:.1f}" y="{y}" width="{CELL - 0.8:.1f}" height="20" fill="{colour}" '
            f'fill-opacity="{0.42 if bit == "1" else 0.14}"/>'
        )
        parts.append(svg_text(left + CELL / 2 - 0.4, y + 14, bit, TEXT[theme], 9, anchor="middle"))
    return parts
