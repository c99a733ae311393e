"""The catalogue of Functions, without torch: their parameters, how they are called, and their forward as a formula."""

from __future__ import annotations

from typing import Literal

import msgspec

FunctionName = Literal[
    "CustomSigmoid",
    "SafeSigmoid",
    "FusedGELU",
    "HandReLU",
    "RoundStraightThrough",
    "SignStraightThrough",
    "ClipGradient",
    "ReverseGradient",
    "SinCos",
    "SinCosUnmaterialized",
    "SquareAndFloor",
    "Shift",
    "ShiftWithoutSlot",
    "Fixed",
    "Joined",
    "JoinedList",
    "LinearFunction",
    "ComplexSquare",
    "ComplexSquareUnconjugated",
    "SquareOnce",
    "XExp",
    "XExpOnCtx",
    "ScaleInPlace",
    "Noisy",
    "WrongFactor",
    "WrongShape",
    "My expressions",
]
TYPED: FunctionName = "My expressions"


class Entry(msgspec.Struct, frozen=True):
    """One Function: `call` is the Python that applies it to x, `plain` the same forward in the expression language.

    Both are formatted with the parameters of the spec; `plain` has one text per output. `names` are forward's
    arguments after ctx.
    """

    module: str
    what: str
    names: tuple[str, ...]
    call: str
    plain: tuple[str, ...] = ()
    parameters: tuple[str, ...] = ()
    clips_at: str = ""
    """The parameter (or number) at which backward declares to clamp the derivative."""
    surrogate: str = ""
    """In words: the gradient that is declared instead of the derivative."""
    analytic: bool = False
    """Whether the formula extends to complex x, so that a complex step gives its derivative."""
    elementwise: bool = True


_SIGMOID = "1 / (1 + exp(-({beta!r}) * x))"
_ONE_SIGMOID = "1 / (1 + exp(-x))"
_GELU = "0.5 * x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x**3)))"
_OWN, _ARGUMENTS, _CTX = "functions", "functions_arguments", "functions_ctx"
_PASSES = "the gradient passes unchanged where |x| <= limit"

CATALOGUE: dict[str, Entry] = {
    "CustomSigmoid": Entry(
        _OWN, "a sigmoid whose backward clamps the derivative, then multiplies", ("x", "beta", "clip"),
        "CustomSigmoid.apply(x, {beta!r}, {clip!r})", (_SIGMOID,), ("beta", "clip"), clips_at="clip", analytic=True,
    ),
    "SafeSigmoid": Entry(
        _OWN, "a sigmoid whose backward multiplies, then clamps to [-1, 1]", ("x",),
        "SafeSigmoid.apply(x)", (_ONE_SIGMOID,), clips_at="1.0", analytic=True,
    ),
    "FusedGELU": Entry(
        _OWN, "GELU by tanh, backward by another approximation", ("x",),
        "FusedGELU.apply(x)", (_GELU,), analytic=True,
    ),
    "HandReLU": Entry(_OWN, "max(x, 0): a kink at 0", ("x",), "HandReLU.apply(x)", ("relu(x)",)),
    "RoundStraightThrough": Entry(
        _OWN, "a straight-through estimator: round, and the gradient passes", ("x", "limit"),
        "RoundStraightThrough.apply(x, {limit!r})", ("round(x)",), ("limit",), surrogate=_PASSES,
    ),
    "SignStraightThrough": Entry(
        _OWN, "a straight-through estimator: sign, and the gradient passes", ("x", "limit"),
        "SignStraightThrough.apply(x, {limit!r})", ("sign(x)",), ("limit",), surrogate=_PASSES,
    ),
    "ClipGradient": Entry(
        _OWN, "x * scale, and the gradient is clamped", ("x", "scale", "limit"),
        "ClipGradient.apply(x, {scale!r}, {limit!r})", ("({scale!r}) * x",), ("scale", "limit"),
        clips_at="limit", analytic=True,
    ),
    "ReverseGradient": Entry(
        _OWN, "the identity, and the gradient is turned round", ("x", "scale"),
        "ReverseGradient.apply(x, {scale!r})", ("1 * x",), ("scale",),
        surrogate="the gradient is multiplied by -scale", analytic=True,
    ),
    "SinCos": Entry(
        _ARGUMENTS, "two outputs; unused ones arrive as zeros", ("x",),
        "SinCos.apply(x)", ("sin(x)", "cos(x)"), analytic=True,
    ),
    "SinCosUnmaterialized": Entry(
        _ARGUMENTS, "two outputs; unused ones arrive as None", ("x",),
        "SinCosUnmaterialized.apply(x)", ("sin(x)", "cos(x)"), analytic=True,
    ),
    "SquareAndFloor": Entry(
        _ARGUMENTS, "two outputs, one marked non-differentiable", ("x",),
        "SquareAndFloor.apply(x)", ("x * x", "floor(x)"),
    ),
    "Shift": Entry(
        _ARGUMENTS, "a number as argument: backward returns None for it", ("x", "amount"),
        "Shift.apply(x, {scale!r})", ("x + ({scale!r})",), ("scale",), analytic=True,
    ),
    "ShiftWithoutSlot": Entry(
        _ARGUMENTS, "a number as argument, forgotten by backward", ("x", "amount"),
        "ShiftWithoutSlot.apply(x, {scale!r})", ("x + ({scale!r})",), ("scale",), analytic=True,
    ),
    "Fixed": Entry(
        _ARGUMENTS, "a saved tensor as the gradient's factor", ("x", "want"),
        "Fixed.apply(x, torch.full_like(x, {scale!r}))", ("1 * x",), ("scale",),
        surrogate="the gradient is multiplied by want", analytic=True,
    ),
    "Joined": Entry(
        _ARGUMENTS, "two tensors joined, given one by one", ("part 0", "part 1"),
        "Joined.apply(*x.tensor_split(2))", ("1 * x",), analytic=True,
    ),
    "JoinedList": Entry(
        _ARGUMENTS, "two tensors joined, given as a list", ("parts",),
        "JoinedList.apply(list(x.tensor_split(2)))", ("1 * x",), analytic=True,
    ),
    "LinearFunction": Entry(
        _ARGUMENTS, "three tensors with a gradient each", ("x", "weight", "bias"),
        "LinearFunction.apply(x, weight, bias)", elementwise=False,
    ),
    "ComplexSquare": Entry(
        _ARGUMENTS, "z * z with the conjugate that complex z needs", ("z",),
        "ComplexSquare.apply(x)", ("x * x",), analytic=True,
    ),
    "ComplexSquareUnconjugated": Entry(
        _ARGUMENTS, "z * z without it", ("z",), "ComplexSquareUnconjugated.apply(x)", ("x * x",), analytic=True,
    ),
    "SquareOnce": Entry(
        _CTX, "marked once_differentiable", ("x",), "SquareOnce.apply(x)", ("x * x",), analytic=True,
    ),
    "XExp": Entry(
        _CTX, "input and output saved by save_for_backward", ("x",), "XExp.apply(x)", ("x * exp(x)",), analytic=True,
    ),
    "XExpOnCtx": Entry(
        _CTX, "input and output saved as attributes of ctx", ("x",), "XExpOnCtx.apply(x)", ("x * exp(x)",),
        analytic=True,
    ),
    "ScaleInPlace": Entry(
        _CTX, "writes into its input, marked dirty", ("x", "scale"),
        "ScaleInPlace.apply(x.clone(), {scale!r})", ("({scale!r}) * x",), ("scale",), analytic=True,
    ),
    "Noisy": Entry(
        _CTX, "a backward that differs from call to call", ("x", "noise"),
        "Noisy.apply(x, {noise!r})", ("2 * x",), ("noise",), analytic=True,
    ),
    "WrongFactor": Entry(
        _CTX, "a backward with a factor too many", ("x", "factor"),
        "WrongFactor.apply(x, {factor!r})", ("x * x",), ("factor",), analytic=True,
    ),
    "WrongShape": Entry(
        _CTX, "a backward that returns one number", ("x",), "WrongShape.apply(x)", ("x * x",), analytic=True,
    ),
    TYPED: Entry("", "forward and backward as you type them", ("x",), "", parameters=()),
}  # fmt: skip
