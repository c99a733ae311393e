"""The controls of the page: the section, the rows of the program, and the spec they describe."""

from __future__ import annotations

from collections.abc import Callable
from typing import get_args

import streamlit as st

from engine.in_place.families import FAMILIES
from engine.in_place.language import lines_of
from engine.in_place.spec import DEFAULT_PROGRAM, FamilyName, FamilySpec, ProgramSpec, UpdateSpec
from pages.shared.choice import draw_choice
from pages.shared.fields import common_arguments, draw_field, field_value

SECTION = "in_place.section"
SECTIONS = ("Program", "Side by side", "Optimizer update")
PROGRAM, SEED, FAMILY = "in_place.program", "in_place.seed", "in_place.family"
ADD = "in_place.add"
UPDATE_FIELDS = ("tensors", "width", "steps", "lr", "dtype", "seed")
GRAMMAR = (
    "One statement a line, blocks indented.\n\n"
    "- new: `x = randn(3, requires_grad=True)`, `tensor([1., 2.])`, `ones(2, 3)`, `zeros`, `rand`, `arange`\n"
    "- out of place: `y = x * 2 + sigmoid(x)`, `relu(x)`, `linear(x, w)`, `conv2d(x, w)`, `cat([a, b])`, `x.clone()`\n"
    "- views: `x[0]`, `x[1:]`, `x.view(2, 3)`, `x.t()`, `x.narrow(0, 1, 2)`, `a, b = x.chunk(2)`, `split`, `unbind`\n"
    "- in place: `x.add_(1)`, `mul_`, `zero_`, `copy_`, `relu_`, `clamp_`, `x += y`, `x[0] = 1`, "
    "`relu(x, inplace=True)`\n"
    "- cut off: `x.detach()`, `x.data`, `with no_grad():`, `with inference_mode():`\n"
    "- autograd: `y.sum().backward(retain_graph=True)`, `y.backward(ones(3))`, `x.grad.zero_()`, `x.grad = None`, "
    "`x.requires_grad_()`, `y.retain_grad()`, `del x`\n"
    "- `hooked(x)`: x as a module with a full backward hook returns it"
)

AnySpec = ProgramSpec | FamilySpec | UpdateSpec


def draw_section() -> str:
    """Which of the three the page is about; only that one is computed."""
    return draw_choice("Section", SECTIONS, SECTION)


def current_spec(section: str) -> AnySpec:
    """What the controls describe; ValueError in words, with the line, where the program cannot be read."""
    if section == SECTIONS[1]:
        return FamilySpec(name=field_value(FamilySpec, "name", FAMILY))
    if section == SECTIONS[2]:
        return UpdateSpec(**{name: field_value(UpdateSpec, name, f"in_place.{name}") for name in UPDATE_FIELDS})
    return ProgramSpec(program=current_program(), seed=field_value(ProgramSpec, "seed", SEED))


def current_program() -> str:
    """The text in the field."""
    return str(st.session_state.get(PROGRAM, DEFAULT_PROGRAM)).replace("\r\n", "\n")


def values_of(spec: AnySpec) -> dict[str, object]:
    """Widget key -> value that makes the controls show `spec`."""
    if isinstance(spec, FamilySpec):
        return {SECTION: SECTIONS[1], FAMILY: spec.name}
    if isinstance(spec, UpdateSpec):
        return {SECTION: SECTIONS[2]} | {f"in_place.{name}": getattr(spec, name) for name in UPDATE_FIELDS}
    return {SECTION: SECTIONS[0], PROGRAM: spec.program, SEED: spec.seed}


def draw_controls(section: str) -> None:
    """The settings of one section."""
    if section == SECTIONS[1]:
        draw_field(FamilySpec, "name", FAMILY, label="family")
        st.caption(FAMILIES[field_value(FamilySpec, "name", FAMILY)].question)
    elif section == SECTIONS[2]:
        for name in UPDATE_FIELDS:
            draw_field(UpdateSpec, name, f"in_place.{name}", label=name)
    else:
        _draw_program()


def families() -> tuple[str, ...]:
    """The names in the list."""
    return get_args(FamilyName)


def _draw_program() -> None:
    st.text_area("Program", value=DEFAULT_PROGRAM, height=230, **common_arguments(PROGRAM, GRAMMAR))
    with st.expander("Statement by statement", key="in_place.rows", icon=":material/format_list_numbered:"):
        _draw_rows()
    draw_field(ProgramSpec, "seed", SEED, label="seed of random numbers")


def _draw_rows() -> None:
    """A field per line: edit, move, remove; an emptied field removes its line too."""
    lines = lines_of(current_program())[:40]
    for number, line in enumerate(lines):
        key = f"in_place.row.{number}"
        st.session_state[key] = line
        with st.container(horizontal=True, vertical_alignment="center", gap=None, key=f"in_place.line.{number}"):
            st.text_input(
                f"Line {number + 1}", key=key, label_visibility="collapsed", on_change=_edit, args=(number, key)
            )
            _draw_button(key, "arrow_upward", "Earlier", number > 0, lambda at=number: _move(at, at - 1))  # type: ignore[misc]
            _draw_button(key, "arrow_downward", "Later", number + 1 < len(lines), lambda at=number: _move(at, at + 1))  # type: ignore[misc]
            _draw_button(key, "close", "Remove", True, lambda at=number: _edit(at, ""))  # type: ignore[misc]
    st.session_state[ADD] = ""
    st.text_input(
        "Add a statement", key=ADD, placeholder="Add: x.mul_(2)", label_visibility="collapsed", on_change=_add
    )


def _draw_button(key: str, icon: str, words: str, enabled: bool, act: Callable[[], None]) -> None:
    st.button(
        "",
        icon=f":material/{icon}:",
        key=f"{key}.{words}",
        help=words,
        type="tertiary",
        disabled=not enabled,
        on_click=act,
    )


def _write(lines: list[str]) -> None:
    st.session_state[PROGRAM] = "\n".join(lines) + "\n" if lines else ""


def _edit(number: int, key: str) -> None:
    lines = lines_of(current_program())
    text = str(st.session_state.get(key, "")) if key else ""
    lines[number : number + 1] = [text.rstrip()] if text.strip() else []
    _write(lines)


def _move(number: int, to: int) -> None:
    lines = lines_of(current_program())
    lines[number], lines[to] = lines[to], lines[number]
    _write(lines)


def _add() -> None:
    text = str(st.session_state.get(ADD, "")).rstrip()
    if text.strip():
        _write([*lines_of(current_program()), text])


def use_program(program: str) -> None:
    """Show this program; call it from a widget callback."""
    st.session_state[SECTION] = SECTIONS[0]
    st.session_state[PROGRAM] = program
