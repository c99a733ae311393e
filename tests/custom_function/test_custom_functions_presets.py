"""What each question's notice claims."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from engine.figures.arrays import array
from engine.figures.custom_function_curves import values_of
from pages.backward.custom_functions_controls import parse_numbers
from pages.backward.custom_functions_numbers import curve_distance
from pages.backward.custom_functions_presets import PRESETS, SPECS
from tests.custom_function.checking import at, checked, gradients


def asked(question, **changes):
    return checked(msgspec.structs.replace(SPECS[question], **changes))


def test_a_clipped_derivative():
    question = "Is a clipped derivative still a derivative?"
    found = asked(question)
    assert gradients(found)[0] == pytest.approx(0.1)
    assert array(found.check.pairs[0].numerical)[0, 0] == pytest.approx(0.5, abs=1e-6)
    assert found.verdict.kind == "intended clip"
    assert asked(question, clip=0.5).check.passed


def test_a_clamp_that_gradcheck_does_not_see():
    found = asked("Why does gradcheck pass a backward that clips?")
    assert found.check.passed
    assert found.verdict.kind == "not linear in grad_output"
    curve = found.curves[0]
    middle = len(values_of(curve, "x")) // 2
    assert values_of(curve, "analytic")[middle] == 1.0
    assert values_of(curve, "complex_step")[middle] == pytest.approx(2.0)


def test_the_approximate_gelu():
    question = "How approximate is FusedGELU's backward?"
    found = asked(question)
    assert found.verdict.kind == "wrong formula"
    ours, true = (np.diag(array(getattr(found.check.pairs[0], name))) for name in ("analytical", "numerical"))
    assert curve_distance(found) == pytest.approx(0.029, abs=5e-4)
    assert np.abs(ours - true).max() == pytest.approx(0.015, abs=5e-4)
    times = np.abs(ours - true) / (1e-5 + 1e-3 * np.abs(true))
    assert times[2] < 1
    assert np.delete(times, 2).min() > 10
    assert at(0.0, function="FusedGELU").check.passed


def test_float32():
    question = "Why does a right backward fail in float32?"
    found = asked(question)
    assert found.verdict.kind == "precision"
    assert 0.005 < found.check.worst.difference < 0.1
    assert asked(question, dtype="float64").check.passed
    assert asked(question, eps=1e-2, atol=1e-2).check.passed


def test_the_kink():
    found = asked("What does gradcheck say at a kink?")
    worst = found.check.worst
    assert (worst.column, worst.analytical) == (1, 0.0)
    assert worst.numerical == pytest.approx(0.5)
    assert found.verdict.kind == "kink"


def test_the_count_and_the_list():
    count = asked("One argument too many?")
    assert "expected 2, got 1" in count.call.backward_error.message
    assert len(count.call.next_functions) == 1
    assert asked("Where did the gradient of a list go?").call.grad_fn == ""


def test_what_ctx_loses():
    found = asked("What is lost by ctx.x = x?")
    assert found.lifetime.write_error is None
    assert found.lifetime.gradient_changed > 0
    assert (found.lifetime.freed_at_once, found.lifetime.freed_by_gc) == (False, True)
    assert asked("What is lost by ctx.x = x?", function="XExp").lifetime.write_error is not None


def test_the_estimator():
    found = asked("Is an estimator wrong?")
    pair = found.check.pairs[0]
    assert np.diag(array(pair.analytical)).tolist() == [0.0, 1.0, 1.0, 0.0]
    assert not array(pair.numerical).any()
    assert found.verdict.kind == "intended surrogate"


def test_once_differentiable():
    found = asked("Which order does once_differentiable end?")
    assert found.first_failing_order == 2
    assert found.orders[1].error.message.startswith("Jacobian mismatch")
    assert found.orders[1].off_formula is None or found.orders[1].off_formula == 2.0
    assert found.verdict.kind == "once differentiable"


def test_noise():
    question = "Same input, other gradient?"
    found = asked(question)
    assert found.verdict.kind == "non-deterministic"
    assert found.check.mismatches == 0
    assert asked(question, nondet_tol=1e-5).check.passed


def test_the_conjugate():
    question = "Does backward need a conjugate?"
    found = asked(question)
    assert "8 of 16" in found.verdict.sentence
    assert asked(question, dtype="float64").check.passed


def test_every_question_is_claimed_above_and_says_what_to_predict():
    assert len(PRESETS) == len(SPECS) == 12
    assert all("Predict" in preset.prediction for preset in PRESETS)


@pytest.mark.parametrize(("text", "numbers"), [("-1, 0 2.5;1e-3", (-1.0, 0.0, 2.5, 1e-3)), ("", ()), (".5,", (0.5,))])
def test_points_as_typed(text, numbers):
    assert parse_numbers(text) == numbers


@pytest.mark.parametrize("text", ["1, two", "nan", "1e9999", "--1", "<b>", "1" * 300])
def test_points_that_are_none(text):
    with pytest.raises(ValueError, match="points takes"):
        parse_numbers(text)
