"""The controls of the timing page: what is compared, how large, measured how."""

from __future__ import annotations

from typing import Any

import msgspec
import streamlit as st

from engine.timing.catalogue import CATALOGUE, TITLES, Operator
from engine.timing.spec import ALLOCATING, AllocationSpec, TimingSpec
from engine.timing.variant import OperatorVariant, complaints, naming
from pages.performance.timing_steps import draw_steps, step_values, step_variant
from pages.shared.choice import draw_choice
from pages.shared.fields import common_arguments, draw_field, field_value

SECTION = "timing.section"
SECTIONS = ("Operators", "Model steps", "Fresh or reused output")
SIDES = ("a", "b")
DETAILS = ("dtype", "layout", "mode", "work", "output", "threads")
SIZES = ("rows", "columns")
IMAGE_SIZES = {"images": 8, "channels": 32}
"""What rows and columns are called for images, with what they begin at."""
MOST_IMAGES = 256
MEASURING = ("rounds", "warm_up_rounds", "seed")
ALLOCATION = ("smallest_mib", "largest_mib", "points", "dtype", "rounds", "seed")
DEFAULT_TITLES = {"a": "GELU, tanh", "b": "GELU, composed"}
FALLBACKS = {"layout": "contiguous", "output": "fresh", "work": "forward", "mode": "no_grad"}
ALLOCATION_TITLES = {title: name for title, name in TITLES.items() if name in ALLOCATING}
DEFAULT_ALLOCATION = "add a number"

AnySpec = TimingSpec | AllocationSpec


def draw_section() -> str:
    """Which of the three the page is about; only that one is computed."""
    return draw_choice("Section", SECTIONS, SECTION)


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
    sides: dict[str, Any] = {}
    for side in SIDES:
        with naming(side.upper()):
            sides[side] = build(side)
    return TimingSpec(**sides, **measuring)


def same_section(one: TimingSpec, other: TimingSpec) -> bool:
    """Whether both compare operators, or both steps of models: only then are their numbers beside each other."""
    return isinstance(one.a, OperatorVariant) == isinstance(other.a, OperatorVariant)


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
    takes_images = [_operator(side).takes_images for side in SIDES]
    if not all(takes_images):
        for column, name in zip(st.columns(2, gap="small"), SIZES, strict=True):
            with column:
                draw_field(OperatorVariant, name, f"timing.{name}")
    if any(takes_images):
        for column, (name, default) in zip(st.columns(2, gap="small"), IMAGE_SIZES.items(), strict=True):
            with column:
                st.number_input(name, 1, MOST_IMAGES, default, **common_arguments(f"timing.{name}", "of 32×32 pixels"))


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
    row = _operator(side)
    fields |= {"operator": row.name} | _sizes(row)
    notes: list[str] = []
    if fields["work"] != "forward" and fields["mode"] in ("no_grad", "inference_mode"):
        notes.append(f"{fields['mode']} records no graph: mode grad is used for the backward.")
        fields["mode"] = "grad"
    for name in FALLBACKS:
        found = complaints(_unchecked(fields))
        if name in found:
            fields[name] = FALLBACKS[name]
            notes.append(f"{name} {found[name]} Until then it is {FALLBACKS[name]}.")
    return fields, notes


def _operator(side: str) -> Operator:
    title = str(st.session_state.get(f"timing.{side}.operator") or DEFAULT_TITLES[side])
    return CATALOGUE[TITLES[title]]


def _sizes(row: Operator) -> dict[str, Any]:
    """Rows and columns, which of images are their number and channels and have controls of their own."""
    if not row.takes_images:
        return {name: field_value(OperatorVariant, name, f"timing.{name}") for name in SIZES}
    read = (st.session_state.get(f"timing.{name}", default) for name, default in IMAGE_SIZES.items())
    return dict(zip(SIZES, read, strict=True))


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
        named = zip(IMAGE_SIZES if variant.row.takes_images else SIZES, SIZES, strict=True)
        values |= {f"timing.{shown}": getattr(variant, name) for shown, name in named}
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
