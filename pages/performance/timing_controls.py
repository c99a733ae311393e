"""The controls of the timing page: what is compared, how large, measured how."""

from __future__ import annotations

from typing import Any

import msgspec
import streamlit as st

from engine.timing.catalogue import TITLES
from engine.timing.spec import ALLOCATING, AllocationSpec, TimingSpec
from engine.timing.variant import OperatorVariant, complaints
from pages.performance.timing_steps import draw_steps, step_values, step_variant
from pages.shared.fields import common_arguments, draw_field, field_value

SECTION = "timing.section"
SECTIONS = ("Operators", "Model steps", "Fresh or reused output")
SIDES = ("a", "b")
DETAILS = ("dtype", "layout", "mode", "work", "output", "threads")
SIZES = ("rows", "columns")
MEASURING = ("rounds", "warm_up_rounds", "seed")
ALLOCATION = ("smallest_mib", "largest_mib", "points", "dtype", "rounds", "seed")
DEFAULT_TITLES = {"a": "GELU, tanh", "b": "GELU, composed of elementary operators"}
FALLBACKS = {"layout": "contiguous", "output": "fresh", "work": "forward", "mode": "no_grad"}
ALLOCATION_TITLES = {title: name for title, name in TITLES.items() if name in ALLOCATING}
DEFAULT_ALLOCATION = "add a number"

AnySpec = TimingSpec | AllocationSpec


def draw_section() -> str:
    """Which of the three the page is about; only that one is computed."""
    chosen = st.segmented_control(
        "Section",
        SECTIONS,
        default=SECTIONS[0],
        required=True,
        key=SECTION,
        label_visibility="collapsed",
        bind="query-params",
        persist_state="session",
    )
    return str(chosen or SECTIONS[0])


def draw_controls(section: str) -> None:
    """The settings of one section."""
    if section == SECTIONS[2]:
        _draw_allocation()
        return
    if section == SECTIONS[1]:
        draw_steps()
    else:
        _draw_operators()
    with st.expander("Measuring", key="timing.measuring"):
        for name in MEASURING:
            draw_field(TimingSpec, name, f"timing.{name}")


def current_spec(section: str) -> AnySpec:
    """What the controls of a section describe; ValueError in words where they do not fit together."""
    if section == SECTIONS[2]:
        fields = {name: field_value(AllocationSpec, name, f"allocation.{name}") for name in ALLOCATION}
        title = str(st.session_state.get("allocation.operator") or DEFAULT_ALLOCATION)
        return AllocationSpec(operator=ALLOCATION_TITLES[title], **fields)
    build = step_variant if section == SECTIONS[1] else operator_variant
    measuring = {name: field_value(TimingSpec, name, f"timing.{name}") for name in MEASURING}
    return TimingSpec(a=build("a"), b=build("b"), **measuring)


def _draw_operators() -> None:
    for side in SIDES:
        with st.container(border=True, key=f"timing.side.{side}"):
            st.selectbox(
                side.upper(),
                list(TITLES),
                index=list(TITLES).index(DEFAULT_TITLES[side]),
                **common_arguments(f"timing.{side}.operator", "A row of the catalogue; both sides have the same list"),
            )
            with st.expander("dtype, layout, mode …", key=f"timing.more.{side}", type="compact"):
                for name in DETAILS:
                    draw_field(OperatorVariant, name, f"timing.{side}.{name}")
            for note in _settled(side)[1]:
                st.caption(note)
    for column, name in zip(st.columns(2, gap="small"), SIZES, strict=True):
        with column:
            draw_field(OperatorVariant, name, f"timing.{name}")


def _draw_allocation() -> None:
    titles = list(ALLOCATION_TITLES)
    st.selectbox(
        "operator",
        titles,
        index=titles.index(DEFAULT_ALLOCATION),
        **common_arguments("allocation.operator", "Elementwise operators that take out="),
    )
    for name in ALLOCATION[:4]:
        draw_field(AllocationSpec, name, f"allocation.{name}", label=name.replace("_mib", ", MiB"))
    with st.expander("Measuring", key="allocation.measuring"):
        for name in ALLOCATION[4:]:
            draw_field(AllocationSpec, name, f"allocation.{name}")


def operator_variant(side: str) -> OperatorVariant:
    """What one side's controls describe, settings that do not fit left out; ValueError for sizes that do not."""
    return OperatorVariant(**_settled(side)[0])


def _settled(side: str) -> tuple[dict[str, Any], list[str]]:
    """(fields, what was left out and why)."""
    fields: dict[str, Any] = {name: field_value(OperatorVariant, name, f"timing.{side}.{name}") for name in DETAILS}
    fields |= {name: field_value(OperatorVariant, name, f"timing.{name}") for name in SIZES}
    title = str(st.session_state.get(f"timing.{side}.operator") or DEFAULT_TITLES[side])
    fields["operator"] = TITLES[title]
    notes: list[str] = []
    if fields["work"] != "forward" and fields["mode"] in ("no_grad", "inference_mode"):
        notes.append(f"{fields['mode']} records no graph: mode grad is used for the backward.")
        fields["mode"] = "grad"
    for name in FALLBACKS:
        found = complaints(_unchecked(fields))
        if name in found:
            fields[name] = FALLBACKS[name]
            notes.append(f"`{name}` {found[name]}".replace("`", ""))
    return fields, notes


def _unchecked(fields: dict[str, Any]) -> OperatorVariant:
    """A variant whose fields were not compared with each other yet."""
    variant = OperatorVariant()
    for name, value in fields.items():
        msgspec.structs.force_setattr(variant, name, value)
    return variant


def operator_values(spec: TimingSpec) -> dict[str, object]:
    """Widget key -> value that makes the controls show a comparison of operators of one size."""
    values: dict[str, object] = {SECTION: SECTIONS[0]}
    for side, variant in zip(SIDES, (spec.a, spec.b), strict=True):
        assert isinstance(variant, OperatorVariant)
        values[f"timing.{side}.operator"] = variant.row.title
        values |= {f"timing.{side}.{name}": getattr(variant, name) for name in DETAILS}
        values |= {f"timing.{name}": getattr(variant, name) for name in SIZES}
    return values


def values_of(spec: AnySpec) -> dict[str, object]:
    """Widget key -> value that makes the controls show `spec`."""
    if isinstance(spec, AllocationSpec):
        title = next(title for title, name in TITLES.items() if name == spec.operator)
        named = {f"allocation.{name}": getattr(spec, name) for name in ALLOCATION}
        return {SECTION: SECTIONS[2], "allocation.operator": title} | named
    measuring: dict[str, object] = {f"timing.{name}": getattr(spec, name) for name in MEASURING}
    if isinstance(spec.a, OperatorVariant):
        return measuring | operator_values(spec)
    return measuring | {SECTION: SECTIONS[1]} | step_values(spec)
