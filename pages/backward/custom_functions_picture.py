"""The verdict in words and the picture: curves over x, or the Jacobians where there is no curve."""

from __future__ import annotations

import re

import streamlit as st

from engine.custom_function.results import CheckedFunction, Curve, VerdictKind
from engine.custom_function.spec import CustomFunctionSpec
from engine.figures.custom_function_curves import curves_chart
from engine.figures.custom_function_jacobians import jacobian_maps, worst_words
from pages.shared.bound import bind, none_but
from pages.shared.theme import shown_theme

OUTPUT = "function.output"
PAIR = "function.pair"
MARKUP = re.compile(r"([\\`*_$\[\]<>~:|#])")
ICONS: dict[VerdictKind, str] = {
    "right": "check_circle",
    "nothing checked": "help",
    "not linear in grad_output": "warning",
    "not multiplied by grad_output": "cancel",
    "not decided": "help",
    "input not checked": "visibility_off",
    "once differentiable": "looks_one",
    "precision": "straighten",
    "not finite": "all_inclusive",
    "backward not finite": "cancel",
    "kink": "change_history",
    "non-deterministic": "casino",
    "overlapping memory": "layers",
    "intended clip": "content_cut",
    "intended surrogate": "swap_horiz",
    "wrong formula": "cancel",
    "wrong shape": "cancel",
    "wrong count": "cancel",
    "not tracked": "link_off",
    "refused": "block",
}
SAVED_ON_CTX = (
    "It keeps tensors as attributes of ctx: what gradcheck does not see is under *ctx and slots*. A write into one "
    "of them goes unnoticed, and an output kept there keeps itself alive."
)
TRANSPOSED = "Rows are outputs here; the matrices that gradcheck prints are the transpose: their rows are inputs."
WRONG = (
    "wrong formula", "wrong shape", "wrong count", "not tracked", "refused", "not multiplied by grad_output",
    "backward not finite",
)  # fmt: skip


def draw_verdict(spec: CustomFunctionSpec, found: CheckedFunction) -> None:
    """What gradcheck says and why, in one box."""
    verdict = found.verdict
    draw = st.success if verdict.kind == "right" else st.error if verdict.kind in WRONG else st.warning
    answer = "passes" if found.check.passed else "refuses"
    if not found.call.grad_fn or found.call.backward_error is not None:
        answer = "has nothing to compare"
    sentence = verdict.sentence if verdict.sentence.endswith((".", ":")) else f"{verdict.sentence}."
    words = f"**gradcheck {answer} · {verdict.kind}.** {literal(sentence)} *{literal(verdict.remedy)}*"
    draw(words, icon=f":material/{ICONS[verdict.kind]}:")
    if found.lifetime.freed_at_once is False or found.lifetime.gradient_changed:
        st.warning(SAVED_ON_CTX, icon=":material/memory:")


def literal(text: str) -> str:
    """Words that Markdown shows as they are."""
    return MARKUP.sub(r"\\\1", text)


def draw_picture(spec: CustomFunctionSpec, found: CheckedFunction) -> None:
    """Curves of one output; the Jacobians where the Function has none."""
    if not found.curves:
        if found.check.pairs:
            draw_jacobians(spec, found, "picture")
        else:
            st.info("There is no curve and no Jacobian to draw: see the verdict above.", icon=":material/hide_image:")
        return
    curve = chosen_curve(found)
    figure = curves_chart(spec, found, curve, shown_theme())
    st.plotly_chart(figure, key="function.curves", width="stretch", theme=None)
    if curve.note:
        st.caption(literal(f"No backward to draw: {curve.note}"))


def chosen_curve(found: CheckedFunction) -> Curve:
    """The curve of the output that the reader chose, with the choice where there are several."""
    if len(found.curves) == 1:
        return found.curves[0]
    names = [f"output {curve.output}" for curve in found.curves]
    chosen = st.segmented_control(
        "Output", names, default=names[0], required=True, label_visibility="collapsed",
        **bind(OUTPUT, why=none_but(names)),
    )  # fmt: skip
    return found.curves[names.index(str(chosen)) if chosen in names else 0]


def draw_jacobians(spec: CustomFunctionSpec, found: CheckedFunction, place: str) -> None:
    """Three heat maps of one output by one input, chosen where there are several."""
    pairs = {f"output {one.output} by {found.input_names[one.input]}": one for one in found.check.pairs}
    name = next(iter(pairs))
    if len(pairs) > 1:
        name = str(
            st.segmented_control(
                "Jacobian", list(pairs), default=name, required=True, label_visibility="collapsed",
                **bind(PAIR, why=none_but(pairs)),
            )
        )  # fmt: skip
    figures = jacobian_maps(spec, found, pairs.get(name, found.check.pairs[0]), shown_theme())
    for number, (column, figure) in enumerate(zip(st.columns(3), figures, strict=True)):
        column.plotly_chart(figure, key=f"function.jacobian.{place}.{number}", width="stretch", theme=None)
    if found.check.worst is not None:
        st.caption(literal(worst_words(spec, found, found.check.worst)) + f" {TRANSPOSED}")
