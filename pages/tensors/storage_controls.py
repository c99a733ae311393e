"""The controls of the storage page: the tensor, its chain of operations, and the spec they describe."""

from __future__ import annotations

from typing import Any

import streamlit as st

from engine.storage.chain import format_chain, parse_chain
from engine.storage.operations import OPERATIONS, Step
from engine.storage.spec import MAXIMUM_STEPS, LayoutSpec
from pages.shared.fields import common_arguments, draw_field, draw_ints, field_value, ints_text, ints_value, parse_ints
from pages.tensors.storage_starts import starting_step

SHAPE, CHAIN, VIEW = "storage.shape", "storage.chain", "storage.view"
ADD, ADDED = "storage.add", "storage.added"
TENSOR_FIELDS = ("dtype", "fill", "requires_grad", "memory_format", "device", "seed")
VISIBLE_FIELDS = ("dtype", "fill")
VIEW_HELP = "The shape to ask of the end of the chain, at most one -1 for a size to infer; () for a 0-dim tensor"
EXAMPLE = ".transpose(0, 1)[1:, ::2]"


def current_spec() -> LayoutSpec:
    """What the controls describe; ValueError in words where they contradict each other or cannot be read."""
    steps = parse_chain(st.session_state.get(CHAIN, ""))
    fields = {name: field_value(LayoutSpec, name, f"storage.{name}") for name in TENSOR_FIELDS}
    write = field_value(LayoutSpec, "write", "storage.write")
    return LayoutSpec(
        shape=ints_value(SHAPE, LayoutSpec().shape),
        steps=steps,
        view_shape=view_shape(),
        write=write,
        write_step=min(field_value(LayoutSpec, "write_step", "storage.write_step"), len(steps)),
        **fields,
    )


def view_shape() -> tuple[int, ...] | None:
    """The shape asked of `.view`; None while the field is empty, `()` is written with brackets."""
    text = str(st.session_state.get(VIEW, "")).strip()
    return parse_ints(text, "view shape") if text else None


def values_of(spec: LayoutSpec) -> dict[str, Any]:
    """Widget key -> value that makes the controls show `spec`."""
    asked = spec.view_shape
    return {f"storage.{name}": getattr(spec, name) for name in (*TENSOR_FIELDS, "write", "write_step")} | {
        SHAPE: ints_text(spec.shape),
        CHAIN: format_chain(spec.steps),
        VIEW: "" if asked is None else ints_text(asked) or "()",
    }


def draw_controls() -> None:
    """The tensor first, then the chain; each step can be edited, moved and removed."""
    draw_ints("shape", LayoutSpec().shape, SHAPE, help="Up to 6 sizes, as in 4, 6; empty for a 0-dim tensor")
    for name in VISIBLE_FIELDS:
        draw_field(LayoutSpec, name, f"storage.{name}", label=name)
    with st.expander("More about the tensor", key="storage.more"):
        for name in TENSOR_FIELDS:
            if name not in VISIBLE_FIELDS:
                draw_field(LayoutSpec, name, f"storage.{name}", label=name)
    st.text_input(
        "Chain of operations on x",
        placeholder=EXAMPLE,
        **common_arguments(CHAIN, f"As you would type it after x, for instance {EXAMPLE}"),
    )
    _draw_steps()
    st.text_input("Will `.view(…)` work?", placeholder="24", **common_arguments(VIEW, VIEW_HELP))
    draw_field(LayoutSpec, "write", "storage.write", label="Write in place")
    reason = "" if st.session_state.get("storage.write", "none") != "none" else "Choose an in-place operation first"
    draw_field(LayoutSpec, "write_step", "storage.write_step", label="through tensor number (0 is x)", reason=reason)


def _draw_steps() -> None:
    try:
        steps = parse_chain(st.session_state.get(CHAIN, ""))
    except ValueError:
        st.caption("The chain cannot be read; the page says why. Its steps appear here once it can.")
        return
    for number, step in enumerate(steps):
        _draw_step(number, step, len(steps))
    _draw_adding(steps)


def _draw_step(number: int, step: Step, count: int) -> None:
    key = f"storage.step.{number}"
    st.session_state[key] = format_chain((step,))
    with st.container(horizontal=True, vertical_alignment="center", gap=None, key=f"storage.row.{number}"):
        st.text_input(f"Step {number + 1}", key=key, label_visibility="collapsed", on_change=_edit, args=(number, key))
        for icon, words, offset in (("arrow_upward", "Earlier", -1), ("arrow_downward", "Later", 1)):
            st.button(
                "",
                icon=f":material/{icon}:",
                key=f"{key}.{words}",
                help=words,
                type="tertiary",
                disabled=not 0 <= number + offset < count,
                on_click=_move,
                args=(number, number + offset),
            )
        st.button(
            "",
            icon=":material/close:",
            key=f"{key}.remove",
            help="Remove",
            type="tertiary",
            on_click=_remove,
            args=(number,),
        )


def _draw_adding(steps: tuple[Step, ...]) -> None:
    # A new key each time: the browser keeps what was chosen under an old one and would add it again.
    key = f"{ADD}.{st.session_state.get(ADDED, 0)}"
    st.selectbox(
        "Add an operation",
        list(OPERATIONS),
        index=None,
        key=key,
        placeholder="Add an operation …" if len(steps) < MAXIMUM_STEPS else f"{MAXIMUM_STEPS} steps are the most",
        format_func=lambda name: f"{OPERATIONS[name].topic}: {name}",
        label_visibility="collapsed",
        disabled=len(steps) >= MAXIMUM_STEPS,
        on_change=_add,
        args=(key,),
    )


def _steps() -> list[Step]:
    """The steps as they can be read; none when a click comes together with a text that cannot."""
    try:
        return list(parse_chain(st.session_state.get(CHAIN, "")))
    except ValueError:
        return []


def _write(steps: list[Step]) -> None:
    st.session_state[CHAIN] = format_chain(tuple(steps))


def _add(key: str) -> None:
    name = st.session_state.get(key)
    st.session_state[ADDED] = st.session_state.get(ADDED, 0) + 1
    try:
        steps = parse_chain(st.session_state.get(CHAIN, ""))
    except ValueError:
        return
    if name is not None and len(steps) < MAXIMUM_STEPS:
        _write([*steps, _fitted(name)])


def _fitted(name: str) -> Step:
    """With arguments that suit the end of the chain; with the operation's own while the tensor cannot be built."""
    try:
        return starting_step(name, current_spec())
    except ValueError:
        return Step(name, tuple(parameter.default for parameter in OPERATIONS[name].parameters))


def _move(source: int, target: int) -> None:
    steps = _steps()
    if max(source, target) < len(steps):
        steps[source], steps[target] = steps[target], steps[source]
        _write(steps)


def _remove(number: int) -> None:
    steps = _steps()
    if number < len(steps):
        del steps[number]
        _write(steps)


def _edit(number: int, key: str) -> None:
    """Put what was typed in place of the step, as it is: when it cannot be read, the page says why."""
    pieces = [format_chain((step,)) for step in _steps()]
    if number < len(pieces):
        pieces[number] = st.session_state[key].strip()
        st.session_state[CHAIN] = "".join(pieces)
