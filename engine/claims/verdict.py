"""From figures to a verdict, by the rules a claim states."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from engine.claims.claim import Claim, CountRule, RefusalRule, Rule, TimeRule
from engine.claims.outcome import Count, Measured, Refusal
from engine.timing.comparison import Ratio

Answer = Literal["yes", "no", "open"]
Kind = Literal["holds", "holds only when", "does not hold", "not decided", "could not run here"]
KINDS: tuple[Kind, ...] = ("holds", "holds only when", "does not hold", "not decided", "could not run here")

STATED = (
    "An exact count holds when it lies in the claimed range. A time holds when the whole 95 % band of its ratio lies "
    "in the claimed range, and is refuted when the band lies outside, on the far side of a range with two ends as "
    "*more than claimed*; a band across the limit decides nothing. *Faster* and *slower* need a difference that is "
    "shown; without one they are refuted when the band leaves room for less than 5 %, and not decided otherwise. "
    "All conditions hold: **holds**. Some hold and some are refuted: **holds only when**. Some are refuted and none "
    "holds: **does not hold**. None is refuted and some are not decided: **not decided**. Nothing could be measured: "
    "**could not run here**."
)

NEGLIGIBLE = 0.05
"""A gain that the band leaves room for, and that nobody would call faster."""


@dataclass(frozen=True)
class Check:
    """One rule, answered by what was found for it; None and "open" when that was not measured."""

    rule: Rule
    found: Count | Ratio | Refusal | None
    answer: Answer

    @property
    def is_more(self) -> bool:
        """Refuted by more of the effect than the claimed range has: faster than its fast end, slower than its slow."""
        if self.answer != "no" or not isinstance(self.rule, TimeRule) or not isinstance(self.found, Ratio):
            return False
        faster = self.rule.low > 0 and self.rule.high < 1 and self.found.high < self.rule.low
        slower = self.rule.low > 1 and self.rule.high < math.inf and self.found.low > self.rule.high
        return faster or slower


@dataclass(frozen=True)
class Verdict:
    """The kind, the checks behind it, and why nothing could be measured."""

    kind: Kind
    checks: tuple[Check, ...]
    reason: str = ""

    @property
    def conditions(self) -> tuple[str, ...]:
        """The clauses under which it holds."""
        return tuple(check.rule.clause for check in self.checks if check.answer == "yes")

    def count(self, answer: Answer) -> int:
        """How many checks have this answer."""
        return sum(check.answer == answer for check in self.checks)


def judge(claim: Claim, measured: Measured) -> Verdict:
    """The verdict on `claim` from what was measured."""
    if measured.unavailable:
        return Verdict("could not run here", (), measured.unavailable)
    checks = tuple(check(rule, measured) for rule in claim.rules)
    return Verdict(kind_of([found.answer for found in checks]), checks)


def kind_of(answers: list[Answer]) -> Kind:
    """All yes: holds; yes and no: holds only when; no without a yes: does not hold; open without a no: not decided."""
    if "no" in answers:
        return "holds only when" if "yes" in answers else "does not hold"
    return "not decided" if "open" in answers or not answers else "holds"


def check(rule: Rule, measured: Measured) -> Check:
    """`rule` answered from what was measured."""
    if isinstance(rule, CountRule):
        value = measured.count(rule.figure)
        if value is None:
            return Check(rule, None, "open")
        return Check(rule, Count(rule.figure, value), "yes" if rule.low <= value <= rule.high else "no")
    if isinstance(rule, RefusalRule):
        refusal = measured.refusal(rule.call)
        return Check(rule, refusal, "open" if refusal is None else "no" if refusal.said else "yes")
    comparison = measured.comparison(rule.condition)
    ratios = comparison.ratios if comparison else ()
    ratio = next((found for found in ratios if rule.variant in ("", found.name)), None)
    return Check(rule, ratio, answer_time(rule, ratio) if ratio else "open")


def answer_time(rule: TimeRule, ratio: Ratio) -> Answer:
    """Whether the band of a ratio lies in the claimed range; faster and slower need a difference that is shown."""
    if 1.0 in (rule.low, rule.high) and not ratio.shows_a_difference:
        possible = 1 / ratio.low if rule.high == 1.0 else ratio.high
        return "no" if possible <= 1 + NEGLIGIBLE else "open"
    if rule.low <= ratio.low and ratio.high <= rule.high:
        return "yes"
    return "no" if ratio.high < rule.low or ratio.low > rule.high else "open"
