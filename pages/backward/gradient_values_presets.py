"""The questions of the gradient values page."""

from __future__ import annotations

from engine.gradients.spec import (
    AccumulationSpec,
    ClippingSpec,
    DifferenceSpec,
    FiniteDifferenceSpec,
    GradientsSpec,
    ZeroGradSpec,
)
from engine.models.spec import Embedding, Expression, Gpt, LinearStack, Mlp, ModelSpec, TwoTower
from pages.backward.gradient_values_controls import AnySpec, values_of
from pages.shared.presets import Preset

_DEEP = ModelSpec(architecture=Mlp(layers=16, depth=16, residual=False))
_DROPPING = ModelSpec(architecture=Gpt(layers=3, heads=2, width=16, sequence=8, vocabulary=50, dropout=0.2))


def _asked(question: str, spec: AnySpec, prediction: str, notice: str) -> tuple[str, AnySpec, str, str]:
    return question, spec, prediction, notice


_QUESTIONS = (
    _asked(
        "Can one learning rate suit every layer?",
        GradientsSpec(model=_DEEP),
        "Sixteen layers without a residual connection, one lr. Predict how far apart the shares are by which one step "
        "moves the first and the last weight.",
        "The head's gradient is more than 10,000 times as long as the first layer's, for weights of about the same "
        "length. Show *gradient / weight*: one lr moves one of them by everything or the other by nothing. Switch "
        "*residual* on.",
    ),
    _asked(
        "Does bf16 autocast change the direction of my gradients?",
        DifferenceSpec(against="bfloat16 autocast"),
        "bfloat16 keeps 8 bits of a number. Predict the cosine between both gradients: 0.9, 0.99, 0.99999?",
        "The cosine of all gradients is above 0.9999, although single elements differ by some permille: rounding "
        "errors point everywhere and cancel. The bias of the head is even identical, its gradient is a count. "
        "Gradients arrive in float32: autocast casts copies.",
    ),
    _asked(
        "Does checkpointing change gradients?",
        DifferenceSpec(model=_DROPPING, against="checkpoint"),
        "Every block is computed a second time during backward, dropout included. Predict: how many leaves are "
        "identical?",
        "All, to the last bit: the recomputation starts from the random state that the first forward had. Switch "
        "*preserve_rng_state* off, and the dropout masks of the second time are others.",
    ),
    _asked(
        "Is my backward right?",
        FiniteDifferenceSpec(model=ModelSpec(architecture=Mlp(layers=2, depth=2, width=16))),
        "Move one weight by eps and see how the loss answers. Predict how many digits of the gradient agree, in "
        "float64 and in float32.",
        "In float64 every entry agrees to a relative 1e-6 or better. The grey rings are the same quotients from "
        "float32 losses: the loss has 7 digits, and dividing their rounding by 2 eps leaves two or three.",
    ),
    _asked(
        "When does a right gradient fail the check?",
        FiniteDifferenceSpec(model=ModelSpec(architecture=Expression(name="custom_function")), entries=9),
        "A straight-through estimator: the forward is a sign, the backward passes the gradient on. Predict the "
        "quotient.",
        "The sign is flat, so every quotient is 0, where backward says 1 inside |x| <= 1: the check says *differs*, "
        "and rightly so. It tests whether backward is the slope of forward, and this one is not meant to be.",
    ),
    _asked(
        "Do 4 micro-batches give the gradient of one batch?",
        AccumulationSpec(model=ModelSpec(batch=8, loss="mean"), micro_batches=4),
        "Eight examples at once, or four times two with `.grad` adding up; the loss is a mean. Predict how long the "
        "accumulated gradient is.",
        "Exactly four times as long: each mean divided by 2, not by 8. `loss / 4` repairs it to rounding. Now take 3 "
        "micro-batches: 3 + 3 + 2 examples, and `loss / 3` is wrong by several percent; only the share n / N is right.",
    ),
    _asked(
        "What does clipping by norm do that clipping by value does not?",
        ClippingSpec(max_norm=1.0, clip_value=0.5),
        "The total norm is about 53. One function scales, the other cuts. Predict which one keeps the direction.",
        "By norm: every leaf shrinks by the same factor, the cosine stays 1, the total is 1. By value: only elements "
        "above 0.5 change, the total stays near 22, and the direction turns to a cosine below 0.8.",
    ),
    _asked(
        "What does one NaN do to clipping?",
        ClippingSpec(poison="nan"),
        "One element of one gradient is NaN before clipping. Predict how many leaves are finite after each function.",
        "By norm none: the total is NaN, so every gradient is multiplied by NaN. By value only the poisoned leaf. "
        "Switch *error_if_nonfinite* on, and PyTorch stops before it writes.",
    ),
    _asked(
        "None or zeros: does it matter to AdamW?",
        ZeroGradSpec(optimizer="AdamW"),
        "After one step the gradients are cleared, and `step()` is called without another backward. Predict how far "
        "the weights move.",
        "None: not at all, AdamW skips the parameter and its step counter stays at 1. Zeros: about two thirds of the "
        "first step, because the average of past gradients is not zero yet, and weight decay shrinks the weight.",
    ),
    _asked(
        "Which leaves get no gradient, and why?",
        GradientsSpec(
            model=ModelSpec(architecture=TwoTower(), frozen=("blocks.0", "blocks.1"), input_requires_grad=True)
        ),
        "Two towers, a frozen trunk, and an auxiliary head that is no part of the loss. Predict which leaves are left "
        "without `.grad`.",
        "The trunk is frozen, and the auxiliary head has no path from the loss; both stand at *0 / none*, and the "
        "table gives the reasons. The inputs below the frozen trunk do get one: freezing stops no gradient.",
    ),
    _asked(
        "What is stored of a sparse gradient?",
        GradientsSpec(model=ModelSpec(architecture=Embedding(sparse=True))),
        "1000 rows, 64 tokens, some of them several times. Predict how many rows the gradient stores.",
        "64 rows, one per token looked up, repeated ones several times: it is not coalesced. All other rows of the map "
        "are zeros that no memory holds. In *Clipping* PyTorch refuses to take its norm.",
    ),
    _asked(
        "Is a large model's gradient as long in float64?",
        DifferenceSpec(model=ModelSpec(architecture=LinearStack(layers=12, width=128)), against="float64"),
        "The same weights, float32 against float64. Predict the relative difference of the gradients.",
        "Below 1e-5, growing from the loss back to the input: every layer adds its rounding.",
    ),
)
SPECS: dict[str, AnySpec] = {question: spec for question, spec, _, _ in _QUESTIONS}
PRESETS = tuple(
    Preset(question, prediction, notice, spec.model, values_of(spec))
    for question, spec, prediction, notice in _QUESTIONS
)
