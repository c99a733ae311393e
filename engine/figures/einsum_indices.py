"""The indices of an equation as coloured letters: an operand a row, a chip per dimension, summed ones hatched."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from engine.broadcasting.equation import ELLIPSIS, Equation
from engine.broadcasting.loops import OPERAND_NAMES
from engine.broadcasting.spec import EinsumSpec
from engine.figures.palette import BACKGROUND, CATEGORICAL, MUTED, TEXT, Theme, mix
from engine.figures.units import format_shape

ROLES = {
    "batch": "kept, shared by several operands: one product per value",
    "free": "kept, in one operand",
    "summed": "not in the output",
}
"""What the word for an index means."""


def equation_html(spec: EinsumSpec, equation: Equation, theme: Theme) -> str:
    """Operands and output one below the other, each with its indices in order; every index keeps its colour."""
    rows = [
        _row(OPERAND_NAMES[number], letters, spec, equation, theme) for number, letters in enumerate(equation.inputs)
    ]
    rows.append(_row("out", equation.output, spec, equation, theme))
    return (
        f'<table aria-label="Indices of the equation" style="border-collapse:collapse;color:{TEXT[theme]};'
        f'font-variant-numeric:tabular-nums">{"".join(rows)}</table>'
    )


def colour_of_index(equation: Equation, letter: str, theme: Theme) -> str:
    """The colour of an index, in order of first appearance."""
    return CATEGORICAL[equation.letters.index(letter) % len(CATEGORICAL)][theme == "dark"]


def index_rows(spec: EinsumSpec, equation: Equation) -> tuple[tuple[str, str, str, str], ...]:
    """(index, size, role, where it stands) of every index."""
    names = [*OPERAND_NAMES[: len(equation.inputs)], "out"]
    rows = []
    for letter in equation.letters:
        places = [
            name for name, letters in zip(names, (*equation.inputs, equation.output), strict=True) if letter in letters
        ]
        size = format_shape(spec.ellipsis) if letter == ELLIPSIS else str(spec.length_of(letter))
        rows.append((letter, size, _words(equation, letter), ", ".join(places)))
    return tuple(rows)


def _words(equation: Equation, letter: str) -> str:
    """The same words on a chip and in the table."""
    return f"{equation.role(letter)}, diagonal" if equation.is_diagonal(letter) else equation.role(letter)


def _row(name: str, letters: Sequence[str], spec: EinsumSpec, equation: Equation, theme: Theme) -> str:
    chips = "".join(_chip(letter, spec, equation, theme) for letter in letters)
    nothing = f'<span style="color:{MUTED[theme]}">0-dim</span>'
    return (
        f'<tr><th style="text-align:left;padding:4px 18px 4px 0"><code>{name}</code></th>'
        f'<td style="padding:4px 0">{chips or nothing}</td></tr>'
    )


def _chip(letter: str, spec: EinsumSpec, equation: Equation, theme: Theme) -> str:
    colour = colour_of_index(equation, letter, theme)
    fill = mix(BACKGROUND[theme], colour, 0.18)
    background = fill
    if letter not in equation.output:
        stripe = mix(BACKGROUND[theme], colour, 0.42)
        background = f"repeating-linear-gradient(135deg,{fill} 0 5px,{stripe} 5px 7px)"
    size = format_shape(spec.ellipsis) if letter == ELLIPSIS else str(spec.length_of(letter))
    return (
        f'<span style="display:inline-block;margin:2px 6px 2px 0;padding:3px 12px;border-radius:6px;'
        f"background:{background};"
        f'box-shadow:inset 0 0 0 1.5px {colour}"><b style="font-size:18px;font-family:monospace">{escape(letter)}</b>'
        f' <span style="font-size:13px">{escape(size)}</span>'
        f' <span style="font-size:11px">{_words(equation, letter)}</span></span>'
    )
