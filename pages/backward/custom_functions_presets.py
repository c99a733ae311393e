"""Questions about custom Functions; what each notice claims is tested."""

from __future__ import annotations

from engine.custom_function.spec import CustomFunctionSpec
from pages.backward.custom_functions_controls import values_of
from pages.shared.presets import Preset

SPECS: dict[str, CustomFunctionSpec] = {}
"""Question -> what it is asked of."""


def _asks(question: str, prediction: str, notice: str, spec: CustomFunctionSpec) -> Preset:
    SPECS[question] = spec
    return Preset(question, prediction, notice, settings=values_of(spec))


PRESETS = (
    _asks(
        "Is a clipped derivative still a derivative?",
        "CustomSigmoid(beta=2) clamps its derivative to ±0.1. At x = 0 the derivative is 2 · 0.5 · 0.5. Predict what "
        "backward returns there, and what gradcheck says.",
        "0.1 instead of 0.5. gradcheck refuses, and rightly: over the shaded x backward is not the derivative. The "
        "verdict tells this apart from a mistake: backward is the derivative clamped to ±0.1, entry by entry, as "
        "declared. Raise clip to 0.5 or more and it passes.",
        CustomFunctionSpec(inputs="own points", points=(0.0, 1.0, -3.0)),
    ),
    _asks(
        "Why does gradcheck pass a backward that clips?",
        "SafeSigmoid clamps s (1 − s) · grad_output to ±1. A gradient of 8 arrives at x = 0. Predict what leaves, and "
        "whether gradcheck notices.",
        "1 instead of 8 · 0.25 = 2, and gradcheck passes: it sends in ones and zeros, and s (1 − s) stays below 0.25, "
        "so its clamp never acts. The curves, drawn for grad_output = 8, show it; so does the test of linearity.",
        CustomFunctionSpec(function="SafeSigmoid", grad_output=8.0),
    ),
    _asks(
        "How approximate is FusedGELU's backward?",
        "Forward is GELU by tanh, backward the derivative of x · sigmoid(1.702 x). At x = 0 both are 0.5. Predict how "
        "far apart they get elsewhere, and whether gradcheck's tolerance allows it.",
        "Up to 0.015 at these points and 0.029 at other x, at each but 0 more than ten times what gradcheck allows, "
        "atol + rtol · |numerical|: wrong formula. At x = 0 the two agree, so a check at that one point would have "
        "passed.",
        CustomFunctionSpec(function="FusedGELU", inputs="own points", points=(-2.0, -1.0, 0.0, 1.0, 2.0)),
    ),
    _asks(
        "Why does a right backward fail in float32?",
        "x · sigmoid(x) with its right derivative, checked in float32 with eps = 1e-6. Predict the numerical Jacobian.",
        "float32 keeps about 7 digits, and a step of 1e-6 uses up nearly all of them: the differences are off in the "
        "second digit. In float64 it passes; in float32 it takes eps = 1e-2 and atol = 1e-2.",
        CustomFunctionSpec(function="My expressions", dtype="float32"),
    ),
    _asks(
        "What does gradcheck say at a kink?",
        "max(x, 0) with backward g · (x > 0), checked at −1, 0, 0.5 and 1. Predict analytical and numerical at 0.",
        "0 and 0.5: the central difference takes the mean of slope 0 and slope 1. Neither is wrong, there is no "
        "derivative. One-sided differences stay 1 apart however small the step, which is how the verdict knows.",
        CustomFunctionSpec(function="HandReLU", inputs="at a kink"),
    ),
    _asks(
        "One argument too many?",
        "Shift.apply(x, 4.0) has two arguments; its backward returns one gradient. Predict PyTorch's message, and how "
        "many entries next_functions has.",
        "PyTorch counts every argument: expected 2, got 1. next_functions has only 1 entry, for the tensor: the number "
        "has none, and still wants its None.",
        CustomFunctionSpec(function="ShiftWithoutSlot"),
    ),
    _asks(
        "Where did the gradient of a list go?",
        "JoinedList.apply([a, b]) joins two tensors that require grad. Predict its grad_fn.",
        "None: apply looks at its arguments, not into a list. Joined.apply(a, b) is tracked. No error is raised.",
        CustomFunctionSpec(function="JoinedList"),
    ),
    _asks(
        "What is lost by ctx.x = x?",
        "x · exp(x) keeps input and output as attributes of ctx. x is then written to before backward. Predict what "
        "PyTorch says.",
        "Nothing: the gradient is silently off, where save_for_backward raises (choose XExp). And ctx.y keeps the "
        "output alive until the garbage collector runs.",
        CustomFunctionSpec(function="XExpOnCtx", x_from=-4.0, x_to=1.5),
    ),
    _asks(
        "Is an estimator wrong?",
        "round(x) with the gradient passed straight through where |x| ≤ 1. Predict both Jacobians at 0.4 and 1.3.",
        "Analytical 1 and 0, numerical 0 and 0: round is flat. gradcheck is right and so is the estimator, which "
        "declares another gradient than the derivative.",
        CustomFunctionSpec(function="RoundStraightThrough"),
    ),
    _asks(
        "Which order does once_differentiable end?",
        "x² with a right backward, marked once_differentiable. Predict its second derivative: 2, 0 or an error.",
        "backward() raises. gradgradcheck, which asks for one gradient at a time, does not: it finds zeros where "
        "2 was due, and reports a mismatch at order 2.",
        CustomFunctionSpec(function="SquareOnce"),
    ),
    _asks(
        "Same input, other gradient?",
        "2x, whose backward is off by a random 1e-7. Predict whether that is too little for gradcheck to notice.",
        "It runs backward twice and compares the two exactly: nondet_tol is 0. The Jacobians agree well within atol. "
        "With nondet_tol = 1e-5 it passes.",
        CustomFunctionSpec(function="Noisy"),
    ),
    _asks(
        "Does backward need a conjugate?",
        "z² of complex z with backward g · 2z. Predict which entries of the real Jacobian are wrong.",
        "Half of those that are not 0, by their sign: PyTorch's gradient of a holomorphic f is g · conj(f'). With real "
        "z the same code is right.",
        CustomFunctionSpec(function="ComplexSquareUnconjugated", dtype="complex128"),
    ),
)
