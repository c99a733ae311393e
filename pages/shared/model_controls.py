"""The shared model controls of the sidebar: one widget per field of ModelSpec, kept in the link."""

from __future__ import annotations

from typing import Any, get_args

import msgspec
import streamlit as st

from engine.models.applicability import architecture_reasons, settle
from engine.models.shape import parameter_groups
from engine.models.spec import EXPRESSIONS, AnyArchitecture, Architecture, Expression, ModelSpec
from pages.shared.bound import bind, none_but
from pages.shared.fields import common_arguments, draw_field, field_default, field_value
from pages.shared.link import forget_model, link_text

ARCHITECTURES: dict[str, type[Architecture]] = {kind.__struct_config__.tag: kind for kind in get_args(AnyArchitecture)}
TITLES = {
    "mlp": "Dynamic-depth MLP",
    "dynamic_block": "Dynamic block",
    "linear_stack": "Linear + ReLU stack",
    "resnet": "ResNet",
    "conv_net": "Convolutional blocks",
    "gpt": "GPT blocks",
    "recurrent": "Recurrent over time",
    "tied_loop": "Tied weight loop",
    "chain": "Chain of functions",
    "embedding": "Embedding",
    "two_tower": "Two inputs, two outputs",
    "expression": "Tensor expression",
}
TOPICS: dict[str, tuple[str, ...]] = {
    "Gradients": ("train", "input_requires_grad", "frozen", "grad_mode", "grad_mode_block"),
    "Memory": ("checkpoint", "checkpoint_k", "checkpoint_segments", "use_reentrant", "preserve_rng_state"),
    "Precision and layout": ("autocast", "dtype", "memory_format", "device"),
    "Run": ("loss", "batch", "seed"),
}
"""ModelSpec's toggles by topic; a test checks that every field is shown exactly once."""


def draw_model_controls() -> None:
    """Draw every model control; read the outcome with `current_model`."""
    tag = st.selectbox(
        "Model",
        list(ARCHITECTURES),
        format_func=lambda name: TITLES[name],
        on_change=forget_model,
        **bind("model", named=TITLES.__getitem__, why=none_but(TITLES.values())),
    )
    kind = ARCHITECTURES[tag or "mlp"]
    if kind.__doc__:
        st.caption(kind.__doc__.splitlines()[0])
    _draw_architecture(kind, tag or "mlp")
    _draw_toggles()


def _draw_architecture(kind: type[Architecture], tag: str) -> None:
    """Numbers two to a row, everything else on a row of its own."""
    try:
        reasons = architecture_reasons(current_model())
    except ValueError:
        reasons = {}
    numbers = [name for name in kind.__struct_fields__ if type(field_default(kind, name)) is int]
    for first in range(0, len(numbers), 2):
        for column, name in zip(st.columns(2, gap="small"), numbers[first : first + 2], strict=False):
            with column:
                _draw_field(kind, name, f"{tag}.{name}", reasons.get(name, ""))
    for name in kind.__struct_fields__:
        if name not in numbers:
            _draw_field(kind, name, f"{tag}.{name}", reasons.get(name, ""))


def _draw_toggles() -> None:
    try:
        reasons = _settled()[1]
    except ValueError:
        reasons = {}
    for topic, names in TOPICS.items():
        with st.expander(topic, expanded=topic in ("Gradients", "Memory"), key=f"topic.{topic}"):
            for name in names:
                _draw_field(ModelSpec, name, name, reasons.get(name, ""))


def _draw_field(kind: type[msgspec.Struct], name: str, key: str, reason: str) -> None:
    label = name if kind is ModelSpec else None  # a toggle is shown as it is typed
    if name == "frozen":
        _draw_groups(key, reason)
        return
    draw_field(kind, name, key, label=label, reason=reason)
    if kind is Expression and name == "name":
        st.code(EXPRESSIONS[field_value(kind, name, key)], language="python", wrap_lines=True)


def _draw_groups(key: str, reason: str) -> None:
    try:
        groups = parameter_groups(current_architecture())
    except ValueError:
        groups = ()  # the page says which settings contradict each other
    common = common_arguments(key, reason or "parameter groups with requires_grad=False")
    st.multiselect("frozen groups", groups, placeholder="none", disabled=bool(reason), **common)


def current_architecture() -> AnyArchitecture:
    """The architecture the widgets describe; ValueError in words when they contradict each other."""
    tag = st.session_state.get("model") or "mlp"
    kind = ARCHITECTURES[tag]
    values = {name: st.session_state.get(f"{tag}.{name}", field_default(kind, name)) for name in kind.__struct_fields__}
    return kind(**values)  # type: ignore[return-value]


def current_model() -> ModelSpec:
    """The ModelSpec the widgets describe, toggles that do not fit left out; ValueError when fields contradict."""
    return _settled()[0]


def _settled() -> tuple[ModelSpec, dict[str, str]]:
    toggles = {
        name: st.session_state.get(name, field_default(ModelSpec, name))
        for name in ModelSpec.__struct_fields__
        if name != "architecture"
    }
    return settle(current_architecture(), **toggles | {"frozen": tuple(toggles["frozen"])})


def widget_values(model: ModelSpec) -> dict[str, Any]:
    """Widget key -> value that makes the controls show `model`."""
    tag = _tag(model)
    values: dict[str, Any] = {"model": tag}
    values |= {f"{tag}.{name}": getattr(model.architecture, name) for name in model.architecture.__struct_fields__}
    values |= {name: getattr(model, name) for name in ModelSpec.__struct_fields__ if name != "architecture"}
    return values | {"frozen": list(model.frozen)}


def link_values(model: ModelSpec) -> dict[str, str | list[str]]:
    """The link parameters that show `model`, as the bound widgets write them: what differs from the defaults."""
    known = widget_values(ModelSpec(architecture=ARCHITECTURES[_tag(model)]())) | {"model": "mlp"}  # type: ignore[arg-type]
    changed = {key: value for key, value in widget_values(model).items() if value != known[key]}
    shown = {key: TITLES[value] if key == "model" else value for key, value in changed.items()}
    return {key: link_text(value) for key, value in shown.items()}


def _tag(model: ModelSpec) -> str:
    return str(type(model.architecture).__struct_config__.tag)
