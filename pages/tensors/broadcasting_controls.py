"""The controls of the broadcasting page: the section, its settings, and the spec they describe."""

from __future__ import annotations

import streamlit as st

from engine.broadcasting.equation import parse_sizes
from engine.broadcasting.spec import ARITY, BroadcastSpec, EinsumSpec, IndexSize, Operand
from engine.vectorisation.spec import LadderSpec
from pages.shared.choice import draw_choice
from pages.shared.fields import common_arguments, draw_field, field_value, ints_text, parse_ints
from pages.tensors.broadcasting_ladder_controls import draw_ladder_controls, ladder_spec, ladder_values

SECTION = "broadcast.section"
SECTIONS = ("Broadcast", "einsum", "Loop to vector")
COUNT = "broadcast.operands"
NAMES = ("a", "b", "c", "d")
SHAPES = {"a": "2, 1, 4", "b": "3, 1", "c": "", "d": ""}
EQUATION, SIZES = "einsum.equation", "einsum.sizes"
DEFAULT_EQUATION, DEFAULT_SIZES = "ij,jk->ik", "i=3, j=4, k=5"

AnySpec = BroadcastSpec | EinsumSpec | LadderSpec


def current_spec(section: str) -> AnySpec:
    """What the controls of a section describe; ValueError in words where they cannot be read."""
    if section == "Broadcast":
        return broadcast_spec()
    return einsum_spec() if section == "einsum" else ladder_spec()


def draw_section() -> str:
    """Which of the three the page is about; only that one is computed."""
    return draw_choice("Section", SECTIONS, SECTION)


def draw_controls(section: str) -> None:
    """The settings of one section."""
    if section == "Broadcast":
        _draw_broadcast()
    elif section == "einsum":
        _draw_einsum()
    else:
        draw_ladder_controls()


def _draw_broadcast() -> None:
    draw_field(BroadcastSpec, "operation", "broadcast.operation")
    fewest, most = _arity()
    fixed = fewest == most
    st.segmented_control(
        "operands",
        ("2", "3", "4"),
        default="2",
        required=True,
        disabled=fixed,
        **common_arguments(COUNT, f"{_operation()} takes {fewest}" if fixed else "applied from the left"),
    )
    count = _count()
    for name in NAMES[:count]:
        is_number = _dtype(name).startswith("Python ")
        help_text = "Sizes as in 3, 1, 5; empty is 0-dim"
        if is_number:
            help_text = f"A {_dtype(name)} has no shape: choose a tensor dtype to give it one"
        arguments = common_arguments(f"broadcast.{name}", help_text)
        st.text_input(f"shape of {name}", value=SHAPES[name], placeholder="0-dim", disabled=is_number, **arguments)
    with st.expander("Dtypes and Python numbers", key="broadcast.dtypes"):
        for name in NAMES[:count]:
            draw_field(Operand, "dtype", f"broadcast.dtype.{name}", label=f"dtype of {name}")
        draw_field(BroadcastSpec, "seed", "broadcast.seed")


def _operation() -> str:
    return str(field_value(BroadcastSpec, "operation", "broadcast.operation"))


def _arity() -> tuple[int, int]:
    return ARITY[_operation()]


def _count() -> int:
    fewest, most = _arity()
    return min(max(int(st.session_state.get(COUNT) or "2"), fewest), most)


def _dtype(name: str) -> str:
    return str(field_value(Operand, "dtype", f"broadcast.dtype.{name}"))


def broadcast_spec() -> BroadcastSpec:
    """What the controls describe; ValueError in words where they cannot be read."""
    return BroadcastSpec(
        operation=field_value(BroadcastSpec, "operation", "broadcast.operation"),
        operands=tuple(_operand(name) for name in NAMES[: _count()]),
        seed=field_value(BroadcastSpec, "seed", "broadcast.seed"),
    )


def _operand(name: str) -> Operand:
    dtype = field_value(Operand, "dtype", f"broadcast.dtype.{name}")
    if str(dtype).startswith("Python "):
        return Operand((), dtype)
    text = str(st.session_state.get(f"broadcast.{name}", SHAPES[name]))
    return Operand(parse_ints(text, f"shape of {name}"), dtype)


def _draw_einsum() -> None:
    st.text_input("equation", value=DEFAULT_EQUATION, **common_arguments(EQUATION, "As in torch.einsum: ij,jk->ik"))
    help_text = "index = size between commas, `...` as in ...=2x3; indices that are not listed get the size below"
    st.text_input("sizes", value=DEFAULT_SIZES, **common_arguments(SIZES, help_text))
    draw_field(EinsumSpec, "other_size", "einsum.other_size", label="size of all others")
    draw_field(EinsumSpec, "dtype", "einsum.dtype")
    draw_field(EinsumSpec, "seed", "einsum.seed")


def einsum_spec() -> EinsumSpec:
    """What the controls describe; ValueError in words where sizes cannot be read."""
    sizes, ellipsis = parse_sizes(str(st.session_state.get(SIZES, DEFAULT_SIZES)))
    return EinsumSpec(
        equation=str(st.session_state.get(EQUATION, DEFAULT_EQUATION)),
        sizes=tuple(IndexSize(letter, size) for letter, size in sizes.items()),
        ellipsis=EinsumSpec().ellipsis if ellipsis is None else ellipsis,
        **{name: field_value(EinsumSpec, name, f"einsum.{name}") for name in ("other_size", "dtype", "seed")},
    )


def values_of(spec: AnySpec) -> dict[str, object]:
    """Widget key -> value that makes the controls show `spec`."""
    if isinstance(spec, LadderSpec):
        return {SECTION: SECTIONS[2]} | ladder_values(spec)
    if isinstance(spec, EinsumSpec):
        sizes = [f"{entry.letter}={entry.size}" for entry in spec.sizes]
        sizes += [f"...={'x'.join(map(str, spec.ellipsis))}"] if "..." in spec.equation else []
        named = {f"einsum.{name}": getattr(spec, name) for name in ("other_size", "dtype", "seed")}
        return {SECTION: "einsum", EQUATION: spec.equation, SIZES: ", ".join(sizes)} | named
    values: dict[str, object] = {SECTION: "Broadcast", "broadcast.operation": spec.operation}
    values |= {COUNT: str(len(spec.operands)), "broadcast.seed": spec.seed}
    for name, operand in zip(NAMES, spec.operands, strict=False):
        values |= {f"broadcast.{name}": ints_text(operand.shape), f"broadcast.dtype.{name}": operand.dtype}
    return values
