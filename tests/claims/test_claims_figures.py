"""Pictures and words of a claim."""

from __future__ import annotations

import pytest

from engine.claims.claim import CountRule, RefusalRule, TimeRule
from engine.claims.outcome import Count, Measured
from engine.claims.verdict import KINDS, Check, Verdict
from engine.figures.claims_badge import MEANINGS, badge_html
from engine.figures.claims_bytes import bytes_chart
from engine.figures.claims_chart import claims_chart
from engine.figures.claims_words import count_words, found_words, ratio_words, rule_words
from engine.figures.palette import meaning
from engine.timing.comparison import Ratio


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (TimeRule("", "", high=1.0), "faster"),
        (TimeRule("", "", low=1.0), "slower"),
        (TimeRule("", "", high=1 / 3), "at least 3.00× faster"),
        (TimeRule("", "", 1.15, 1.30), "1.15× to 1.30× the time"),
        (TimeRule("", "", 1 / 5, 1 / 3), "3.00× to 5.00× faster"),
        (TimeRule("", "", low=2.0), "at least 2.00× the time"),
        (TimeRule("", "", high=1.5), "at most 1.50× the time"),
        (CountRule("", "allocations", high=0), "allocations: none"),
        (CountRule("", "saved share", low=0.9), "saved share: at least 90.0 %"),
        (CountRule("", "image bytes", 1024, 1024), "image bytes: exactly 1.00 KiB"),
        (CountRule("", "extra bytes of .contiguous()", low=1), "extra bytes of .contiguous(): at least 1 B"),
        (CountRule("", "x.is_contiguous()", low=1), "x.is_contiguous(): True"),
        (RefusalRule("", "f"), "runs"),
    ],
)
def test_a_rule_in_words(rule, words):
    assert rule_words(rule) == words


def test_a_ratio_in_words_says_both_ends():
    assert ratio_words(Ratio("b", "a", 0.5, 0.4, 0.8)) == "2.00× faster (1.25 to 2.50)"
    assert ratio_words(Ratio("b", "a", 2.0, 1.5, 3.0)) == "2.00× the time (1.50 to 3.00)"
    assert ratio_words(Ratio("b", "a", 1.0, 0.9, 1.1)).startswith("no difference shown")


def test_counts_in_their_units():
    assert count_words(Count("peak bytes", 2048.0)) == "2.00 KiB"
    assert count_words(Count("extra bytes of .contiguous()", 2048.0)) == "2.00 KiB"
    assert count_words(Count("saved share", 0.25)) == "25.0 %"
    assert count_words(Count("x.is_contiguous()", 0.0)) == "False"
    assert count_words(Count("largest error", 0.03)) == "0.0300"
    assert found_words(Check(CountRule("", "n"), None, "open")) == "not measured"


def timed(answer, ratio) -> Check:
    return Check(TimeRule(f"clause {answer}", "both", 1.15, 1.3), ratio, answer)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_chart_shows_claimed_range_and_band_of_every_timed_check(theme):
    checks = (
        timed("yes", Ratio("b", "a", 1.2, 1.16, 1.29)),
        timed("no", Ratio("b", "a", 20.0, 18.0, 22.0)),
        Check(CountRule("counted", "n"), Count("n", 1.0), "yes"),
    )
    figure = claims_chart(Verdict("holds only when", checks), theme)
    shaded = [shape for shape in figure.layout.shapes if shape.type == "rect"]
    assert [(shape.x0, shape.x1) for shape in shaded] == [(1.15, 1.3)] * 2
    bars = [trace for trace in figure.data if trace.mode == "lines"]
    assert [tuple(trace.x) for trace in bars] == [(1.16, 1.29), (18.0, 22.0)]
    colours = [trace.marker.color for trace in figure.data if trace.mode == "markers"]
    assert colours == [meaning("claim_holds").accent(theme), meaning("claim_fails").accent(theme)]


def test_nothing_timed_has_no_chart():
    assert claims_chart(Verdict("holds", (Check(CountRule("c", "n"), Count("n", 1.0), "yes"),))) is None


def test_bytes_have_bars_and_other_counts_none():
    measured = Measured(counts=(Count("held bytes", 1024.0), Count("peak bytes", 2048.0), Count("nodes", 3.0)))
    assert tuple(bytes_chart(measured).data[0].x) == (1024.0, 2048.0)
    assert bytes_chart(Measured(counts=(Count("held bytes", 1024.0),))) is None


def test_every_verdict_has_a_badge_of_its_own():
    assert len({badge_html(kind, "light") for kind in KINDS}) == len(KINDS)
    assert len({meaning(MEANINGS[kind]).mark for kind in KINDS}) == len(KINDS)
