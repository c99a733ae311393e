"""Asks a worker what its operators run on."""

from __future__ import annotations

from typing import ClassVar

from engine.runner.contract import Result, Spec


class Answer(Result, frozen=True, kw_only=True):
    loaded_before: bool
    compiled: bool
    reason: str
    values: tuple[float, ...]


class AskOperatorsSpec(Spec[Answer], frozen=True, kw_only=True):
    verb: ClassVar[str] = "ask_operators"
    result: ClassVar[type[Result]] = Answer

    number: int = 0
