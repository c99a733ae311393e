"""An einsum as linked cells: an output cell lights up every operand cell that is multiplied and summed into it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence

from engine.broadcasting.equation import ELLIPSIS, Equation
from engine.broadcasting.loops import OPERAND_NAMES
from engine.broadcasting.spec import EinsumSpec
from engine.figures.axes_panel import axes_panel
from engine.figures.broadcasting_sizes import address, contiguous_strides, drawn_lengths, indices
from engine.figures.cells import CellScene, Panel


def einsum_scene(spec: EinsumSpec, equation: Equation) -> CellScene:
    """Operands above, the output below; `...` is drawn as one dimension."""
    lengths = lengths_drawn(spec, equation)
    firsts = list(itertools.accumulate((_count(letters, lengths) for letters in equation.inputs), initial=0))
    reads = _reads(equation, lengths, firsts)
    used = {cell for cells in reads for cell in cells}
    panels = [_operand_panel(equation, number, lengths, firsts[number], used) for number in range(len(equation.inputs))]
    output = _output_panel(equation, lengths, firsts[-1], reads)
    summed = ", ".join(map(_axis, shaded_letters(equation)))
    return CellScene(
        panels=(*panels, output),
        rows=(tuple(panel.key for panel in panels), (output.key,)),
        scale=(f"first of {summed}", "last") if summed else ("", ""),
    )


def shaded_letters(equation: Equation) -> tuple[str, ...]:
    """The summed indices that colour the operands: those that stand in the same operands as the first shared one."""
    summed = sorted(equation.summed, key=lambda letter: not equation.is_shared(letter))
    if not summed:
        return ()
    places = [summed[0] in operand for operand in equation.inputs]
    return tuple(letter for letter in summed if [letter in operand for operand in equation.inputs] == places)


def lengths_drawn(spec: EinsumSpec, equation: Equation) -> dict[str, int]:
    """Steps of every index in the picture."""
    lengths = {letter: spec.length_of(letter) for letter in equation.letters}
    return drawn_lengths(lengths, (*equation.inputs, equation.output))


def is_cut(spec: EinsumSpec, equation: Equation) -> bool:
    """Whether the picture is smaller than what was computed."""
    return any(spec.length_of(letter) != drawn for letter, drawn in lengths_drawn(spec, equation).items())


def _count(letters: Sequence[str], lengths: Mapping[str, int]) -> int:
    return math.prod(lengths[letter] for letter in letters)


def _shape(letters: Sequence[str], lengths: Mapping[str, int]) -> tuple[int, ...]:
    return tuple(lengths[letter] for letter in letters)


def _reads(equation: Equation, lengths: Mapping[str, int], firsts: Sequence[int]) -> list[tuple[int, ...]]:
    """For every output cell the ids of the operand cells that go into it, each once."""
    found: list[dict[int, None]] = [{} for _ in range(_count(equation.output, lengths))]
    strides = [contiguous_strides(_shape(letters, lengths)) for letters in equation.inputs]
    out_strides = contiguous_strides(_shape(equation.output, lengths))
    for values in indices(tuple(lengths.values())):
        at = dict(zip(lengths, values, strict=True))
        cell = found[address([at[letter] for letter in equation.output], out_strides)]
        for letters, steps, first in zip(equation.inputs, strides, firsts, strict=False):
            cell[first + address([at[letter] for letter in letters], steps)] = None
    return [tuple(cell) for cell in found]


def _operand_panel(equation: Equation, number: int, lengths: Mapping[str, int], first: int, used: set[int]) -> Panel:
    letters = equation.inputs[number]
    count = _count(letters, lengths)
    inside = list(indices(_shape(letters, lengths)))
    name = OPERAND_NAMES[number]
    return axes_panel(
        name,
        f"{name}[{', '.join(letters)}]",
        _shape(letters, lengths),
        range(first, first + count),
        axes=[_axis(letter) for letter in letters],
        shades=[_summed_shade(equation, letters, index, lengths) for index in inside],
        marks=["" if first + offset in used else "gap" for offset in range(count)],
        words=[f"{name}[{_named(letters, index)}]" for index in inside],
        caption=_caption(equation, letters),
    )


def _summed_shade(
    equation: Equation, letters: Sequence[str], index: Sequence[int], lengths: Mapping[str, int]
) -> float:
    """How far along the summed indices a cell is: cells that are multiplied with each other have the same colour."""
    at = dict(zip(letters, index, strict=True))
    summed = shaded_letters(equation)
    if not summed or not set(summed) <= at.keys():
        return math.nan
    steps = contiguous_strides(_shape(summed, lengths))
    last = _count(summed, lengths) - 1
    return address([at[letter] for letter in summed], steps) / last if last > 0 else 0.0


def _output_panel(
    equation: Equation, lengths: Mapping[str, int], first: int, reads: Sequence[tuple[int, ...]]
) -> Panel:
    letters = equation.output
    terms = math.prod(lengths[letter] for letter in equation.summed)
    inside = [f"out[{_named(letters, index)}]" for index in indices(_shape(letters, lengths))]
    return axes_panel(
        "out",
        f"out[{', '.join(letters)}]",
        _shape(letters, lengths),
        range(first, first + len(reads)),
        axes=[_axis(letter) for letter in letters],
        reads=reads,
        marks=["output"] * len(reads),
        words=[f"{name}: a sum of {terms} product{'s' * (terms != 1)}" for name in inside],
        caption=f"every cell sums over {', '.join(equation.summed)}" if equation.summed else "no index is summed",
    )


def _axis(letter: str) -> str:
    return "…" if letter == ELLIPSIS else letter


def _named(letters: Sequence[str], index: Sequence[int]) -> str:
    return ", ".join(f"{_axis(letter)}={position}" for letter, position in zip(letters, index, strict=True))


def _caption(equation: Equation, letters: Sequence[str]) -> str:
    summed = [_axis(letter) for letter in dict.fromkeys(letters) if letter not in equation.output]
    diagonal = [letter for letter in dict.fromkeys(letters) if letters.count(letter) > 1]
    parts = [f"{', '.join(summed)} summed"] if summed else ["nothing of it summed"]
    parts += [f"only where both {letter} agree" for letter in diagonal]
    return ", ".join(parts)
