"""Two steps of the model of the sidebar, each with one toggle changed."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import streamlit as st

from engine.models.architecture import Mlp
from engine.models.spec import ModelSpec
from engine.timing.spec import TimingSpec
from engine.timing.variant import StepVariant, StepWork
from pages.shared.fields import common_arguments, draw_field, field_value
from pages.shared.model_controls import current_model, draw_model_controls

Change = Callable[[ModelSpec], ModelSpec]
AS_SET = "as set below"
DEFAULTS = {"a": AS_SET, "b": "checkpoint each block"}
DEPTHS = ("depth", "layers", "steps")


def _toggle(**values: object) -> Change:
    return lambda model: msgspec.structs.replace(model, **values)


def _deeper(model: ModelSpec) -> ModelSpec:
    fields = [name for name in DEPTHS if hasattr(model.architecture, name)]
    if not fields:
        raise ValueError(f"{type(model.architecture).__name__} has no depth to double. Choose another change.")
    grown = {name: 2 * getattr(model.architecture, name) for name in fields}
    return msgspec.structs.replace(model, architecture=msgspec.structs.replace(model.architecture, **grown))


def _shallower(model: ModelSpec) -> ModelSpec:
    name = next((name for name in DEPTHS if hasattr(model.architecture, name)), "")
    if not name:
        raise ValueError(f"{type(model.architecture).__name__} has no depth to halve. Choose another change.")
    less = max(1, getattr(model.architecture, name) // 2)
    return msgspec.structs.replace(model, architecture=msgspec.structs.replace(model.architecture, **{name: less}))


CHANGES: dict[str, Change] = {
    AS_SET: lambda model: model,
    "checkpoint each block": _toggle(checkpoint="each_block"),
    "checkpoint in 2 segments": _toggle(checkpoint="segments", checkpoint_segments=2),
    "no checkpointing": _toggle(checkpoint="off"),
    "autocast bfloat16": _toggle(autocast="bfloat16"),
    "weights in bfloat16": _toggle(dtype="bfloat16", autocast="off"),
    "weights in float64": _toggle(dtype="float64", autocast="off"),
    "channels_last": _toggle(memory_format="channels_last"),
    "no_grad": _toggle(grad_mode="no_grad", grad_mode_block=-1),
    "inference_mode": _toggle(grad_mode="inference_mode", grad_mode_block=-1),
    "eval mode": _toggle(train=False),
    "gradient of the input too": _toggle(input_requires_grad=True),
    "twice the depth": _deeper,
    "half the depth": _shallower,
    "twice the batch": lambda model: msgspec.structs.replace(model, batch=2 * model.batch),
}
"""What a side may differ in from the model of the sidebar; both sides have the same list."""
FORWARD_ONLY = {"no_grad", "inference_mode"}


def draw_steps() -> None:
    """Per side its one change, its work and threads; then the model that both begin from."""
    for side in DEFAULTS:
        with st.container(border=True, key=f"timing.step.{side}"):
            st.selectbox(
                side.upper(),
                list(CHANGES),
                index=list(CHANGES).index(DEFAULTS[side]),
                **common_arguments(f"step.{side}.change", "What this side changes of the model below"),
            )
            for name in ("work", "threads"):
                draw_field(StepVariant, name, f"step.{side}.{name}", reason=_why_forward(side, name))
    draw_model_controls()


def _change(side: str) -> str:
    return str(st.session_state.get(f"step.{side}.change") or DEFAULTS[side])


def _why_forward(side: str, name: str) -> str:
    applies = name == "work" and _is_forward_only(side)
    return f"{_change(side)} leaves nothing to differentiate: forward" if applies else ""


def _is_forward_only(side: str) -> bool:
    return _change(side) in FORWARD_ONLY


def step_variant(side: str) -> StepVariant:
    """What one side's controls describe; ValueError in words where the change does not fit the model."""
    work: StepWork = "forward"
    if not _is_forward_only(side):
        work = field_value(StepVariant, "work", f"step.{side}.work")
    threads = field_value(StepVariant, "threads", f"step.{side}.threads")
    return StepVariant(model=CHANGES[_change(side)](current_model()), work=work, threads=threads)


def step_values(spec: TimingSpec, changes: dict[str, str] | None = None) -> dict[str, object]:
    """Widget key -> value for the sides of a comparison of steps."""
    values: dict[str, object] = {}
    for side, variant in (("a", spec.a), ("b", spec.b)):
        assert isinstance(variant, StepVariant)
        values |= {f"step.{side}.work": variant.work, f"step.{side}.threads": variant.threads}
        values[f"step.{side}.change"] = (changes or DEFAULTS)[side]
    return values


TINY = ModelSpec(architecture=Mlp(width=16, in_features=16, layers=4, depth=4), batch=1)
WIDE = ModelSpec(architecture=Mlp(width=1024, in_features=1024, layers=4, depth=4), batch=64)
