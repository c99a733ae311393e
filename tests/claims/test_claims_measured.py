"""Every claim runs at a small size, and gives everything its rules judge by."""

from __future__ import annotations

import pytest

from engine import run
from engine.claims.claim import CountRule, TimeRule
from engine.claims.modules import MODULES
from engine.claims.spec import CombinedSpec
from engine.claims.verdict import judge
from engine.figures.claims_words import lesson_words
from tests.claims.small import CLAIM_OF, COUNTED, IN_THIS_PROCESS, SMALL, name_of

TIMED = tuple(spec for spec in IN_THIS_PROCESS if spec.measured)
IN_A_WORKER = tuple(spec for spec in SMALL if spec.needs)


def check_everything_is_there(spec, measured):
    claim = CLAIM_OF[type(spec)]
    assert measured.unavailable == ""
    verdict = judge(claim, measured)
    assert "not measured" not in lesson_words(claim.lesson, measured)
    assert [check.rule for check in verdict.checks if check.found is None] == []
    for rule in claim.rules:
        if isinstance(rule, TimeRule):
            assert measured.comparison(rule.condition).rounds >= 5
        elif isinstance(rule, CountRule):
            assert measured.count(rule.figure) is not None
    assert verdict.kind != "could not run here"


def test_every_claim_has_a_module_and_a_small_size():
    assert {type(spec) for spec in SMALL} == set(MODULES) == set(CLAIM_OF)


@pytest.mark.parametrize("spec", COUNTED, ids=name_of)
def test_what_is_only_counted_is_the_same_every_time(spec):
    first, second = (run(spec, inline=True) for _ in range(2))
    assert first == second
    check_everything_is_there(spec, first)


@pytest.mark.slow
@pytest.mark.parametrize("spec", TIMED, ids=name_of)
def test_what_is_timed_gives_all_its_conditions(spec):
    check_everything_is_there(spec, run(spec, inline=True))


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("spec", IN_A_WORKER, ids=name_of)
def test_what_needs_more_of_the_sandbox_runs_in_it(spec):
    check_everything_is_there(spec, run(spec))


def test_a_width_that_heads_cannot_share_is_refused_in_words():
    with pytest.raises(ValueError, match=r"multiple of 4.*received 18\. Use 16"):
        CombinedSpec(width=18)


def test_without_a_compiler_the_claim_says_so(monkeypatch):
    from engine.claims import compiled_step, wrapped_matmul

    monkeypatch.setenv("PATH", "")
    for module in (compiled_step, wrapped_matmul):
        assert "compiler" in module.unavailable()
