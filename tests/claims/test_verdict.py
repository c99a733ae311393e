"""From synthetic figures to a verdict."""

from __future__ import annotations

import itertools
import math

import pytest

from engine.claims.catalogue import BY_KEY, BY_TITLE, CLAIMS
from engine.claims.claim import Claim, CountRule, Link, RefusalRule, TimeRule
from engine.claims.outcome import Count, Measured, Refusal, Timed
from engine.claims.spec import CubeSpec
from engine.claims.verdict import Check, Verdict, answer_time, judge, kind_of
from engine.figures.claims_words import answer_words, figure_words, first_upper, lesson_words, verdict_words
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
        (["yes", "open"], "not decided"),
        (["yes", "no", "open"], "holds only when"),
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
    assert verdict_words(found) == "holds only when: memory is counted (holds in 1 of 2, 1 refuted)"


def counted(*answers) -> Verdict:
    rules = [CountRule(f"condition {number}", "n") for number in range(len(answers))]
    return Verdict(kind_of(list(answers)), tuple(Check(r, None, a) for r, a in zip(rules, answers, strict=True)))


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        (("yes", "yes"), "holds"),
        (("yes", "yes", "open"), "holds in 2 of 3, 1 not decided here"),
        (("no", "open", "open", "open", "open"), "does not hold (1 of 5 refuted, 4 not decided here)"),
        (("no", "no"), "does not hold"),
        (("no",), "does not hold"),
        (("open", "open"), "not decided"),
        (("yes", "no", "open"), "holds only when: condition 0 (holds in 1 of 3, 1 refuted, 1 not decided here)"),
    ],
)
def test_the_words_count_what_is_open(answers, words):
    assert verdict_words(counted(*answers)) == words


@pytest.mark.parametrize("answers", [*itertools.product(("yes", "no", "open"), repeat=3)])
def test_no_words_hide_an_open_condition(answers):
    verdict = counted(*answers)
    words = verdict_words(verdict)
    assert ("not decided" in words) == ("open" in answers)
    assert ("holds only when" in words) == ("yes" in answers and "no" in answers)
    assert words != "holds" or set(answers) == {"yes"}


THREE_TO_FIVE = TimeRule("time is compared", "both", 1 / 5, 1 / 3)


@pytest.mark.parametrize(
    ("rule", "band", "is_more"),
    [
        (THREE_TO_FIVE, (0.002, 0.00207, 0.0021), True),  # 482 times faster
        (THREE_TO_FIVE, (0.4, 0.5, 0.6), False),  # faster, but by less
        (THREE_TO_FIVE, (1.4, 1.5, 1.6), False),  # slower
        (THREE_TO_FIVE, (0.21, 0.25, 0.3), False),  # as claimed
        (SLOWER_BY, (18.0, 20.0, 22.0), True),
        (SLOWER_BY, (0.4, 0.5, 0.6), False),
        (THREE_TIMES, (0.002, 0.00207, 0.0021), False),  # at least: the more the better
        (FASTER, (2.0, 2.1, 2.2), False),
    ],
)
def test_beyond_the_claimed_range_is_more_than_claimed(rule, band, is_more):
    found = Check(rule, ratio(*band), answer_time(rule, ratio(*band)))
    assert found.is_more == is_more
    assert (answer_words(found) == "more than claimed") == is_more
    assert ("more than claimed" in verdict_words(Verdict(kind_of([found.answer]), (found,)))) == is_more


def test_a_lesson_has_the_figures_that_were_measured():
    measured = Measured(
        counts=(Count("nodes", 11.0), Count("saved share", 0.25)), timed=(Timed("both", compared(0.5)),)
    )
    words = lesson_words("{nodes} nodes, {saved share} saved, {both: b}, {nothing such}.", measured)
    assert words.startswith("11 nodes, 25.0 % saved, 2.00× faster")
    assert words.endswith("not measured.")


@pytest.mark.parametrize("text", ["CSR product", "COO", "√n segments", "float16 keeps", "Linear + ReLU"])
def test_only_the_first_letter_changes(text):
    assert first_upper(text)[1:] == text[1:]
    assert first_upper("holds only when: CSR") == "Holds only when: CSR"


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
