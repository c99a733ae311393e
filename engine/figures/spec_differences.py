"""Which settings differ between two specs, in the words that the controls and the code use."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import msgspec

from engine.figures.units import shorten

LONGEST = 40
"""Characters of a value; a setting may be a whole program."""


class SettingDifference(msgspec.Struct, frozen=True):
    """One setting: its name as far as needed to tell it apart, and its value in A and in B as text."""

    name: str
    a: str
    b: str

    @property
    def words(self) -> str:
        """ "checkpoint: off → each_block"."""
        return f"{self.name}: {self.a} → {self.b}"


def spec_differences(a: msgspec.Struct, b: msgspec.Struct) -> tuple[SettingDifference, ...]:
    """Every field with another value, in the order of the fields; () for equal specs.

    Parts of another kind (another architecture) count as one difference: their fields mean different things.
    """
    found = list(_differences((), a, b))
    ends = Counter(path[-1] for path, _, _ in found)
    return tuple(
        SettingDifference(path[-1] if ends[path[-1]] == 1 else ".".join(path), _text(one), _text(two))
        for path, one, two in found
    )


def _differences(path: tuple[str, ...], a: Any, b: Any) -> Iterator[tuple[tuple[str, ...], Any, Any]]:
    if isinstance(a, msgspec.Struct) and type(a) is type(b):
        for name in a.__struct_fields__:
            yield from _differences((*path, name), getattr(a, name), getattr(b, name))
    elif isinstance(a, tuple) and isinstance(b, tuple) and _same_kinds(a, b):
        for number, (one, two) in enumerate(zip(a, b, strict=True)):
            yield from _differences((*path[:-1], f"{path[-1]}[{number}]"), one, two)
    elif a != b and not (a != a and b != b):
        yield path or ("kind",), a, b


def _same_kinds(a: tuple[Any, ...], b: tuple[Any, ...]) -> bool:
    """Whether these are equally many parts with fields of their own."""
    return len(a) == len(b) and all(
        isinstance(one, msgspec.Struct) and type(one) is type(two) for one, two in zip(a, b, strict=True)
    )


def _text(value: Any) -> str:
    if isinstance(value, msgspec.Struct):
        return type(value).__name__
    if isinstance(value, tuple | list):
        return shorten(", ".join(map(_text, value)), LONGEST) if value else "none"
    return shorten(str(value), LONGEST) or "empty"
