"""Questions of the replay page; each sets the model and every control of the call and of the hook."""

from __future__ import annotations

from typing import Any

from engine.models.spec import Expression, Gpt, Mlp, ModelSpec, TiedLoop
from engine.replay.spec import GradientHook, ReplaySpec
from pages.backward.replay_controls import CALL, HOOK, HOOK_PREFIX, PREFIX
from pages.shared.fields import field_default
from pages.shared.presets import Preset

_DEFAULTS: dict[str, Any] = {f"{PREFIX}.{name}": field_default(ReplaySpec, name) for name in CALL} | {
    f"{HOOK_PREFIX}.{name}": field_default(GradientHook, name) for name in HOOK
}


def _asked(question: str, prediction: str, notice: str, model: ModelSpec, **changed: Any) -> Preset:
    """`changed` are fields of ReplaySpec, and with "hook_" before them of GradientHook."""
    names = {name: f"{PREFIX}.{name}" if name in CALL else f"{HOOK_PREFIX}.{name[5:]}" for name in changed}
    settings = _DEFAULTS | {names[name]: value for name, value in changed.items()}
    return Preset(question, prediction, notice, model, settings=settings)


PRESETS = (
    _asked(
        "In which order does backward() run the nodes?",
        "Three layers, two of them with a residual sum. Press play, and predict at every node which one comes next.",
        "The reverse of the forward: of the nodes that are ready, the engine takes the one with the highest "
        "`sequence_nr`. `AccumulateGrad` has no number and goes first: each `.grad` is there as soon as its "
        "gradient is, long before backward ends. At a residual sum the gradient goes both ways at once.",
        ModelSpec(architecture=Mlp()),
    ),
    _asked(
        "Why is a shared weight's gradient a sum?",
        "One Linear used six times. Predict how often its `AccumulateGrad` runs, and when.",
        "Once, as the very last step: the engine adds the six contributions as they arrive, and only then runs the "
        "node. *Accumulation, use by use* shows each of them; added in that order they are `.grad` bit for bit.",
        ModelSpec(architecture=TiedLoop()),
    ),
    _asked(
        "What does a second backward() say?",
        "`loss.backward()` twice, without `retain_graph`. Predict at which node the second call fails: the first one?",
        "Not at the first: `SumBackward0` saved no tensor and runs again. The first node that needs a saved tensor, "
        "`AddmmBackward0` of the head, finds it freed and raises. `.grad` keeps what the first call left.",
        ModelSpec(architecture=Mlp(layers=2, depth=2)),
        passes=2,
    ),
    _asked(
        "What do two backward() calls leave in .grad?",
        "The same with `retain_graph=True`. Predict how the gradients of the two calls end up in `.grad`.",
        "It is added to: after the second call every `.grad` is exactly twice the first. That is what makes "
        "gradient accumulation work, and what `zero_grad()` is for. See *Accumulation*: before, the use, after.",
        ModelSpec(architecture=Mlp(layers=1, depth=1)),
        passes=2,
        retain_graph=True,
    ),
    _asked(
        "Does checkpointing run the forward again, and when?",
        "Both blocks of this GPT are checkpointed. Predict at which step each forward runs again, and which comes "
        "first.",
        "Late, and last block first: the forward of `blocks.1` runs again inside the first of its nodes that "
        "unpacks a saved tensor, the one of `blocks.0` only when backward gets there. The steps are marked "
        "*recomputed*; so at any time only one block's tensors are alive.",
        ModelSpec(architecture=Gpt(layers=2), checkpoint="each_block"),
    ),
    _asked(
        "Where do gradients vanish?",
        "Sixteen ReLU layers without a residual connection. Predict how much smaller the gradient is at the first "
        "layer than at the last.",
        "More than 1000 times: *Gradient over depth* falls almost straight on its logarithmic axis, because every "
        "layer takes its share, and on average half of the ReLU's units pass nothing on. Pin this run and switch "
        "*residual* on: the dashed line stays, the new one is flat.",
        ModelSpec(architecture=Mlp(layers=16, depth=16, residual=False)),
    ),
    _asked(
        "What does a hook on the way change?",
        "A hook on the output of `layers.1` returns zeros. Predict which parameters get a gradient of 0, and which "
        "None.",
        "No one gets None. Everything that backward reaches after the hook is exactly 0 (the dashed edges), also in "
        "`layers.0`; the head and `layers.2` were served before and keep theirs. A 0 is added to `.grad`, so an "
        "optimizer with momentum or weight decay still moves these weights.",
        ModelSpec(architecture=Mlp()),
        hook_kind="zero",
        hook_at="layers.1",
    ),
    _asked(
        "When does a tensor hook fire for a tied weight?",
        "One Linear used six times, and a hook on its weight. Predict: six calls with a part each, or one?",
        "One, with the sum of all six, and `.grad` is still None at that moment (*Calls and hooks*). The hook that "
        "sees `.grad` is `register_post_accumulate_grad_hook`. Compare pytorch/pytorch#8023.",
        ModelSpec(architecture=TiedLoop()),
        hook_kind="observe",
        hook_at="step.linear.weight",
    ),
    _asked(
        "Which gradient does an output nobody used get?",
        "`p, q, r = m; (p * r).sum()`: nobody uses `q`. Predict what `UnbindBackward0` receives for it.",
        "None, an undefined gradient, not a tensor of zeros: click `Unbind`. The node fills in the zeros itself, so "
        "the middle row of `m.grad` is exactly 0.",
        ModelSpec(architecture=Expression(name="unbind_iter")),
    ),
    _asked(
        "Where does this NaN come from?",
        "`torch.where(x > 0, x.sqrt(), x).sum()` at x = (-1, 0, 4). The loss is finite. Predict which node makes the "
        "NaN, and in how many places.",
        "`SqrtBackward0`, in two: `where` sends it an exact 0 for the branches not taken, and it divides that by twice "
        "the root, which is 0 at 0 and NaN at -1. Both are added to the healthy gradient of the other branch, so "
        "`x.grad` is NaN at -1 and 0.",
        ModelSpec(architecture=Expression(name="where_sqrt")),
    ),
)
