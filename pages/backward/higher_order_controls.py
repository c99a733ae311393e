"""The controls of the page on higher derivatives: the section, its settings, and the spec they describe."""

from __future__ import annotations

import math
from typing import Any

import streamlit as st

from engine.higher_order.spec import (
    ArticleSpec,
    CurvatureSpec,
    DerivativeSpec,
    MatrixSpec,
    ProductSpec,
    RulingSpec,
)
from engine.runner.contract import field_ranges
from pages.shared.choice import draw_choice
from pages.shared.fields import LONGEST_TEXT, SEPARATORS, common_arguments, draw_field, field_default, field_value

SECTION = "higher.section"
AnySpec = DerivativeSpec | MatrixSpec | ProductSpec | CurvatureSpec | ArticleSpec | RulingSpec

KINDS: dict[str, type[AnySpec]] = {
    "Derivatives": DerivativeSpec,
    "Jacobian, Hessian": MatrixSpec,
    "Hessian-vector product": ProductSpec,
    "Largest eigenvalue": CurvatureSpec,
    "The article's hvp": ArticleSpec,
    "What grad answers": RulingSpec,
}
PREFIXES: dict[type[AnySpec], str] = {
    DerivativeSpec: "higher",
    MatrixSpec: "matrix",
    ProductSpec: "product",
    CurvatureSpec: "curvature",
    ArticleSpec: "article",
    RulingSpec: "ruling",
}
VISIBLE: dict[type[AnySpec], tuple[str, ...]] = {
    DerivativeSpec: ("function", "expression", "order", "x", "create_graph", "allow_unused", "materialize_grads"),
    MatrixSpec: ("matrix", "function", "expression", "point", "n"),
    ProductSpec: ("function", "n", "dtype"),
    CurvatureSpec: ("function", "n", "steps"),
    ArticleSpec: ("situation",),
    RulingSpec: ("topic",),
}
LABELS = {"point": "x, number by number", "n": "n, entries of x", "steps": "products at most", "dtype": "dtype"}
LABELS |= {name: name for name in ("create_graph", "allow_unused", "materialize_grads")}
EXPRESSION_HELP = "As in Python: x**2 * sin(x); functions such as exp, tanh, relu, erf"
POINT_HELP = "As in 2, 3, 0, 0; empty: n normal numbers from the seed"


def draw_sections() -> str:
    """What the page is about; only that one is computed."""
    return draw_choice("Section", tuple(KINDS), SECTION)


def key_of(kind: type[AnySpec], name: str) -> str:
    """The widget of a field."""
    return f"{PREFIXES[kind]}.{name}"


def draw_controls(section: str) -> None:
    """The settings of one section, those that are seldom turned folded."""
    kind = KINDS[section]
    for name in VISIBLE[kind]:
        _draw(kind, name)
    folded = [name for name in kind.__struct_fields__ if name not in VISIBLE[kind]]
    if folded:
        with st.expander("More settings", key=f"{PREFIXES[kind]}.more"):
            for name in folded:
                _draw(kind, name)


def _draw(kind: type[AnySpec], name: str) -> None:
    key = key_of(kind, name)
    if name == "expression":
        _draw_expression(kind, key)
    elif name == "point":
        st.text_input(LABELS[name], value="", placeholder="from the seed", **common_arguments(key, POINT_HELP))
    elif name == "situation":
        options = field_ranges(kind)[name].choices
        chosen = options.index(field_default(kind, name))
        st.radio("situation", options, index=chosen, **common_arguments(key, ""))
    else:
        draw_field(kind, name, key, label=LABELS.get(name), reason=_reason(kind, name))


def _draw_expression(kind: type[AnySpec], key: str) -> None:
    typed = field_value(kind, "function", key_of(kind, "function")) == "typed"
    names = "x, a" if kind is DerivativeSpec else "x, x[0], x[1:]"
    st.text_input(
        f"f of {names}",
        value=field_default(kind, "expression"),
        disabled=not typed,
        **common_arguments(key, EXPRESSION_HELP if typed else "Choose 'typed' as the function to write your own"),
    )


def _reason(kind: type[AnySpec], name: str) -> str:
    """Why a widget has nothing to say now."""
    if kind is MatrixSpec and name == "n" and str(st.session_state.get(key_of(kind, "point"), "")).strip():
        return "x is written out above, so its length is n"
    return ""


def current_spec(section: str) -> AnySpec:
    """What the controls of a section describe; ValueError in words where they cannot be read."""
    kind = KINDS[section]
    values: dict[str, Any] = {name: _value(kind, name) for name in kind.__struct_fields__}
    return kind(**values)


def _value(kind: type[AnySpec], name: str) -> Any:
    if name == "point":
        return parse_numbers(str(st.session_state.get(key_of(kind, name), "")))
    return field_value(kind, name, key_of(kind, name))


def parse_numbers(text: str) -> tuple[float, ...]:
    """Numbers between commas or blanks, `()` for nothing; ValueError with what was wrong."""
    if len(text) > 4 * LONGEST_TEXT:
        raise ValueError(f"x takes at most {4 * LONGEST_TEXT} characters; received {len(text)}. Write it as 2, 3, 0.")
    return tuple(_number(word) for word in SEPARATORS.split(text.strip().strip("()[] ")) if word)


def _number(word: str) -> float:
    try:
        number = float(word)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise ValueError(f"x takes numbers between commas; received {word[:40]!r}. Write it as 2, 3, 0.5.")
    return number


def values_of(spec: AnySpec) -> dict[str, object]:
    """Widget key -> value that makes the controls show `spec`."""
    section = next(title for title, kind in KINDS.items() if type(spec) is kind)
    shown: dict[str, object] = {SECTION: section}
    for name in spec.__struct_fields__:
        value = getattr(spec, name)
        shown[key_of(type(spec), name)] = ", ".join(f"{one:g}" for one in value) if name == "point" else value
    return shown
