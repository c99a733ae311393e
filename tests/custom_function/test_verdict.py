"""The reason is found for every kind of failure, by tests that are listed; gradcheck itself has the last word."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from engine.custom_function import evidence, scaling, slopes
from engine.custom_function.building import make, make_inputs
from engine.custom_function.catalogue import TYPED
from engine.custom_function.results import VerdictKind
from engine.custom_function.spec import CustomFunctionSpec
from engine.custom_function.verdict_words import REMEDIES
from engine.figures.arrays import array
from engine.pytorch_said import attempt
from tests.custom_function.checking import at, check, checked

SILU = {"function": TYPED, "forward": "x * sigmoid(x)"}
TYPED_CASES = [
    ("x**2", "2*x", (2.0,), "not multiplied by grad_output"),
    ("x", "1", (2.0,), "not multiplied by grad_output"),
    ("x**2", "g*2*x + 0.00001", (2.0,), "not multiplied by grad_output"),
    ("x**2", "2*x", (-1.0, 0.0, 2.0), "not multiplied by grad_output"),
    ("x**2", "2*g*x + 1", (-1.0, 0.0, 2.0), "not multiplied by grad_output"),
    ("x**2", "abs(g)*2*x", (-1.0, 0.5, 2.0), "not linear in grad_output"),
    ("x**2", "relu(g)*2*x", (-1.0, 0.5, 2.0), "not linear in grad_output"),
    ("x**2", "where(abs(g) < 0.1, 0*g, g)*2*x", (-1.0, 0.5), "not linear in grad_output"),
    ("abs(x)", "", (-1.0, 0.0, 2.0), "kink"),
    ("abs(x)", "g*sign(x)", (-1.0, 0.5, 2.0), "right"),
    ("sqrt(abs(x))", "g*0.5*sign(x)/sqrt(abs(x))", (-1.0, 0.0, 2.0), "kink"),
    ("heaviside(x, 0.5)", "0*g", (0.0,), "kink"),
    *(
        (f, b.replace("g", factor), (-1.0, 0.0, 2.0), kind)
        for f, b in (("tanh(100000*x)", "g*100000*(1 - y**2)"), ("sin(1000000*x)", "g*1000000*cos(1000000*x)"))
        for factor, kind in (("g", "precision"), ("2*g", "wrong formula"))
    ),
    ("where(x == 0, 1, sin(x)/x)", "g*(x*cos(x) - sin(x))/x**2", (-1.0, 0.0, 2.0), "backward not finite"),
    ("x**2", "g*nan", (-1.0, 0.5), "backward not finite"),
    ("x**2", "g*nan", (2.0,), "backward not finite"),
    ("sigmoid(50*x)", "g*y*(1 - y)", (-3.0, 0.5, 3.0), "not decided"),
    ("1e-7*x", "-1e-7*g", (-1.0, 0.5), "not decided"),
    ("1e-7*x", "1e-7*g", (-1.0, 0.5), "right"),
    ("x**2", "2*g*x*1.0005", (-1.0, 0.0, 2.0), "right"),
    ("x*z", "g*z", (-1.0, 0.5), "input not checked"),
    ("1/0 + x", "g", (1.0,), "not finite"),
]


def own(forward, backward, points):
    return {"function": TYPED, "forward": forward, "backward": backward, "inputs": "own points", "points": points}


CASES = [
    ({}, "intended clip"),
    ({"clip": 0.5}, "right"),
    ({"inputs": "saturated"}, "right"),
    ({"dtype": "float32"}, "intended clip"),
    ({"function": "SafeSigmoid"}, "not linear in grad_output"),
    ({"function": "FusedGELU"}, "wrong formula"),
    ({"function": "HandReLU"}, "right"),
    ({"function": "HandReLU", "inputs": "at a kink"}, "kink"),
    ({"function": "HandReLU", "dtype": "float32"}, "precision"),
    ({"function": "RoundStraightThrough"}, "intended surrogate"),
    ({"function": "SignStraightThrough", "inputs": "at a kink"}, "intended surrogate"),
    ({"function": "ReverseGradient", "scale": 1.0}, "intended surrogate"),
    ({"function": "ReverseGradient", "scale": -1.0}, "right"),
    ({"function": "SquareOnce"}, "once differentiable"),
    ({"function": "Noisy"}, "non-deterministic"),
    ({"function": "Noisy", "noise": 0.0}, "right"),
    ({"function": "WrongFactor"}, "wrong formula"),
    ({"function": "WrongFactor", "factor": 1.0}, "right"),
    ({"function": "WrongFactor", "dtype": "float32"}, "wrong formula"),
    ({"function": "WrongShape"}, "wrong shape"),
    ({"function": "ShiftWithoutSlot"}, "wrong count"),
    ({"function": "JoinedList"}, "not tracked"),
    ({"function": "XExp", "inputs": "expanded"}, "overlapping memory"),
    ({"function": "XExp", "inputs": "overlapping windows"}, "overlapping memory"),
    ({"function": "WrongFactor", "inputs": "empty"}, "nothing checked"),
    ({"function": "ComplexSquare", "dtype": "complex128"}, "right"),
    ({"function": "ComplexSquareUnconjugated", "dtype": "complex128"}, "wrong formula"),
    ({"function": "HandReLU", "dtype": "complex128"}, "refused"),
    ({"function": "XExp", "eps": 1e-12, "rtol": 1e-7}, "precision"),
    ({"function": "XExp", "eps": 0.1}, "precision"),
    ({"function": "XExp", "atol": 0.0, "rtol": 0.0}, "precision"),
    ({**SILU, "backward": "g * (y + sigmoid(x) * (1 - y))"}, "right"),
    ({**SILU, "backward": "g * sigmoid(x)"}, "wrong formula"),
    ({**SILU, "backward": "-g * (y + sigmoid(x) * (1 - y))"}, "wrong formula"),
    ({"function": TYPED, "forward": "abs(x)", "backward": "g * sign(x)", "inputs": "at a kink"}, "kink"),
    ({"function": TYPED, "forward": "relu(x)", "backward": "g * (x >= 0)", "inputs": "at a kink"}, "kink"),
    ({"function": TYPED, "forward": "log(x)", "backward": "", "inputs": "at a kink"}, "not finite"),
    *((own(*typed), kind) for *typed, kind in TYPED_CASES),
    ({"function": TYPED, "forward": "matmul(x, 2)", "backward": "g"}, "refused"),
    ({"function": TYPED, "forward": "softmax(x, dim=0)", "backward": "y * (g - sum(g * y))"}, "right"),
]


@pytest.mark.parametrize(("fields", "kind"), CASES, ids=[f"{kind}-{n}" for n, (_, kind) in enumerate(CASES)])
def test_the_reason(fields, kind):
    found = check(**fields)
    assert found.verdict.kind == kind, (found.verdict, found.check.error)
    assert [step.decided for step in found.verdict.steps] == [False] * (len(found.verdict.steps) - 1) + [True]
    assert found.verdict.sentence
    assert found.verdict.remedy == REMEDIES[kind]


@pytest.mark.parametrize(("fields", "kind"), CASES[:20], ids=[f"{kind}-{n}" for n, (_, kind) in enumerate(CASES[:20])])
def test_pass_and_fail_are_gradchecks_own(fields, kind):
    spec = CustomFunctionSpec(**fields)
    torch.manual_seed(spec.seed)
    with pytest.warns() if spec.dtype == "float32" else torch.no_grad(), torch.enable_grad():
        call, inputs = make(spec).call, make_inputs(spec)
        _, said = attempt(lambda: torch.autograd.gradcheck(call, inputs, eps=spec.eps, atol=spec.atol, rtol=spec.rtol))
    assert checked(spec).check.error == said


def test_every_kind_of_verdict_has_a_case_and_a_remedy():
    assert set(VerdictKind.__args__) == {kind for _, kind in CASES} == set(REMEDIES)


def test_a_factor_is_named():
    assert check(function="WrongFactor", factor=0.25).verdict.sentence == "Analytical is 0.25x numerical everywhere."
    assert "-2x numerical" in check(function="WrongFactor", factor=-2.0).verdict.sentence
    flipped = check(**SILU, backward="-g * (y + sigmoid(x) * (1 - y))").verdict.sentence
    assert flipped == "Analytical is -1x numerical everywhere."


def test_a_missing_conjugate_is_named():
    found = at(1.0, -0.5, function="ComplexSquareUnconjugated", dtype="complex128")
    assert "a .conj() is missing" in found.verdict.sentence
    # two points, four parts each way: of d(z * z) each of the 8 non-zero parts is counted, the imaginary half is off
    assert "4 of 8" in found.verdict.sentence


def test_a_kink_at_one_point_does_not_excuse_a_wrong_formula_at_another():
    found = check(function=TYPED, forward="relu(x)", backward="0.5 * g * (x > 0)", inputs="at a kink")
    assert found.verdict.kind == "wrong formula"
    assert "0.5x" in found.verdict.sentence


@pytest.mark.parametrize(
    ("shape", "stride", "expected"),
    [((4,), (1,), False), ((4,), (0,), True), ((2, 2), (1, 1), True), ((2, 3), (3, 1), False), ((1, 5), (0, 1), False)],
)
def test_overlap_is_found_by_the_addresses(shape, stride, expected):
    assert evidence.overlaps(torch.zeros(12).as_strided(shape, stride)) is expected


def test_gradcheck_itself_refuses_stride_0_only():
    expanded, windows = check(function="XExp", inputs="expanded"), check(function="XExp", inputs="overlapping windows")
    assert "stride 0" in expanded.check.error.message
    assert windows.check.error.message.startswith("Jacobian mismatch")


def test_linearity_is_the_clamp_of_the_product():
    # backward(100) = 1 instead of 25 at 0: 96 % less
    spec = CustomFunctionSpec(function="SafeSigmoid", inputs="own points", points=(0.0,))
    assert scaling.linearity(make(spec), make_inputs(spec), 100.0) == pytest.approx(0.96)
    assert scaling.linearity(make(CustomFunctionSpec()), make_inputs(CustomFunctionSpec()), 100.0) < 1e-12


def test_a_distance_that_gradcheck_allows_is_told():
    exact, within = (check(**own("x**2", text, (-1.0, 2.0))).verdict for text in ("2*g*x", "2*g*x*1.0005"))
    assert exact.sentence == "Backward is the derivative at these points."
    assert "within rtol" in within.sentence
    assert "0.0005 off" in within.sentence


def test_below_atol_the_ratio_is_told():
    assert "0.02x numerical" in check(**own("sigmoid(50*x)", "g*y*(1 - y)", (0.3, 0.5))).verdict.sentence
    assert "-1x numerical everywhere" in check(**own("1e-7*x", "-1e-7*g", (-1.0, 0.5))).verdict.sentence


@pytest.mark.parametrize("forward", ["tanh(100000*x)", "sin(1000000*x)"])
def test_a_factor_is_named_for_a_function_faster_than_eps(forward):
    slope = "100000*(1 - y**2)" if "tanh" in forward else "1000000*cos(1000000*x)"
    assert "2x numerical" in check(**own(forward, f"2*g*{slope}", (0.0, 1e-6))).verdict.sentence


def test_the_input_with_the_wrong_gradient_is_named():
    fields = own("x*z", "g*z", (-1.0, 0.5))
    assert check(**fields, backward_z="g*x").verdict.kind == "right"
    wrong = check(**fields, backward_z="2*g*x").verdict.sentence
    assert wrong == "In the gradient of z, analytical is 2x numerical at 2 of 4 entries that are not 0."
    assert "z gets none" in check(**fields).verdict.sentence


def test_first_order_only_is_said():
    assert "First order only" in check(**own("x**3", "g*3*detach(x)**2", (-1.0, 0.5))).verdict.sentence
    assert "order" not in check(**own("x**3", "g*3*x**2", (-1.0, 0.5))).verdict.sentence


def test_the_worst_entry_is_the_largest_difference_where_none_is_outside():
    found = check(**own("x**3", "g*3*x**2", (-1.0, 0.5, 20.0))).check
    apart = [np.abs(array(p.analytical) - array(p.numerical)).max() for p in found.pairs]
    assert found.worst.difference == max(apart) > 0


@pytest.mark.parametrize(
    ("forward", "point", "kink"),
    [
        ("abs(x)", 0.0, True),
        ("0.001*abs(x) + 100*x**2", 0.0, True),
        ("relu(x - 3)", 3.0, True),
        ("round(x)", 0.5, True),
        ("x**2", 1e6, False),
        ("tanh(100000*x)", 0.0, False),
        ("cos(1000000*x)", 0.0, False),
        ("exp(x)", 20.0, False),
        ("0*x + 1", 0.3, False),
        ("1e-7*x", 0.3, False),
        ("tanh(100000*x)", 1e-5, False),
    ],
)
def test_kinks_are_told_from_fast_smooth_functions(forward, point, kink):
    spec = CustomFunctionSpec(**own(forward, "", (point,)))
    assert slopes.is_kink(make(spec).call, make_inputs(spec), 0, 0) is kink
