"""The controls of the gradient values page: the section, its settings, and the spec they describe."""

from __future__ import annotations

from typing import Any

import msgspec
import streamlit as st

from engine.gradients.spec import (
    AccumulationSpec,
    ClippingSpec,
    DifferenceSpec,
    FiniteDifferenceSpec,
    GradientsSpec,
    ZeroGradSpec,
)
from engine.models.spec import ModelSpec
from engine.runner.contract import field_ranges
from pages.shared.choice import draw_choice
from pages.shared.fields import common_arguments, draw_field, field_value

SECTION = "gradients.section"
QUANTITY = "gradients.quantity"
QUANTITIES = ("norms", "gradient / weight", "update")
LEAF = "gradients.leaf"
CHART = "gradients.chart"

AnySpec = GradientsSpec | DifferenceSpec | FiniteDifferenceSpec | AccumulationSpec | ClippingSpec | ZeroGradSpec
KINDS: dict[str, type[AnySpec]] = {
    "Values": GradientsSpec,
    "Two runs": DifferenceSpec,
    "Finite differences": FiniteDifferenceSpec,
    "Accumulation": AccumulationSpec,
    "Clipping": ClippingSpec,
    "zero_grad": ZeroGradSpec,
}
FIELDS: dict[str, tuple[str, ...]] = {
    "Values": ("learning_rate",),
    "Two runs": ("against",),
    "Finite differences": ("entries", "log10_eps", "log10_rtol"),
    "Accumulation": ("micro_batches",),
    "Clipping": ("max_norm", "norm_type", "clip_value", "loss_scale", "poison", "error_if_nonfinite"),
    "zero_grad": ("optimizer", "learning_rate", "momentum", "weight_decay", "backward_again"),
}
LABELS = {
    "learning_rate": "lr",
    "against": "B differs by",
    "entries": "entries per leaf",
    "log10_eps": "eps = 10^",
    "log10_rtol": "rtol = 10^",
    "poison": "spoil with",
}
WITH_MOMENTUM = ("SGD", "RMSprop")
WIDTHS = {"against": 190, "error_if_nonfinite": 180, "backward_again": 200, "norm_type": 90}
HIDDEN_CHOICE = "given"
"""Of `against`: not chosen by hand, but asked for by the values section when a run is pinned."""


def draw_section() -> str:
    """Which of the six the page is about; only that one is computed."""
    return draw_choice("Section", tuple(KINDS), SECTION)


def draw_controls(section: str) -> None:
    """The settings of one section in a row."""
    names = FIELDS[section]
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small", key="gradients-controls"):
        for name in names:
            with st.container(width=WIDTHS.get(name, 132)):
                _draw(KINDS[section], name, _key(section, name))
        if section == "Values":
            st.segmented_control(
                "shown",
                QUANTITIES,
                default=QUANTITIES[0],
                required=True,
                **common_arguments(QUANTITY, "What the chart draws of every leaf"),
            )


def _draw(kind: type[AnySpec], name: str, key: str) -> None:
    if name == "against":
        choices = [choice for choice in _choices() if choice != HIDDEN_CHOICE]
        st.selectbox(LABELS[name], choices, **common_arguments(key, "A is the model of the sidebar without it"))
        return
    reason = ""
    if name == "momentum" and field_value(kind, "optimizer", _key("zero_grad", "optimizer")) not in WITH_MOMENTUM:
        reason = "Adam and AdamW average gradients by betas instead"
    draw_field(kind, name, key, label=LABELS.get(name, name), reason=reason)


def _choices() -> tuple[str, ...]:
    return field_ranges(DifferenceSpec)["against"].choices


def _key(section: str, name: str) -> str:
    return f"gradients.{section.lower().replace(' ', '_')}.{name}"


def current_spec(section: str, model: ModelSpec) -> AnySpec:
    """What the controls of a section describe; ValueError in words where they do not fit the model."""
    kind = KINDS[section]
    values = {name: field_value(kind, name, _key(section, name)) for name in FIELDS[section]}
    return kind(model=model, **values)


def values_of(spec: AnySpec) -> dict[str, Any]:
    """Widget key -> value that makes the page's own controls show `spec`."""
    section = next(name for name, kind in KINDS.items() if kind is type(spec))
    fields = msgspec.structs.asdict(spec)
    return {SECTION: section} | {_key(section, name): fields[name] for name in FIELDS[section]}


def draw_leaf_choice(names: list[str], preferred: int = 0) -> int:
    """The leaf whose details are shown: chosen here or by a click on the chart; its number."""
    if st.session_state.get(LEAF) not in names:
        st.session_state.pop(LEAF, None)
    chosen = st.selectbox(
        "Leaf", names, index=min(preferred, len(names) - 1), **common_arguments(LEAF, "Or click a mark of the chart")
    )
    return names.index(chosen) if chosen in names else preferred
