"""The section on what autograd.grad answers: unused tensors, reference cycles, complex numbers."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from engine.higher_order.results import Ruling, Rulings
from engine.higher_order.spec import RulingSpec
from pages.backward.higher_order_numbers import numbers_of
from pages.shared.key_numbers import draw_key_numbers

SETTING = {
    "unused and copies": "x = [1, 2] and u are leaves; y = (x * x).sum(). Each call asks for one gradient of y.",
    "create_graph leaks": "x is made in a function that returns only a weak reference to it, y = x.tanh().sum(). "
    "Python's garbage collector is off until it is called.",
    "complex numbers": "z is a complex leaf; each row is a loss of z and its gradient.",
}


def draw_rulings(spec: RulingSpec, found: Rulings, before: tuple[RulingSpec, Rulings] | None) -> None:
    """The numbers, then two cards a row: every call with its outcome and the reason."""
    st.caption(SETTING[spec.topic])
    draw_key_numbers(numbers_of(spec, found), numbers_of(*before) if before else None)
    for first in range(0, len(found.rulings), 2):
        for place, column in enumerate(st.columns(2, gap="small"), first):
            if place < len(found.rulings):
                with column.container(border=True, key=f"ruling.{place}", height="stretch", gap="xsmall"):
                    _draw_ruling(found.rulings[place])


def _draw_ruling(one: Ruling) -> None:
    st.code(one.code, language="python", wrap_lines=True)
    if one.error is None:
        st.markdown(f":material/arrow_forward: **`{one.value}`**")
    else:
        st.markdown(f":material/block: **{one.error.type}**")
        st.text(one.error.message)
    for text in one.warnings:
        st.warning(text.partition(". ")[0] + ".", icon=":material/warning:")
    st.caption(one.why)


def ruling_rows(found: Rulings) -> pd.DataFrame:
    """One row per call."""
    return pd.DataFrame(
        {
            "call": [one.code for one in found.rulings],
            "gives": [one.value for one in found.rulings],
            "PyTorch said": ["" if one.error is None else one.error.message for one in found.rulings],
            "warnings": [" ".join(one.warnings) for one in found.rulings],
            "why": [one.why for one in found.rulings],
        }
    )
