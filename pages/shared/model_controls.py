"""The shared model controls of the sidebar: one widget per field of ModelSpec, kept in the link."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any, get_args

import msgspec
import streamlit as st

from engine.models.applicability import architecture_reasons, settle
from engine.models.shape import parameter_groups
from engine.models.spec import EXPRESSIONS, AnyArchitecture, Architecture, ModelSpec
from engine.runner.contract import FieldRange, field_ranges
from pages.shared.device_control import draw_device
from pages.shared.link import forget_opened_groups

ARCHITECTURES: dict[str, type[Architecture]] = {kind.__struct_config__.tag: kind for kind in get_args(AnyArchitecture)}
TITLES = {
    "mlp": "Dynamic-depth MLP",
    "dynamic_block": "Dynamic block",
    "linear_stack": "Linear + ReLU stack",
    "resnet": "ResNet",
    "gpt": "GPT blocks",
    "recurrent": "Recurrent over time",
    "tied_loop": "Tied weight loop",
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

# number_input says nothing of a range of a million; a slider is only used where each step can be hit
LARGEST_SLIDER = 48


def draw_model_controls() -> None:
    """Draw every model control; read the outcome with `current_model`."""
    tag = st.selectbox(
        "Model",
        list(ARCHITECTURES),
        format_func=lambda name: TITLES[name],
        key="model",
        on_change=forget_opened_groups,
        bind="query-params",
        persist_state="session",
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
    numbers = [name for name in kind.__struct_fields__ if type(_default(kind, name)) is int]
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
    default = _default(kind, name)
    allowed = field_ranges(kind).get(name, FieldRange())
    common: dict[str, Any] = {
        "key": key,
        "bind": "query-params",
        "persist_state": "session",
        "disabled": bool(reason),
        "help": reason or allowed.description or None,
    }
    label = name if kind is ModelSpec else name.replace("_", " ")
    _widget_for(name, default, allowed)(label, default, allowed, common)


def _widget_for(name: str, default: Any, allowed: FieldRange) -> Callable[[str, Any, FieldRange, dict[str, Any]], None]:
    if name == "frozen":
        return _draw_groups
    if name == "device":
        return draw_device
    if allowed.choices:
        return _draw_choices
    if isinstance(default, bool):
        return _draw_toggle
    return _draw_number


def _draw_toggle(label: str, default: bool, allowed: FieldRange, common: dict[str, Any]) -> None:
    st.toggle(label, value=default, **common)


def _draw_choices(label: str, default: Any, allowed: FieldRange, common: dict[str, Any]) -> None:
    chosen = st.selectbox(label, allowed.choices, index=allowed.choices.index(default), **common)
    if chosen in EXPRESSIONS:
        st.code(EXPRESSIONS[chosen], language="python", wrap_lines=True)


def _draw_number(label: str, default: float, allowed: FieldRange, common: dict[str, Any]) -> None:
    if _is_impossible_in_link(common["key"]):
        common["bind"] = None
    low, high = allowed.low, allowed.high
    if isinstance(default, int):
        low, high = int(low or 0), int(high or 0)
    step = 1 if isinstance(default, int) else 0.05
    if high is not None and low is not None and high - low <= LARGEST_SLIDER:
        st.slider(label, low, high, default, step, **common)
    else:
        st.number_input(label, low, high, default, step, **common)


def _is_impossible_in_link(key: str) -> bool:
    """Whether the link holds a number that no float can: Streamlit raises OverflowError when it binds such a one."""
    impossible: set[str] = st.session_state.setdefault("impossible", set())
    try:
        if not math.isfinite(float(st.query_params.get(key, "0"))):
            del st.query_params[key]
            impossible.add(key)
    except ValueError:
        return False
    return key in impossible


def _draw_groups(label: str, default: Any, allowed: FieldRange, common: dict[str, Any]) -> None:
    try:
        groups = parameter_groups(current_architecture())
    except ValueError:
        groups = ()  # the page says which settings contradict each other
    help_text = common.pop("help") or "parameter groups with requires_grad=False"
    st.multiselect(f"{label} groups", groups, help=help_text, placeholder="none", **common)


def _default(kind: type[msgspec.Struct], name: str) -> Any:
    return _defaults(kind)[name]


@cache
def _defaults(kind: type[msgspec.Struct]) -> dict[str, Any]:
    return {field.name: field.default for field in msgspec.structs.fields(kind)}


def current_architecture() -> AnyArchitecture:
    """The architecture the widgets describe; ValueError in words when they contradict each other."""
    tag = st.session_state.get("model") or "mlp"
    kind = ARCHITECTURES[tag]
    values = {name: st.session_state.get(f"{tag}.{name}", _default(kind, name)) for name in kind.__struct_fields__}
    return kind(**values)  # type: ignore[return-value]


def current_model() -> ModelSpec:
    """The ModelSpec the widgets describe, toggles that do not fit left out; ValueError when fields contradict."""
    return _settled()[0]


def _settled() -> tuple[ModelSpec, dict[str, str]]:
    toggles = {
        name: st.session_state.get(name, _default(ModelSpec, name))
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
    return {key: _link_text(key, value) for key, value in changed.items()}


def _link_text(key: str, value: Any) -> str | list[str]:
    if key == "model":
        return TITLES[value]
    if isinstance(value, list):
        return value
    return str(value).lower() if isinstance(value, bool) else str(value)


def _tag(model: ModelSpec) -> str:
    return str(type(model.architecture).__struct_config__.tag)
