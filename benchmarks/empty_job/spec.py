"""A spec that asks for nothing."""

from __future__ import annotations

from typing import Annotated, ClassVar

from msgspec import Meta

from engine.runner.contract import Result, Spec


class Nothing(Result, frozen=True, kw_only=True):
    """The number that was sent, as proof that a worker answered."""

    number: int


class EmptySpec(Spec[Nothing], frozen=True, kw_only=True):
    """Send `number` there and back."""

    verb: ClassVar[str] = "return_number"
    result: ClassVar[type[Result]] = Nothing

    number: Annotated[int, Meta(ge=0, le=1_000_000)] = 0
