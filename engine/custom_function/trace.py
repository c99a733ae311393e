"""The decision on a Function as it is reached."""

from __future__ import annotations

from engine.custom_function.results import Step, Verdict, VerdictKind
from engine.custom_function.verdict_words import REMEDIES


class Trace:
    """The decision so far; `decide` ends it."""

    def __init__(self) -> None:
        self.steps: list[Step] = []

    def note(self, test: str, outcome: str) -> None:
        self.steps.append(Step(test, outcome))

    def decide(self, kind: VerdictKind, test: str, outcome: str, sentence: str) -> Verdict:
        steps = (*self.steps, Step(test, outcome, True))
        return Verdict(kind=kind, sentence=sentence, remedy=REMEDIES[kind], steps=steps)


def elements(count: int) -> str:
    return f"{count} element{'s' * (count != 1)}"
