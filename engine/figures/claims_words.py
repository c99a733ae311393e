"""A claim's rules, checks and verdict in words."""

from __future__ import annotations

import math
import re

from engine.claims.claim import CountRule, RefusalRule, Rule, TimeRule
from engine.claims.outcome import Count, Measured
from engine.claims.verdict import Answer, Check, Verdict
from engine.figures.units import format_bytes, format_count, format_significant
from engine.timing.comparison import Ratio

ANSWERS: dict[Answer, str] = {"yes": "holds", "no": "does not hold", "open": "not decided"}
MOST_TOLD = 6
_PLACE = re.compile(r"\{([^{}]+)\}")
ANSWER_MARKS: dict[Answer, str] = {"yes": "✓", "no": "✗", "open": "?"}


def rule_words(rule: Rule) -> str:
    """What is claimed: a range of a ratio or a count, or that a call runs."""
    if isinstance(rule, TimeRule):
        return time_range(rule)
    return "runs" if isinstance(rule, RefusalRule) else count_range(rule)


def time_range(rule: TimeRule) -> str:
    """The claimed range of times: "at least 3× faster", "3× to 5× faster", "1.15× to 1.3× the time"."""
    if 0 < rule.low <= rule.high < 1:
        return f"{format_significant(1 / rule.high)}× to {format_significant(1 / rule.low)}× faster"
    if rule.low > 0 and math.isfinite(rule.high):
        return f"{format_significant(rule.low)}× to {format_significant(rule.high)}× the time"
    if rule.low > 0:
        return "slower" if rule.low == 1 else f"at least {format_significant(rule.low)}× the time"
    if rule.high == 1:
        return "faster"
    if rule.high < 1:
        return f"at least {format_significant(1 / rule.high)}× faster"
    return f"at most {format_significant(rule.high)}× the time"


def count_range(rule: CountRule) -> str:
    """The claimed range of a count with its name."""
    if rule.high == 0:
        return f"{rule.figure}: none"
    low, high = (count_words(Count(rule.figure, end)) if math.isfinite(end) else "" for end in (rule.low, rule.high))
    if low and high:
        return f"{rule.figure}: " + (f"exactly {low}" if rule.low == rule.high else f"{low} to {high}")
    if _is_answer(Count(rule.figure, rule.low)):
        return f"{rule.figure}: True"
    return f"{rule.figure}: at least {low}" if low else f"{rule.figure}: at most {high}"


def count_words(count: Count) -> str:
    """A count in its unit; what reads as a call is True or False."""
    if _is_answer(count):
        return str(bool(count.value))
    if count.unit == "bytes":
        return format_bytes(count.value)
    if count.unit == "share":
        return f"{format_significant(100 * count.value)} %"
    return format_count(int(count.value)) if count.value == int(count.value) else format_significant(count.value)


def _is_answer(count: Count) -> bool:
    """Whether it is what a call returned; bytes of one are bytes."""
    return count.name.endswith(")") and not count.unit


def ratio_words(ratio: Ratio) -> str:
    """How many times faster, or times the time, than the baseline, with the band."""
    low, high = format_significant(ratio.low), format_significant(ratio.high)
    if not ratio.shows_a_difference:
        chance = ratio.is_by_chance and not ratio.low <= 1 <= ratio.high
        why = "; its rounds do not agree enough to exclude chance" if chance else ""
        return f"no difference shown (band {low} to {high}× the time{why})"
    if ratio.ratio < 1:
        fast, slow = format_significant(1 / ratio.high), format_significant(1 / ratio.low)
        return f"{format_significant(1 / ratio.ratio)}× faster ({fast} to {slow})"
    return f"{format_significant(ratio.ratio)}× the time ({low} to {high})"


def found_words(check: Check) -> str:
    """What was measured for a check."""
    if check.found is None:
        return "not measured"
    if isinstance(check.found, Ratio):
        return ratio_words(check.found)
    if isinstance(check.found, Count):
        return count_words(check.found)
    return "runs" if check.found.said is None else check.found.said.type


def figure_words(verdict: Verdict) -> str:
    """The first checks in one line: whether it holds, the clause and what was measured."""
    told = [f"{_mark(check)} {check.rule.clause}: {found_words(check)}" for check in verdict.checks]
    more = [f"{len(told) - MOST_TOLD} more"] if len(told) > MOST_TOLD else []
    return " · ".join(told[:MOST_TOLD] + more)


def _mark(check: Check) -> str:
    return ANSWER_MARKS[check.answer] + (" more than claimed," if check.is_more else "")


def lesson_words(lesson: str, measured: Measured) -> str:
    """The lesson with what was measured put in: `{name of a count}` and `{condition: name}` of a time."""
    return _PLACE.sub(lambda found: _figure(found[1], measured), lesson)


def _figure(name: str, measured: Measured) -> str:
    value = measured.count(name)
    if value is not None:
        return count_words(Count(name, value))
    condition, _, variant = name.partition(": ")
    comparison = measured.comparison(condition)
    ratio = next((ratio for ratio in comparison.ratios if ratio.name == variant), None) if comparison else None
    return "not measured" if ratio is None else ratio_words(ratio)


def verdict_words(verdict: Verdict) -> str:
    """The verdict as a sentence with its conditions or its reason, and how many conditions stand how."""
    if verdict.kind == "could not run here":
        return f"could not run here: {verdict.reason}"
    if verdict.kind == "not decided" and verdict.count("yes"):
        return tally(verdict)
    words: str = verdict.kind
    if verdict.kind == "holds only when":
        words += f": {'; '.join(verdict.conditions)}"
    return f"{words} ({tally(verdict)})" if tally(verdict) else words


def tally(verdict: Verdict) -> str:
    """How many of several conditions hold, are refuted, and are not decided; "" where all stand alike."""
    yes, no, undecided, every = verdict.count("yes"), verdict.count("no"), verdict.count("open"), len(verdict.checks)
    more = sum(check.is_more for check in verdict.checks)
    if every in (yes, no, undecided) and not more:
        return ""
    parts = [f"holds in {yes} of {every}"] if yes else []
    if no:
        parts.append(f"{no} refuted" if yes else f"{no} of {every} refuted")
        parts[-1] += " by more than claimed" if more == no else f", {more} by more than claimed" if more else ""
    return ", ".join([*parts, *([f"{undecided} not decided here"] if undecided else [])])


def answer_words(check: Check) -> str:
    """The answer to one check, and whether it was refuted by more than is claimed."""
    return "more than claimed" if check.is_more else ANSWERS[check.answer]


def first_upper(text: str) -> str:
    """The text with its first letter in upper case and nothing else changed: CSR stays CSR."""
    return text[:1].upper() + text[1:]
