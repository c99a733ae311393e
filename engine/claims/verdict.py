"""From figures to a verdict, by the rules a claim states."""

from __future__ import annotations

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
    "in the claimed range, and does not hold when the band lies outside; a band across the limit decides nothing. "
    "*Faster* and *slower* need a difference that is shown; without one they do not hold when the band leaves room for "
    "less than 5 %, and are not decided otherwise. All conditions hold: **holds**. Some: **holds only when**. "
    "None: **does not hold**. None that is decided: **not decided**."
)

NEGLIGIBLE = 0.05
"""A gain that the band leaves room for, and that nobody would call faster."""


@dataclass(frozen=True)
class Check:
    """One rule, answered by what was found for it; None and "open" when that was not measured."""

    rule: Rule
    found: Count | Ratio | Refusal | None
    answer: Answer


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


def judge(claim: Claim, measured: Measured) -> Verdict:
    """The verdict on `claim` from what was measured."""
    if measured.unavailable:
        return Verdict("could not run here", (), measured.unavailable)
    checks = tuple(check(rule, measured) for rule in claim.rules)
    return Verdict(kind_of([found.answer for found in checks]), checks)


def kind_of(answers: list[Answer]) -> Kind:
    """All yes: holds; some: holds only when; no yes but a no: does not hold; otherwise not decided."""
    if "yes" in answers:
        return "holds" if all(answer == "yes" for answer in answers) else "holds only when"
    return "does not hold" if "no" in answers else "not decided"


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
