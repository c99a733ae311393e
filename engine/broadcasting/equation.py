"""The grammar of einsum equations, without torch: `ij,jk->ik`, implicit outputs, ellipses, repeated letters."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Literal

import msgspec

ELLIPSIS = "..."
Subscripts = tuple[str, ...]
"""Letters of one operand in order; `...` stands for any number of dimensions."""
Role = Literal["batch", "free", "summed"]

MOST_CHARACTERS = 120
MOST_OPERANDS = 6
MOST_SUBSCRIPTS = 12


class EquationError(ValueError):
    """What is wrong with an equation; `position` counts characters from 0."""

    def __init__(self, what: str, position: int) -> None:
        super().__init__(f"{what} (character {position})")
        self.position = position


class Equation(msgspec.Struct, frozen=True):
    """The operands' subscripts and the output's; `is_implicit` when the equation has no `->`."""

    inputs: tuple[Subscripts, ...]
    output: Subscripts
    is_implicit: bool

    @property
    def letters(self) -> tuple[str, ...]:
        """Every index once, the output's first, then in order of appearance; `...` included."""
        return tuple(dict.fromkeys((*self.output, *(letter for operand in self.inputs for letter in operand))))

    def role(self, letter: str) -> Role:
        """batch: kept, shared by several operands; free: kept, of one operand; summed: not in the output."""
        if letter not in self.output:
            return "summed"
        return "batch" if self.is_shared(letter) else "free"

    def is_shared(self, letter: str) -> bool:
        """Whether several operands have this index."""
        return sum(letter in operand for operand in self.inputs) > 1

    def is_diagonal(self, letter: str) -> bool:
        """Whether one operand has this index twice: only its diagonal is read."""
        return any(operand.count(letter) > 1 for operand in self.inputs)

    @property
    def summed(self) -> tuple[str, ...]:
        """The indices that are not in the output."""
        return tuple(letter for letter in self.letters if letter not in self.output)

    @property
    def text(self) -> str:
        """The equation with its output written out."""
        return f"{','.join(map(''.join, self.inputs))}->{''.join(self.output)}"


def parse_equation(text: str) -> Equation:
    """Read an equation as torch.einsum does; blanks mean nothing. Raises EquationError in words with the position."""
    if len(text) > MOST_CHARACTERS:
        raise EquationError(
            f"an equation has at most {MOST_CHARACTERS} characters, this one {len(text)}", MOST_CHARACTERS
        )
    arrow = text.find("->")
    left = text if arrow < 0 else text[:arrow]
    inputs: list[Subscripts] = []
    start = 0
    for part in left.split(","):
        inputs.append(_subscripts(part, start))
        start += len(part) + 1
    if len(inputs) > MOST_OPERANDS:
        raise EquationError(f"this page takes at most {MOST_OPERANDS} operands, the equation has {len(inputs)}", 0)
    if arrow < 0:
        return Equation(tuple(inputs), implicit_output(inputs), True)
    output = _subscripts(text[arrow + 2 :], arrow + 2)
    _check_output(text, arrow + 2, output, inputs)
    return Equation(tuple(inputs), output, False)


def implicit_output(inputs: Sequence[Subscripts]) -> Subscripts:
    """Without `->`: the ellipsis, then every letter that appears exactly once, capitals first, in alphabetic order."""
    counts = Counter(letter for operand in inputs for letter in operand)
    once = sorted(letter for letter, count in counts.items() if count == 1 and letter != ELLIPSIS)
    return (*((ELLIPSIS,) if ELLIPSIS in counts else ()), *once)


def _subscripts(part: str, start: int) -> Subscripts:
    found: list[str] = []
    position = 0
    while position < len(part):
        character = part[position]
        if character == ".":
            if part[position : position + 3] != ELLIPSIS:
                raise EquationError("a dot must be one of the three of an ellipsis `...`", start + position)
            if ELLIPSIS in found:
                raise EquationError("one operand has at most one ellipsis, this one has two", start + position)
            found.append(ELLIPSIS)
            position += 3
            continue
        if character.isascii() and character.isalpha():
            found.append(character)
        elif character != " ":
            raise EquationError(f"{character!r} is no index: those are a-z and A-Z", start + position)
        position += 1
    if len(found) > MOST_SUBSCRIPTS:
        raise EquationError(f"one operand has at most {MOST_SUBSCRIPTS} indices here, this one {len(found)}", start)
    return tuple(found)


def _check_output(text: str, start: int, output: Subscripts, inputs: Sequence[Subscripts]) -> None:
    known = {letter for operand in inputs for letter in operand} | {ELLIPSIS}
    for letter in output:
        first = text.find(letter, start)
        if output.count(letter) > 1:
            raise EquationError(f"index {letter} stands twice in the output, where each index may stand once", first)
        if letter not in known:
            raise EquationError(f"index {letter} stands in the output, but in no operand", first)


def operand_shape(subscripts: Subscripts, size_of: Callable[[str], int], ellipsis: Sequence[int]) -> tuple[int, ...]:
    """The shape of an operand or output whose indices have these sizes."""
    shape: list[int] = []
    for letter in subscripts:
        shape += ellipsis if letter == ELLIPSIS else (size_of(letter),)
    return tuple(shape)


def guessed_inputs(text: str) -> tuple[Subscripts, ...]:
    """The letters of each operand of an equation that cannot be read: something to ask PyTorch about it with."""
    parts = text.partition("->")[0].split(",")[:MOST_OPERANDS]
    return tuple(tuple(c for c in part if c.isascii() and c.isalpha())[:MOST_SUBSCRIPTS] for part in parts)


def index_size(letter: str, size_of: Callable[[str], int], ellipsis: Sequence[int]) -> int:
    """How many steps an index takes; the ellipsis as the product of its dimensions."""
    return math.prod(ellipsis) if letter == ELLIPSIS else size_of(letter)


def parse_sizes(text: str) -> tuple[dict[str, int], tuple[int, ...] | None]:
    """ "i=64, j=32, ...=2x3" -> ({"i": 64, "j": 32}, (2, 3)). ValueError in words for anything else."""
    sizes: dict[str, int] = {}
    ellipsis: tuple[int, ...] | None = None
    for entry in text.replace(";", ",").split(","):
        name, equals, value = (part.strip() for part in entry.partition("="))
        if not entry.strip():
            continue
        if name == ELLIPSIS and equals:
            ellipsis = tuple(_size(word, name) for word in value.replace("×", "x").split("x") if word.strip())
        elif len(name) == 1 and name.isascii() and name.isalpha() and equals:
            sizes[name] = _size(value, name)
        else:
            raise ValueError(
                f"sizes takes one index = size between commas; received {entry.strip()[:40]!r}. Write i=64, j=32."
            )
    return sizes, ellipsis


def _size(word: str, name: str) -> int:
    if not (word.strip().isascii() and word.strip().isdigit() and len(word.strip()) <= 7):
        raise ValueError(
            f"sizes takes whole numbers of at most 7 digits; received {word.strip()[:40]!r} for {name}. Write {name}=4."
        )
    return int(word)
