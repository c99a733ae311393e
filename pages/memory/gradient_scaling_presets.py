"""Questions of the gradient scaling page; what each notice claims is tested."""

from __future__ import annotations

from engine.grad_scaler.injections import parse_injections
from engine.grad_scaler.spec import GradScalerSpec
from pages.memory.gradient_scaling_controls import TRAINABLE, values_of
from pages.shared.presets import Preset

SPECS: dict[str, GradScalerSpec] = {}
"""Question -> what it is asked of."""
ONE_WEIGHT = TRAINABLE["one weight, w * factor"]
DEEP = TRAINABLE["deep MLP, no residual"]


def _asks(
    question: str, prediction: str, notice: str, spec: GradScalerSpec, against: GradScalerSpec | None = None
) -> Preset:
    SPECS[question] = spec
    return Preset(question, prediction, notice, settings=values_of(spec), against=against)


PRESETS = (
    _asks(
        "Six steps with an inf and a nan: where is the scale?",
        "One weight, w = 1, lr 0.1, growth_interval 2, and factor is inf in step 2, nan in step 5. Predict w and the "
        "scale after each step.",
        "w: 0.9, 0.9, 0.8, 0.7, 0.7, 0.6. Scale: 65536, 32768, 32768, 65536, 32768, 32768. Steps 2 and 5 are skipped "
        "and halve the scale, steps 3 and 4 in a row double it again (pytorch/pytorch#99640).",
        GradScalerSpec(
            model=ONE_WEIGHT, autocast="off", steps=6, growth_interval=2, injections=parse_injections("2 inf, 5 nan")
        ),
    ),
    _asks(
        "Does the scale stop at 1?",
        "The scale starts at 2, and the loss is inf in all three steps. Predict the scale at the end.",
        "0.25: nothing keeps it above 1 (pytorch/pytorch#99640). From then on it makes gradients *smaller*. A scale "
        "below 1 says that inf or nan come from the model, not from scaling.",
        GradScalerSpec(
            model=ONE_WEIGHT,
            autocast="off",
            steps=3,
            init_scale=2.0,
            injections=parse_injections("1 inf, 2 inf, 3 inf"),
        ),
    ),
    _asks(
        "Why does the scale keep shrinking?",
        "`optimizer.zero_grad()` is missing, and in step 4 one entry of one gradient is inf, once. Predict how many "
        "steps are skipped.",
        "Every step from 4 on: the inf stays in `.grad`, each backward adds to it, and the scale halves every time. "
        "*found_inf* shows one entry of one parameter. Before step 4 nothing gave the mistake away: what is left of "
        "the last step is divided by 65536 with the rest.",
        GradScalerSpec(
            growth_interval=2000, mistake="zero_grad forgotten", injections=parse_injections("4 inf in head.weight")
        ),
    ),
    _asks(
        "Clip before unscale: what goes wrong?",
        "`clip_grad_norm_(..., 0.5)` comes after backward without `unscale_`. The gradients' norm is 2.63. Predict the "
        "norm that the optimizer steps with.",
        "0.5 / 65536 = 7.6e-6: clipping sees the scaled norm of 172 365, shrinks it to 0.5, and `step` then divides "
        "by the scale. The loss stands still. *Right against wrong*: after `unscale_` it is 0.5.",
        GradScalerSpec(growth_interval=2000, clipping="without unscale_", max_norm=0.5),
    ),
    _asks(
        "Does bf16 need a scaler?",
        "A 20-layer MLP without residuals, no scaler. A is float16, this is bfloat16. Predict how many gradients each "
        "format rounds to 0.",
        "bfloat16: none. It has the exponents of float32 and pays with three bits of precision. float16 rounds half of "
        "them to 0 without a scale. See *Gradients and formats*.",
        GradScalerSpec(growth_interval=2000, model=DEEP, autocast="bfloat16", enabled=False),
        GradScalerSpec(growth_interval=2000, model=DEEP, autocast="float16", enabled=False),
    ),
    _asks(
        "Which gradients does float16 lose?",
        "The same deep MLP. Below 2^-25 a number rounds to 0 in float16. Predict how many gradients that are, and how "
        "many with a scale of 2^16.",
        "Half of them without a scale, fewer than one in a hundred with it: the bars move 16 to the right. e4m3 cannot "
        "hold them all at any scale; what is beyond its largest number, 448, *saturates*: `.to` gives 448, not inf.",
        GradScalerSpec(growth_interval=2000, model=DEEP),
    ),
    _asks(
        "Where does the scale settle?",
        "growth_interval is 1, so every good step doubles the scale. Predict what it does after the first overflow.",
        "A saw: it doubles until float16 overflows in backward, the step is lost, the scale halves, and doubles again. "
        "The teeth rise as the gradients shrink. More than a third of the steps are lost here; with 2000, PyTorch's "
        "default, a larger scale is tried once in 2000 steps.",
        GradScalerSpec(growth_interval=1, steps=30),
    ),
    _asks(
        "Two optimizers, one overflow: who is skipped?",
        "One scaler, two optimizers with half of the parameters each. A gradient of the second has an inf in step 5. "
        "Predict whose step is skipped, and how often the scale is halved.",
        "Only the second: found_inf is 0, 1, and the first steps with good gradients. The scale is halved once for "
        "both. Model halves that step apart are one reason to look at *Every step*.",
        GradScalerSpec(
            growth_interval=2000, optimizers=2, injections=parse_injections("5 inf in head.weight"), steps=12
        ),
    ),
    _asks(
        "Why is the second step refused?",
        "`scaler.update()` is missing from the loop. Predict in which step PyTorch notices.",
        'In step 2, with "step() has already been called since the last update()": `update` also resets what the '
        "scaler knows of each optimizer. The first step went through.",
        GradScalerSpec(growth_interval=2000, mistake="update() forgotten", steps=6),
    ),
    _asks(
        "Accumulation: what does an early unscale_ do?",
        "Two backward passes per step, and `unscale_` already after the first. Predict the norm of the gradients that "
        "the optimizer steps with.",
        "More than 80 000 instead of 2.6: the second pass adds gradients that are still scaled, and `step` does not "
        "unscale again. No error is raised. The loss is nan from step 2 on, and the scale falls and falls.",
        GradScalerSpec(growth_interval=2000, mistake="unscale_ while accumulating", accumulation=2),
    ),
    _asks(
        'GradScaler("cuda") without CUDA: what does it scale?',
        'The same loop, but the scaler is made by `torch.amp.GradScaler("cuda")`, as in a script written for a GPU. '
        "The loss is inf in step 5. Predict the scale, and what becomes of step 5.",
        "Where PyTorch finds no CUDA it warns and disables the scaler: the scale is 1, nothing is checked, and the "
        'parameters are nan from step 5 on. `GradScaler("cpu")`, drawn beside it, skips that step and goes on. '
        '`torch.autocast("cuda")` is as quiet: without CUDA it casts nothing. Where CUDA is there, both lines are '
        "the same.",
        GradScalerSpec(growth_interval=2000, scaler_device="cuda", injections=parse_injections("5 inf"), steps=12),
    ),
    _asks(
        "Scaled loss thrown away: why does nothing move?",
        "`scaler.scale(loss)` is called, but `loss.backward()` runs on the unscaled loss. Predict the loss after 24 "
        "steps.",
        "The same to three digits: `step` divides gradients by 65536 that were never multiplied. No error is raised, "
        "and every step counts as taken.",
        GradScalerSpec(growth_interval=2000, mistake="scaled loss thrown away"),
    ),
    _asks(
        "Does 1e-8 survive float16?",
        "One weight with factor 1e-8, so its gradient is 1e-8. Predict what `.half()` makes of it, without a scale and "
        "with 65536.",
        "0 without: half of the smallest float16 is 2.98e-8. With the scale it becomes 0.000655, a normal number; "
        "back in float32 and divided again it is 9.997e-09 (pytorch/pytorch#99640): the page *Number formats* shows "
        "that, in the column *scaled and back*.",
        GradScalerSpec(model=ONE_WEIGHT, autocast="off", factor=1e-8, steps=1),
    ),
)
