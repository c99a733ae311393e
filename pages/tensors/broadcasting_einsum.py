"""The section on einsum: coloured indices, linked cells, the loop nest, and the operators it becomes."""

from __future__ import annotations

from functools import lru_cache

import pandas as pd
import streamlit as st

from engine.broadcasting.costs import cheapest_path, left_to_right, path_cost, path_in_words
from engine.broadcasting.equation import Equation
from engine.broadcasting.loops import OPERAND_NAMES, loop_nest
from engine.broadcasting.results import Einsum
from engine.broadcasting.spec import EinsumSpec
from engine.figures.cells import CellScene, encode_cells
from engine.figures.einsum_cells import einsum_scene, is_cut
from engine.figures.einsum_indices import ROLES, equation_html, index_rows
from engine.figures.units import format_bytes, format_count, format_shape, format_significant
from pages.shared.bound import bind
from pages.shared.cells_component import show_cells
from pages.shared.key_numbers import draw_key_numbers
from pages.shared.theme import shown_theme
from pages.tensors.broadcasting_numbers import einsum_numbers
from pages.tensors.broadcasting_section import draw_said

PICTURE_HEIGHT = 480
HOW_TO_READ = (
    "Each letter is an index. The letters behind `->` stay; every other one is summed over. An index that several "
    "operands share ties them together: kept, it is a batch dimension; else it is summed, as in a matrix product. "
    "Without `->` the output has every letter that appears exactly once, in alphabetic order: a shared batch letter is "
    "then summed away. Point at a cell of the output to see the row of a and the column of b that it is made of."
)
TABS = ("Loop nest", "Operators called", "Order of contraction", "How to read this")
OPT_EINSUM = {
    "not installed": "opt_einsum is not installed, so `torch.einsum` goes from the left: `pip install opt_einsum`.",
    "switched off": "opt_einsum is installed but `torch.backends.opt_einsum.enabled` is False: from the left.",
    "used": "opt_einsum chooses the order, for three operands and more.",
}


def draw_einsum(spec: EinsumSpec, outcome: Einsum, before: tuple[EinsumSpec, Einsum] | None) -> None:
    """Indices, picture, key numbers, details; for an equation that cannot be read both complaints."""
    equation = spec.parsed
    if equation is None or outcome.error is not None:
        _draw_refusal(spec, outcome)
        return
    indices, roles = st.columns(2, gap="large")
    with indices:
        st.html(equation_html(spec, equation, shown_theme()))
        if equation.is_implicit:
            st.caption(f"Without `->` the output is every index that appears once: `{equation.text}`")
    with roles:
        table = pd.DataFrame(index_rows(spec, equation), columns=["index", "size", "role", "in"])
        meanings = "; ".join(f"{role}: {words}" for role, words in ROLES.items())
        widths = {"index": 70, "size": 80, "role": 150}
        columns = {name: st.column_config.TextColumn(width=width) for name, width in widths.items()}
        st.dataframe(table, hide_index=True, width="stretch", column_config=columns)
        st.caption(f"{meanings}.")
    _draw_picture(spec, equation)
    draw_key_numbers(einsum_numbers(spec, outcome), einsum_numbers(*before) if before else None)
    if not outcome.computed:
        st.caption("Too large to make for a look: shapes, operators and bytes are read from the meta device.")
    tabs = st.tabs(TABS, key="einsum.details", on_change="rerun")
    for tab, draw in zip(tabs, (_draw_loops, _draw_operators, _draw_order, _draw_explanation), strict=True):
        if tab.open:
            with tab:
                draw(spec, equation, outcome)


def _draw_refusal(spec: EinsumSpec, outcome: Einsum) -> None:
    st.error("**This equation cannot be carried out**", icon=":material/function:")
    if outcome.complaint:
        st.text(outcome.complaint[:1].upper() + outcome.complaint[1:] + ".")
        place = int(outcome.complaint.rpartition("(character ")[2].rstrip(")"))
        st.code(f"{spec.equation}\n{' ' * place}^", language=None)
    if outcome.error is not None:
        draw_said(outcome.error)


@st.fragment
def _draw_picture(spec: EinsumSpec, equation: Equation) -> None:
    _, encoded = picture(spec)
    show_cells(encoded, key="einsum.cells", height=PICTURE_HEIGHT)
    if is_cut(spec, equation):
        st.caption("Drawn with smaller sizes than computed, so that every cell can be pointed at.")


@lru_cache(maxsize=64)
def picture(spec: EinsumSpec) -> tuple[CellScene, bytes]:
    """The scene of an equation that can be read, and the same encoded for the canvas."""
    equation = spec.parsed
    if equation is None:
        raise ValueError(f"There is no picture of {spec.equation!r}: the equation cannot be read.")
    scene = einsum_scene(spec, equation)
    return scene, encode_cells(scene)


def _draw_loops(spec: EinsumSpec, equation: Equation, outcome: Einsum) -> None:
    st.code(loop_nest(equation), language="python")


def _draw_operators(spec: EinsumSpec, equation: Equation, outcome: Einsum) -> None:
    views = sum(call.is_view for call in outcome.dispatched)
    st.markdown(f"{len(outcome.dispatched)} ATen operators, {views} of them views that compute and copy nothing.")
    show_views = st.toggle("Show views", **bind("einsum.views"))
    st.dataframe(operator_table(outcome, show_views), hide_index=True, width="stretch")


def operator_table(outcome: Einsum, with_views: bool) -> pd.DataFrame:
    """One row per ATen operator in order, views only on request."""
    calls = [call for call in outcome.dispatched if with_views or not call.is_view]
    return pd.DataFrame(
        {
            "operator": [call.name for call in calls],
            "inputs": ["  ".join(map(format_shape, call.inputs)) for call in calls],
            "output": [format_shape(call.output) for call in calls],
            "FLOPs": [call.flops for call in calls],
            "allocates": ["view" if call.is_view else format_bytes(call.allocated_bytes) for call in calls],
        }
    )


def _draw_order(spec: EinsumSpec, equation: Equation, outcome: Einsum) -> None:
    st.markdown(OPT_EINSUM[outcome.opt_einsum])
    best = cheapest_path(equation, spec.length_of)
    if best is None:
        st.caption("A single operand: there is nothing to order.")
        return
    taken = path_cost(equation, spec.length_of, [(pair[0], pair[1]) for pair in outcome.path if len(pair) == 2])
    left = path_cost(equation, spec.length_of, left_to_right(equation))
    rows = [("taken by torch.einsum", taken), ("from the left", left), ("cheapest of all orders", best)]
    itemsize = outcome.operand_bytes // max(sum(_numel(shape) for shape in outcome.operand_shapes), 1)
    st.dataframe(
        pd.DataFrame(
            {
                "order": [name for name, _ in rows],
                "as": [path_in_words(cost.path, OPERAND_NAMES[: len(equation.inputs)]) for _, cost in rows],
                "FLOPs": [format_count(cost.flops) for _, cost in rows],
                "against cheapest": [_against(cost.flops, best.flops) for _, cost in rows],
                "in between": [format_bytes(cost.intermediate_elements * itemsize) for _, cost in rows],
            }
        ),
        hide_index=True,
        width="stretch",
    )
    st.caption("FLOPs by the sizes of the indices: multiplications and additions of every pair, all orders tried.")


def _numel(shape: tuple[int, ...]) -> int:
    count = 1
    for size in shape:
        count *= size
    return count


def _against(flops: int, best: int) -> str:
    return f"{format_significant(flops / best)}×" if best else "–"


def _draw_explanation(spec: EinsumSpec, equation: Equation, outcome: Einsum) -> None:
    st.markdown(HOW_TO_READ)
