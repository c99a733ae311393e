"""How backward is called: the fields of ReplaySpec, above the picture."""

from __future__ import annotations

from typing import Any

import streamlit as st

from engine.models.spec import ModelSpec
from engine.replay.spec import GradientHook, Replay, ReplaySpec
from pages.shared.fields import common_arguments, draw_field, field_value
from pages.shared.jobs import compute
from pages.shared.page_end import end_page

CALL = ("roots", "grad_outputs", "passes", "retain_graph", "create_graph", "new_forward")
HOOK = ("kind", "at", "side", "amount")
PREFIX, HOOK_PREFIX = "backward", "hook"
LABELS = {
    "roots": "Start from",
    "grad_outputs": "grad_outputs",
    "passes": "backward() calls",
    "retain_graph": "retain_graph",
    "create_graph": "create_graph",
    "new_forward": "New forward before each",
}
LISTED_NAMES = 40
WITH_AMOUNT = ("scale", "clip by value")


def draw_controls() -> None:
    """Draw them all; read the outcome with `current_spec`."""
    with st.popover("Call of backward()", icon=":material/undo:"):
        for name in CALL:
            only_more = "Needs more than one backward() call." if name == "new_forward" and not _several() else ""
            draw_field(ReplaySpec, name, f"{PREFIX}.{name}", label=LABELS[name], reason=only_more)
    with st.popover("Hook", icon=":material/phishing:", help="Change or watch a gradient on its way"):
        _draw_hook()


def _draw_hook() -> None:
    draw_field(GradientHook, "kind", f"{HOOK_PREFIX}.kind", label="What it does")
    none = "Choose first what the hook does." if _value("kind") == "none" else ""
    help_text = none or "Name of a parameter, an input or a module; empty for every input that requires grad"
    common = common_arguments(f"{HOOK_PREFIX}.at", help_text) | {"disabled": bool(none)}
    st.text_input("Where", placeholder="layers.1.linear", max_chars=200, **common)
    draw_field(GradientHook, "side", f"{HOOK_PREFIX}.side", label="Of a module, on its", reason=none)
    unused = none or ("" if _value("kind") in WITH_AMOUNT else "Only scale and clip by value have one.")
    draw_field(GradientHook, "amount", f"{HOOK_PREFIX}.amount", reason=unused)


def call_words(spec: ReplaySpec) -> str:
    """The call as it would be typed: "loss.backward(retain_graph=True) x 2"."""
    arguments = [f"{name}=True" for name in ("retain_graph", "create_graph") if getattr(spec, name)]
    if spec.roots == "loss" and spec.grad_outputs == "default":
        call = f"loss.backward({', '.join(arguments)})"
    else:
        roots = {"loss": "loss", "outputs": "outputs", "loss and outputs": "[loss, *outputs]"}[spec.roots]
        seeds = [] if spec.grad_outputs == "default" else [f"grad_tensors={spec.grad_outputs}"]
        call = f"torch.autograd.backward({', '.join([roots, *seeds, *arguments])})"
    return f"{call} × {spec.passes}" if spec.passes > 1 else call


def current_spec(model: ModelSpec) -> ReplaySpec:
    """What the controls say; ValueError in words when they do not fit together."""
    call = {name: field_value(ReplaySpec, name, f"{PREFIX}.{name}") for name in CALL}
    call["new_forward"] = bool(call["new_forward"]) and _several()
    hook = GradientHook() if _value("kind") == "none" else GradientHook(**{name: _value(name) for name in HOOK})
    return ReplaySpec(model=model, hook=hook, **call)


def stop_without_place(spec: ReplaySpec) -> None:
    """Ends this page with the names there are, where the hook's is none of them."""
    if spec.hook.kind == "none" or not spec.hook.at:
        return
    names = hook_names(compute(ReplaySpec(model=spec.model), slot="names"))
    if spec.hook.at not in names:
        st.error("**There is no such place for the hook**", icon=":material/phishing:")
        st.text(f"Where must name a parameter, an input or a module of this model; received {spec.hook.at!r}.")
        more = f", … ({len(names)} in all)" if len(names) > LISTED_NAMES else ""
        st.text(f"Choose one of {', '.join(names[:LISTED_NAMES])}{more}, or leave it empty for the input.")
        end_page()


def hook_names(replay: Replay) -> list[str]:
    """Modules, parameters and inputs of a model that was recorded."""
    modules = [call.path for call in replay.modules if call.path]
    return [*modules, *(leaf.name for leaf in replay.leaves)]


def _several() -> bool:
    return int(field_value(ReplaySpec, "passes", f"{PREFIX}.passes")) > 1


def _value(name: str) -> Any:
    value = field_value(GradientHook, name, f"{HOOK_PREFIX}.{name}")
    return value.strip() if isinstance(value, str) else value
