"""From synthetic figures to a verdict."""

from __future__ import annotations

import math

import pytest

from engine.claims.catalogue import BY_KEY, BY_TITLE, CLAIMS
from engine.claims.claim import Claim, CountRule, Link, RefusalRule, TimeRule
from engine.claims.outcome import Count, Measured, Refusal, Timed
from engine.claims.spec import CubeSpec
from engine.claims.verdict import answer_time, judge, kind_of
from engine.figures.claims_words import figure_words, verdict_words
from engine.pytorch_said import PyTorchSaid
from engine.timing.band import ratios_to_first
from engine.timing.comparison import Comparison, Ratio

FASTER = TimeRule("in time", "both", high=1.0)
SLOWER = TimeRule("in time", "both", low=1.0)
SLOWER_BY = TimeRule("in time", "both", 1.15, 1.30)
THREE_TIMES = TimeRule("in time", "both", high=1 / 3)


def ratio(low: float, middle: float, high: float) -> Ratio:
    return Ratio("b", "a", middle, low, high)


def compared(factor: float) -> Comparison:
    """b takes `factor` times a's time, in every round but for one part in a thousand."""
    a = tuple(1.0 + number / 1000 for number in range(9))
    samples = (a, tuple(factor * sample for sample in a))
    return Comparison(
        names=("a", "b"),
        calls=(1, 1),
        cpu_s=samples,
        wall_s=samples,
        threads=1,
        ratios=ratios_to_first(("a", "b"), samples),
        winner=None,
    )


def claim_of(*rules) -> Claim:
    return Claim("key", "Title", "Sentence.", "Article", CubeSpec, "Experiment.", rules, Link("timing"))


@pytest.mark.parametrize(
    ("rule", "band", "answer"),
    [
        (FASTER, (0.5, 0.6, 0.7), "yes"),
        (FASTER, (0.96, 0.99, 1.1), "no"),  # no difference shown, and at most 4 % to gain
        (FASTER, (0.8, 0.97, 1.1), "open"),  # no difference shown, but room for one
        (SLOWER, (0.9, 1.0, 1.04), "no"),
        (SLOWER, (0.9, 1.0, 1.2), "open"),
        (SLOWER, (1.1, 1.2, 1.3), "yes"),
        (FASTER, (0.985, 0.99, 0.995), "no"),  # nearer to 1 than can be told
        (FASTER, (1.1, 1.2, 1.3), "no"),
        (SLOWER_BY, (1.16, 1.2, 1.29), "yes"),
        (SLOWER_BY, (1.1, 1.2, 1.29), "open"),
        (SLOWER_BY, (1.2, 1.25, 1.4), "open"),
        (SLOWER_BY, (1.4, 1.5, 1.6), "no"),
        (SLOWER_BY, (0.98, 1.0, 1.02), "no"),
        (THREE_TIMES, (0.1, 0.2, 0.3), "yes"),
        (THREE_TIMES, (0.3, 0.33, 0.36), "open"),
        (THREE_TIMES, (0.4, 0.5, 0.6), "no"),
    ],
)
def test_a_time_is_judged_by_its_whole_band(rule, band, answer):
    assert answer_time(rule, ratio(*band)) == answer


@pytest.mark.parametrize(
    ("answers", "kind"),
    [
        (["yes", "yes"], "holds"),
        (["yes", "no"], "holds only when"),
        (["yes", "open"], "holds only when"),
        (["no", "no"], "does not hold"),
        (["no", "open"], "does not hold"),
        (["open"], "not decided"),
        ([], "not decided"),
    ],
)
def test_answers_add_up_to_a_kind(answers, kind):
    assert kind_of(answers) == kind


def test_a_comparison_decides_by_its_ratio():
    for factor, kind in ((0.5, "holds"), (1.0, "does not hold"), (2.0, "does not hold")):
        measured = Measured(timed=(Timed("both", compared(factor)),))
        assert judge(claim_of(FASTER), measured).kind == kind


def test_a_count_is_exact():
    rule = CountRule("counted", "saved share", low=0.9)
    for value, kind in ((0.9, "holds"), (0.8999999, "does not hold")):
        assert judge(claim_of(rule), Measured(counts=(Count("saved share", value),))).kind == kind


def test_a_refusal_is_what_pytorch_said():
    rule = RefusalRule("called so", "f(x)")
    refused = Measured(refusals=(Refusal("f(x)", PyTorchSaid("RuntimeError", "no")),))
    carried_out = Measured(refusals=(Refusal("f(x)", None),))
    assert judge(claim_of(rule), refused).kind == "does not hold"
    assert judge(claim_of(rule), carried_out).kind == "holds"
    assert "RuntimeError" in figure_words(judge(claim_of(rule), refused))


def test_holds_only_when_names_the_conditions_that_hold():
    rules = (CountRule("memory is counted", "n"), TimeRule("time is compared", "both", high=0.5))
    found = judge(claim_of(*rules), Measured(counts=(Count("n", 1.0),), timed=(Timed("both", compared(0.9)),)))
    assert verdict_words(found) == "holds only when: memory is counted"


def test_what_could_not_run_says_why():
    found = judge(claim_of(FASTER), Measured(unavailable="there is no compiler"))
    assert (found.kind, verdict_words(found)) == ("could not run here", "could not run here: there is no compiler")


def test_what_was_not_measured_decides_nothing():
    rules = (FASTER, CountRule("counted", "n"), RefusalRule("called", "f"))
    assert judge(claim_of(*rules), Measured()).kind == "not decided"


def test_every_claim_is_told_apart_and_told_in_full():
    assert len(BY_KEY) == len(BY_TITLE) == len({claim.kind for claim in CLAIMS}) == len(CLAIMS)
    for claim in CLAIMS:
        assert claim.rules
        assert all(text.endswith(".") for text in (claim.sentence, claim.experiment, claim.lesson)), claim.key
        clauses = [rule.clause for rule in claim.rules]
        assert len(set(clauses)) == len(clauses)


def test_a_rule_about_a_range_has_a_range():
    for claim in CLAIMS:
        for rule in claim.rules:
            if not isinstance(rule, RefusalRule):
                assert rule.low <= rule.high
                assert not math.isinf(rule.low) or not math.isinf(rule.high) or isinstance(rule, TimeRule)
