"""Questions of the checkpointing page; what each notice claims is tested."""

from __future__ import annotations

from engine.checkpointing.policy import Policy, label_of
from engine.models.spec import Gpt, LinearStack, ModelSpec
from pages.memory.checkpointing_controls import (
    ACROSS,
    ACROSS_OPTIONS,
    SECTION,
    SECTIONS,
    SHOWN,
    UP,
    UP_OPTIONS,
)
from pages.memory.checkpointing_menu import (
    EACH,
    EVERY_5TH,
    MENU,
    ROOT,
    menu_values,
)
from pages.shared.presets import Preset

HELD, PEAK = ACROSS_OPTIONS
TIME, FLOPS, _ = UP_OPTIONS
STACK = ModelSpec(architecture=LinearStack(layers=50, width=256), batch=64)
GPT = ModelSpec(architecture=Gpt(layers=6, heads=4, width=128, sequence=64, vocabulary=500), batch=4)


def _asks(
    question: str,
    prediction: str,
    notice: str,
    model: ModelSpec,
    names: tuple[str, ...],
    shown: str = "",
    *,
    own: Policy | None = None,
    across: str = HELD,
    up: str = TIME,
) -> Preset:
    """A question of the policies; `shown` names the one looked at first."""
    looked_at = own if own is not None and not shown else MENU[shown or names[0]](model.architecture)
    settings = {SECTION: SECTIONS[0], SHOWN: label_of(looked_at), ACROSS: across, UP: up}
    return Preset(question, prediction, notice, model=model, settings=settings | menu_values(names, own))


PRESETS: tuple[Preset, ...] = (
    _asks(
        "Why did memory not drop?",
        "A stack of 50 Linear + ReLU, every 5th block checkpointed. Predict how many bytes it frees.",
        "None. A Linear saves its input, a ReLU its *output*, which is the next Linear's input: per block one tensor. "
        "A checkpointed block keeps its input instead, and the block after it keeps the input it would have kept "
        "anyway. What it costs is real: the operations of every 5th block run again.",
        STACK,
        (EVERY_5TH, ROOT, EACH),
    ),
)
