"""The questions of the mixed precision page."""

from __future__ import annotations

from typing import Any

from engine.mixed_precision.spec import AutocastSpec
from engine.models.spec import Chain, Gpt, LinearStack, Mlp, ModelSpec, Recurrent, TiedLoop
from pages.memory.mixed_precision_controls import values_of
from pages.shared.presets import Preset

SMALL = AutocastSpec(model=ModelSpec())
RAISED = AutocastSpec(
    model=ModelSpec(
        architecture=Mlp(layers=1, depth=1, width=32, in_features=32, out_features=32, residual=False), batch=32
    )
)
LANGUAGE = AutocastSpec(
    model=ModelSpec(
        architecture=Gpt(layers=2, heads=2, width=64, sequence=16, vocabulary=200), batch=2, loss="cross_entropy"
    )
)
LOOP = AutocastSpec(model=ModelSpec(architecture=TiedLoop()))
LOOP_NO_GRAD = AutocastSpec(model=ModelSpec(architecture=TiedLoop(), grad_mode="no_grad"))
LOOP_INFERENCE = AutocastSpec(model=ModelSpec(architecture=TiedLoop(), grad_mode="inference_mode"))
FROZEN = AutocastSpec(model=ModelSpec(architecture=TiedLoop(), frozen=("step",), input_requires_grad=True))
LSTM = AutocastSpec(model=ModelSpec(architecture=Recurrent()))
LSTM_WITHOUT = AutocastSpec(model=ModelSpec(architecture=Recurrent()), cache_enabled=False)
STACK = AutocastSpec(model=ModelSpec(architecture=LinearStack(layers=12, width=128), batch=16))
CHAIN = AutocastSpec(model=ModelSpec(architecture=Chain(operations=84)))
BFLOAT16 = AutocastSpec(model=ModelSpec(architecture=Mlp(layers=4, depth=4), batch=16))
FLOAT16 = AutocastSpec(model=BFLOAT16.model, dtype="float16")
VANISHING = AutocastSpec(
    model=ModelSpec(architecture=LinearStack(layers=12, width=128), batch=64, loss="mean"), dtype="float16"
)
CLASSIFIER = AutocastSpec(model=ModelSpec(loss="cross_entropy"))


def _asked(
    question: str,
    spec: AutocastSpec,
    section: str,
    prediction: str,
    notice: str,
    *,
    against: AutocastSpec | None = None,
    **settings: Any,
) -> Preset:
    values = values_of(spec, section, **settings)
    return Preset(question, prediction, notice, model=spec.model, settings=values, against=against)


PRESETS: tuple[Preset, ...] = (
    _asked(
        "Why did AMP raise the saved bytes?",
        RAISED,
        "Saved copies",
        "One hidden layer of 32, batch 32. Numbers of 16 bits are half as large. Does autocast halve what backward "
        "keeps?",
        "It keeps **more** new memory: 4096 B become 6144 B. Plain, backward keeps the activation (4096 B) and reads "
        "the input and the weight where they are anyway. Under autocast the activation takes 2048 B, and bfloat16 "
        "copies of the input (2048 B) and of the head's weight (2048 B) are kept beside the originals.",
    ),
    _asked(
        "AMP made it slower: why?",
        SMALL,
        "Time",
        "A small MLP. Its matrix products take microseconds. What does autocast add to a step?",
        "Casts: 9 in forward and 8 in backward, 17 operations more than the plain run. In a small model each "
        "operation costs its overhead, whatever the dtype. *Time* shows what that comes to on this machine, matrix "
        "products and casts alone below, and whether the processor has 16-bit units at all.",
        backward=True,
    ),
    _asked(
        "Which operations stay in float32?",
        LANGUAGE,
        "Lists",
        "A small GPT with cross-entropy. Which calls do you expect to give float32 under autocast?",
        "`embedding`, the residual `add` and `layer_norm` give float32: autocast does not know them, and float32 comes "
        "in (the sum of float32 and bfloat16 is float32). `cross_entropy_loss` casts its input to float32. The linear "
        "layers and attention run in bfloat16: the map goes down and up in every block.",
    ),
    _asked(
        "How often is a weight cast?",
        LOOP,
        "Casts and cache",
        "One Linear, used 6 times in a forward. How many copies of its weight does autocast make?",
        "One. The first call casts weight and bias, the other five read the copies from the cache (rings above the "
        "map). Backward casts the sum of their gradients to float32 once.",
    ),
    _asked(
        "When does the cache save nothing?",
        LOOP_INFERENCE,
        "Casts and cache",
        "The same loop without gradients: A under `no_grad`, this run under `inference_mode`. Is the weight still cast "
        "once?",
        "Under `no_grad` once, as in training. Under `inference_mode` the cache is not used: 6 casts of the weight and "
        "6 of the bias, with `cache_enabled=True` or without.",
        against=LOOP_NO_GRAD,
    ),
    _asked(
        "Is a frozen weight cached?",
        FROZEN,
        "Casts and cache",
        "The weight of the loop is frozen: `requires_grad` is False. Will its copy be kept for the next call?",
        "No: the cache keeps copies of leaves that require a gradient alone. All 6 calls cast the weight and the bias "
        "again, and 6 copies of the weight are saved for the gradient of the input.",
    ),
    _asked(
        "What does switching the cache off cost?",
        LSTM_WITHOUT,
        "Saved copies",
        "An LSTM over 20 steps; A has the cache, this run has `cache_enabled=False`. What happens to the bytes held?",
        "They more than triple, and exceed the plain run's: 19 of the 20 steps each save a copy of the recurrent "
        "weight of their own (the first state requires no gradient, so its step saves none). With the cache all share "
        "one.",
        against=LSTM,
    ),
    _asked(
        "Which layer loses most?",
        STACK,
        "Errors",
        "Twelve equal Linear + ReLU. Does one of them lose much more than the others?",
        "No: by itself each linear layer is off by two to four thousandths, the rounding of bfloat16 (8 bits, 2⁻⁹ "
        "at most for one number). (`relu` is a function here, no module, so it has no point.) Nor do the errors add up "
        "to twelve times that: roundings go either way, and the output is about as far off as one layer.",
    ),
    _asked(
        "What goes wrong where autocast casts nothing?",
        CHAIN,
        "Errors",
        "A Linear, then 84 times `sin`. Autocast casts for the Linear alone. Where does the error come from?",
        "From the `sin` calls. Autocast does not know `sin`, so bfloat16 flows through all of them and each rounds: "
        "the Linear is off by a few thousandths, the output by several times that, its gradients by more.",
    ),
    _asked(
        "bf16 or fp16: which gradient error?",
        FLOAT16,
        "Errors",
        "The same MLP, A in bfloat16, this run in float16. Which of them has gradients nearer to float32's?",
        "float16: it has 11 significant bits, bfloat16 8, so one rounding is 8 times finer. The output error is about "
        "7 times smaller than in A, the gradient error about 100 times, as long as no gradient leaves float16's narrow "
        "range (6 · 10⁻⁸ to 65504).",
        against=BFLOAT16,
    ),
    _asked(
        "Which gradients vanish in float16?",
        VANISHING,
        "Errors",
        "Twelve layers, and the loss is the mean of 8192 outputs, so gradients start at 1/8192. What does float16 do "
        "to them?",
        "On the way back they get smaller than float16 can hold: *became 0* counts values that are not 0 in float32, "
        "most of them in the first layers. bfloat16 has the range of float32 and loses hardly any. This is what a "
        "gradient scaler is for.",
    ),
    _asked(
        "Why is the loss float32?",
        CLASSIFIER,
        "Operations",
        "The logits of this MLP are bfloat16. Which dtype has their cross-entropy?",
        "float32: `cross_entropy_loss` is an operator whose inputs autocast casts to float32, so the logits are cast "
        "(one cast in the phase *loss*) and the loss comes out in float32. A plain `sum` is unknown to autocast: with "
        "it the loss stays bfloat16.",
    ),
)
