"""The controls of the gradient scaling page and the spec they describe."""

from __future__ import annotations

import math
from typing import Any

import streamlit as st

from engine.grad_scaler.injections import injections_text, parse_injections
from engine.grad_scaler.spec import SMALL_MODEL, GradScalerSpec
from engine.models.spec import ConvNet, Embedding, Gpt, Mlp, ModelSpec, Recurrent
from pages.shared.fields import common_arguments, draw_field, field_value

PREFIX = "scaler"
TRAINED, EXPONENT, INJECTIONS = "scaler.trained", "scaler.exponent", "scaler.injections"
FIRST_EXPONENT = 16
VISIBLE = ("autocast", "steps")
ACTIONS = ("clipping", "mistake")
SCALER = ("scaler_device", "growth_interval", "growth_factor", "backoff_factor", "enabled")
LABELS = {"scaler_device": "GradScaler for device"}
LOOP = ("optimizer", "lr", "optimizers", "accumulation", "max_norm", "factor")


def _classifier(architecture: Any) -> ModelSpec:
    return ModelSpec(architecture=architecture, loss="cross_entropy")


TRAINABLE: dict[str, ModelSpec | None] = {
    "MLP": SMALL_MODEL,
    "deep MLP, no residual": _classifier(Mlp(layers=20, depth=20, width=32, residual=False)),
    "one weight, w * factor": None,
    "GPT blocks": _classifier(Gpt(layers=2, heads=2, width=32, sequence=8, vocabulary=32)),
    "convolutions": _classifier(ConvNet(layers=2, channels=8, image_size=16)),
    "LSTM over 30 steps": _classifier(Recurrent(steps=30, width=16)),
    "embedding": _classifier(Embedding(vocabulary=100, width=16)),
}


def _key(name: str) -> str:
    return f"{PREFIX}.{name}"


def draw_controls() -> None:
    """What is trained, the scale, and what goes wrong; the rest folded."""
    st.selectbox("trained", tuple(TRAINABLE), **common_arguments(TRAINED, "Same batch every step, cross entropy"))
    draw_field(GradScalerSpec, "autocast", _key("autocast"), label="autocast dtype")
    help_text = "The scale before the first step, as a power of two: 16 is PyTorch's 65536"
    st.slider("init_scale = 2 to the power", -24, 40, FIRST_EXPONENT, 1, **common_arguments(EXPONENT, help_text))
    draw_field(GradScalerSpec, "steps", _key("steps"))
    help_text = "As in 2 inf, 5 nan, 7 inf in head.weight: step, value, and a parameter's gradient instead of the loss"
    st.text_input("overflows put in", placeholder="2 inf, 5 nan", **common_arguments(INJECTIONS, help_text))
    for name in ACTIONS:
        draw_field(GradScalerSpec, name, _key(name))
    with st.expander("Scaler", key="scaler.more"):
        for name in SCALER:
            draw_field(GradScalerSpec, name, _key(name), label=LABELS.get(name, name))
    with st.expander("Optimizer and loop", key="scaler.loop"):
        for name in LOOP:
            draw_field(GradScalerSpec, name, _key(name), label=name)


def current_spec() -> GradScalerSpec:
    """What the controls describe; ValueError in words where they do not go together."""
    named = {name: field_value(GradScalerSpec, name, _key(name)) for name in (*VISIBLE, *ACTIONS, *SCALER, *LOOP)}
    return GradScalerSpec(
        model=TRAINABLE[st.session_state.get(TRAINED) or "MLP"],
        init_scale=2.0 ** st.session_state.get(EXPONENT, FIRST_EXPONENT),
        injections=parse_injections(str(st.session_state.get(INJECTIONS) or "")),
        **named,
    )


def values_of(spec: GradScalerSpec) -> dict[str, Any]:
    """Widget key -> value that makes the controls show `spec`, whose scale is a power of two."""
    trained = next(name for name, model in TRAINABLE.items() if model == spec.model)
    values = {TRAINED: trained, EXPONENT: int(math.log2(spec.init_scale)), INJECTIONS: injections_text(spec.injections)}
    return values | {_key(name): getattr(spec, name) for name in (*VISIBLE, *ACTIONS, *SCALER, *LOOP)}
