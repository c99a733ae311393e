"""What can be asked of the number formats; torch-free."""

from __future__ import annotations

import math
from typing import Annotated, ClassVar

from msgspec import Meta

from engine.number_format.formats import FORMATS
from engine.number_format.parse import Typed, parse_value, parse_values
from engine.number_format.results import Formats, RunningSums
from engine.runner.contract import Limits, Result, Spec, check_ranges

__all__ = ["NumberFormatSpec", "RunningSumSpec"]

SUMMED = ("float32", "bfloat16", "float16", "float8_e5m2", "float8_e4m3fn")
LONGEST_TEXT = 400


def _checked_text(kind: str, text: str) -> None:
    if not isinstance(text, str) or len(text) > LONGEST_TEXT:
        raise ValueError(
            f"{kind} takes a text of at most {LONGEST_TEXT} characters; received {str(text)[:40]!r}. "
            "Write as in 0.1, 1/3, 2**-24."
        )


class NumberFormatSpec(Spec[Formats], frozen=True, kw_only=True):
    """Convert the numbers in `text` to every floating point dtype torch has.

    Raises ValueError for text that is no number.
    """

    verb: ClassVar[str] = "convert_values"
    result: ClassVar[type[Result]] = Formats
    limits: ClassVar[Limits] = Limits()

    text: str = "0.1"
    scale: Annotated[float, Meta(ge=2.0**-40, le=2.0**40, description="multiplied before, divided after")] = 65536.0

    def __post_init__(self) -> None:
        check_ranges(self)
        _checked_text("NumberFormatSpec.text", self.text)
        _ = self.typed

    @property
    def typed(self) -> tuple[Typed, ...]:
        return parse_values(self.text)


class RunningSumSpec(Spec[RunningSums], frozen=True, kw_only=True):
    """Add `addend` to `start`, `count` times, one addition after the other, in each of a few dtypes.

    Raises ValueError for text that is no finite number.
    """

    verb: ClassVar[str] = "add_repeatedly"
    result: ClassVar[type[Result]] = RunningSums
    limits: ClassVar[Limits] = Limits()

    addend: str = "0.1"
    start: str = "0"
    count: Annotated[int, Meta(ge=1, le=20_000)] = 10_000

    def __post_init__(self) -> None:
        check_ranges(self)
        for name in ("addend", "start"):
            text = getattr(self, name)
            _checked_text(f"RunningSumSpec.{name}", text)
            if not math.isfinite(parse_value(text.strip()).value):
                raise ValueError(
                    f"RunningSumSpec.{name} must be a finite number of float64, at most 1.8e308; "
                    f"received {text[:40]!r}. Write as in 0.1 or 2048."
                )

    @property
    def numbers(self) -> tuple[Typed, Typed]:
        """(start, addend)."""
        return parse_value(self.start.strip()), parse_value(self.addend.strip())


assert set(SUMMED) <= {one.name for one in FORMATS}
