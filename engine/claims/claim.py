"""What a claim is: a sentence, the spec that measures it, and the rules it is judged by."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from engine.claims.outcome import Measured
from engine.models.spec import ModelSpec
from engine.runner.contract import Spec

CORE_API = "PyTorch's core API in depth"
PRACTICE = "The design of PyTorch's API and modern practice"
"""Titles of the two articles, translated."""


@dataclass(frozen=True)
class CountRule:
    """`figure` must lie between `low` and `high`; `clause` is the condition as it reads after "holds only for"."""

    clause: str
    figure: str
    low: float = -math.inf
    high: float = math.inf


@dataclass(frozen=True)
class TimeRule:
    """time of `variant` / time of the first must lie in [low, high] under `condition`; "" means the only other name.

    `low` and `high` are ratios of times: "at least 3 times faster" is high = 1/3; "faster" is high = 1, "slower" is
    low = 1, and for these a difference must be shown.
    """

    clause: str
    condition: str
    low: float = 0.0
    high: float = math.inf
    variant: str = ""


@dataclass(frozen=True)
class RefusalRule:
    """PyTorch must carry out `call`, as the article has it."""

    clause: str
    call: str


Rule = CountRule | TimeRule | RefusalRule


@dataclass(frozen=True)
class Link:
    """A page that explains it: its address, and what it should stand at: one of its questions, a model, settings."""

    address: str
    settings: dict[str, str] = field(default_factory=dict)
    model: ModelSpec | None = None
    question: str = ""


@dataclass(frozen=True)
class Claim:
    """One claim of an article; `quick` ones take a few seconds at their default sizes."""

    key: str
    title: str
    sentence: str
    article: str
    kind: type[Spec[Measured]]
    experiment: str
    rules: tuple[Rule, ...]
    link: Link
    quick: bool = True
    lesson: str = ""
    """What to notice; figures in braces, {name of a count} or {condition: name}, are those that were measured."""

    def spec(self, **values: Any) -> Spec[Measured]:
        """The spec with these sizes."""
        return self.kind(**values)
