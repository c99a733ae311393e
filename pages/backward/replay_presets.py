"""Questions of the replay page."""

from __future__ import annotations

from engine.models.spec import Mlp, ModelSpec
from pages.shared.presets import Preset

PRESETS = (
    Preset(
        "In which order does backward() run the nodes?",
        "A residual MLP. Predict which node runs first, and which last.",
        "The reverse of the forward.",
        ModelSpec(architecture=Mlp()),
    ),
)
