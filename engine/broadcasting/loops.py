"""An einsum as the loop nest it stands for: Python text."""

from __future__ import annotations

from engine.broadcasting.equation import ELLIPSIS, Equation
from engine.broadcasting.rule import NAMES

OPERAND_NAMES = (*NAMES, "e", "f")


def loop_nest(equation: Equation) -> str:
    """Nested `for` loops, the output's indices outside, the summed ones inside; `...` as one loop over its indices."""
    names = variable_names(equation)
    lines = []
    for depth, letter in enumerate(equation.letters):
        role = equation.role(letter)
        comment = "" if letter in equation.output else f"  # {role}: not in the output"
        variable = names[letter].lstrip("*")
        lines.append(f"{'    ' * depth}for {variable} in {_range(equation, letter)}:{comment}")
    product = " * ".join(
        f"{OPERAND_NAMES[number]}[{_index(operand, names)}]" for number, operand in enumerate(equation.inputs)
    )
    sign = "+=" if equation.summed else "="
    lines.append(f"{'    ' * len(equation.letters)}out[{_index(equation.output, names)}] {sign} {product}")
    return "\n".join(lines)


def variable_names(equation: Equation) -> dict[str, str]:
    """Letter -> name of its loop variable; `...` is "batch", and an index named like a tensor gets a trailing "_"."""
    taken = set(OPERAND_NAMES[: len(equation.inputs)])
    return {letter: "*batch" if letter == ELLIPSIS else letter + "_" * (letter in taken) for letter in equation.letters}


def _index(letters: tuple[str, ...], names: dict[str, str]) -> str:
    return ", ".join(names[letter] for letter in letters) or "()"


def _range(equation: Equation, letter: str) -> str:
    if letter == ELLIPSIS:
        return "np.ndindex(batch_shape)"
    number = next(n for n, operand in enumerate(equation.inputs) if letter in operand)
    operand = equation.inputs[number]
    place = operand.index(letter)
    dim = place if ELLIPSIS not in operand[:place] else place - len(operand)
    return f"range({OPERAND_NAMES[number]}.shape[{dim}])"
