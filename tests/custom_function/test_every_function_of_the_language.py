"""Autograd's own derivatives of all elementwise functions that can be typed: right, and equal to the complex step."""

from __future__ import annotations

import numpy as np
import pytest

from engine.custom_function.catalogue import TYPED
from engine.expression.functions import FUNCTIONS
from engine.figures.custom_function_curves import values_of
from tests.custom_function.checking import at, check

POINTS = {"acosh": (1.3, 1.6)}
NOT_ELEMENTWISE = {
    "sum", "mean", "prod", "cumsum", "logsumexp", "softmax", "log_softmax", "amax", "amin", "var", "std", "det",
    "logdet", "trace", "norm",
}  # fmt: skip
UNTRACKED = {"detach", "ones_like", "zeros_like"}
ELEMENTWISE = [
    name for name, function in FUNCTIONS.items() if function.tensors == 1 and name not in NOT_ELEMENTWISE | UNTRACKED
]


@pytest.mark.slow
@pytest.mark.parametrize("name", ELEMENTWISE)
def test_autograd_is_right_and_the_complex_step_agrees(name):
    text = "clamp(x, min=-1, max=1)" if name == "clamp" else f"{name}(x)"
    found = at(*POINTS.get(name, (0.3, 0.6)), function=TYPED, forward=text, backward="", x_from=-2.0, x_to=2.0)
    assert found.verdict.kind == "right", found.verdict
    curve = found.curves[0]
    exact, ours = values_of(curve, "complex_step"), values_of(curve, "autograd")
    if exact is not None:
        assert (np.isfinite(exact) == np.isfinite(values_of(curve, "forward"))).all()
        finite = np.isfinite(exact) & np.isfinite(ours)  # at the ends of acos the derivative is infinite
        assert exact[finite] == pytest.approx(ours[finite], rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("name", sorted(UNTRACKED))
def test_what_cuts_the_graph_is_told(name):
    found = check(function=TYPED, forward=f"{name}(x)", backward="")
    assert found.verdict.kind == "not tracked"
    assert "cut off from x" in found.verdict.sentence


def test_a_refusal_of_forward_is_told_in_pytorch_words():
    found = check(function=TYPED, forward="softmax(x)", backward="")
    assert found.verdict.kind == "refused"
    assert found.call.forward_error.message.splitlines()[0][:40] in found.verdict.sentence


def test_fast_mode_gives_the_same_verdicts():
    for function, kind in (("CustomSigmoid", "intended clip"), ("XExp", "right"), ("WrongFactor", "wrong formula")):
        assert check(function=function, fast_mode=True).verdict.kind == kind
