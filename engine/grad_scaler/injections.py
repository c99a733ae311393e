"""Overflows put into a run on purpose, and the text a person writes them in; torch-free."""

from __future__ import annotations

import re
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from engine.runner.contract import check_ranges

MOST_STEPS = 60
MOST_INJECTIONS = 60
LONGEST_PLACE = 80
LONGEST_TEXT = 600
LOSS = "loss"
_ENTRY = re.compile(r"\s*(?:step\s+)?(\d{1,4})\s+(inf|-inf|nan)(?:\s+in\s+([A-Za-z_][\w.]*))?\s*", re.ASCII)

Value = Literal["inf", "-inf", "nan"]


class Injection(msgspec.Struct, frozen=True):
    """In step `step` (from 1) the loss, or one element of that parameter's gradient, becomes `value`."""

    step: Annotated[int, Meta(ge=1, le=MOST_STEPS)] = 1
    value: Value = "inf"
    place: str = LOSS

    def __post_init__(self) -> None:
        check_ranges(self)
        if not isinstance(self.place, str) or not 0 < len(self.place) <= LONGEST_PLACE:
            raise ValueError(
                f"Injection.place must be 'loss' or a parameter's name of at most {LONGEST_PLACE} characters; "
                f"received {str(self.place)[:LONGEST_PLACE]!r}. Write it as in 'blocks.0.weight'."
            )


def parse_injections(text: str) -> tuple[Injection, ...]:
    """`2 inf, 5 nan, 7 inf in blocks.0.weight`; ValueError in words for anything else."""
    if len(text) > LONGEST_TEXT:
        raise ValueError(f"Overflows take at most {LONGEST_TEXT} characters; received {len(text)}. Write fewer.")
    return tuple(_parsed(entry) for entry in re.split(r"[,;\n]", text) if entry.strip())


def _parsed(entry: str) -> Injection:
    found = _ENTRY.fullmatch(entry)
    if found is None:
        raise ValueError(
            f"An overflow is a step with inf, -inf or nan, and where: '2 inf' (the loss) or '7 nan in head.weight'; "
            f"received {entry.strip()[:60]!r}. Put commas between several."
        )
    value: Value = "inf" if found[2] == "inf" else "-inf" if found[2] == "-inf" else "nan"
    return Injection(int(found[1]), value, found[3] or LOSS)


def injections_text(injections: tuple[Injection, ...]) -> str:
    """As they stand in the field."""
    places = ("" if one.place == LOSS else f" in {one.place}" for one in injections)
    return ", ".join(f"{one.step} {one.value}{place}" for one, place in zip(injections, places, strict=True))
