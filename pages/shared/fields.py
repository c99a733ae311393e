"""One widget per field of a spec: what the field's declared range or choices ask for, kept in the link."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from functools import cache
from typing import Any

import msgspec
import streamlit as st

from engine.runner.contract import FieldRange, field_ranges
from pages.shared.bound import bind, none_but, within
from pages.shared.device_control import draw_device

# number_input says nothing of a range of a million; a slider is only used where each step can be hit
LARGEST_SLIDER = 48
LONGEST_TEXT = 200
SEPARATORS = re.compile(r"[\s,;x×]+")


def draw_field(kind: type[msgspec.Struct], name: str, key: str, *, label: str | None = None, reason: str = "") -> None:
    """The widget of a field of `kind`; with `reason` it is disabled and says so. Read it with `field_value`."""
    default = field_default(kind, name)
    allowed = field_ranges(kind).get(name, FieldRange())
    why = _why_not(default, allowed)
    common = common_arguments(key, reason or allowed.description, why=why, left_out=reason, default=default)
    common["disabled"] = bool(reason)
    label = label or name.replace("_", " ")
    if name == "device":
        draw_device(label, default, allowed.choices, common)
    elif allowed.choices:
        st.selectbox(label, allowed.choices, index=allowed.choices.index(default), **common)
    elif isinstance(default, bool):
        st.toggle(label, value=default, **common)
    else:
        _draw_number(label, default, allowed, common)


def common_arguments(key: str, help_text: str, **answers: Any) -> dict[str, Any]:
    """What every widget gets that is kept in the link and over page switches; `answers` as for `bind`."""
    return {"help": help_text or None, **bind(key, **answers)}


def _why_not(default: Any, allowed: FieldRange) -> Callable[[str], str]:
    if allowed.choices:
        return none_but(allowed.choices)
    if isinstance(default, bool):
        return none_but(("true", "false"))
    return within(allowed.low, allowed.high, whole=isinstance(default, int))


def field_default(kind: type[msgspec.Struct], name: str) -> Any:
    """The default of a field."""
    return _defaults(kind)[name]


def field_value(kind: type[msgspec.Struct], name: str, key: str) -> Any:
    """What the widget of a field holds, its default before it is first drawn."""
    return st.session_state.get(key, field_default(kind, name))


def draw_ints(label: str, default: tuple[int, ...], key: str, *, help: str = "", placeholder: str = "") -> None:
    """A text field for a shape or another tuple of integers; read it with `ints_value`."""
    st.text_input(
        label, value=ints_text(default), placeholder=placeholder, **common_arguments(key, help or "as in 4, 6")
    )


def ints_value(key: str, default: tuple[int, ...]) -> tuple[int, ...]:
    """The integers typed into a field; ValueError in words when they are none."""
    return parse_ints(st.session_state.get(key, ints_text(default)), key.rpartition(".")[2])


def ints_text(values: tuple[int, ...]) -> str:
    """`(4, 6)` as it stands in the field."""
    return ", ".join(map(str, values))


def parse_ints(text: str, name: str) -> tuple[int, ...]:
    """Integers between commas, blanks or x, brackets allowed; ValueError with what was wrong, `()` for nothing."""
    if len(text) > LONGEST_TEXT:
        raise ValueError(f"{name} takes at most {LONGEST_TEXT} characters; received {len(text)}. Write it as 4, 6.")
    inside = text.strip().removeprefix("torch.Size").strip("()[] ")
    words = [word for word in SEPARATORS.split(inside) if word]
    for word in words:
        if not re.fullmatch(r"[+-]?[0-9]{1,12}", word):
            raise ValueError(
                f"{name} takes whole numbers of at most 12 digits between commas; received {word[:40]!r}. "
                f"Write it as 4, 6."
            )
    return tuple(map(int, words))


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


@cache
def _defaults(kind: type[msgspec.Struct]) -> dict[str, Any]:
    return {field.name: field.default for field in msgspec.structs.fields(kind)}
