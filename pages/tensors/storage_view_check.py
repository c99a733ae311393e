"""Will `.view(shape)` work? The rule applied to the end of the chain, beside what PyTorch did."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from engine.figures.units import format_bytes
from engine.storage.chain import format_chain
from engine.storage.contiguity import explain_ambiguity
from engine.storage.dtype_rule import explain_dtype_view
from engine.storage.dtypes import itemsize
from engine.storage.operations import Step
from engine.storage.spec import Layout, LayoutSpec, LayoutTrace, ViewAttempt
from engine.storage.view_rule import Run, ViewRule, explain_view
from pages.shared.pytorch_words import draw_said
from pages.tensors.storage_cards import tensor_name

TAB = "Will .view() work?"
ASK = "Type the shape you want into *Will .view(…) work?* on the left, as in 6, -1."


def draw_view_verdict(trace: LayoutTrace) -> None:
    """Beside the picture: whether the shape asked for has a view, and the dimension at fault."""
    end = trace.layouts[-1] if trace.layouts else None
    if trace.view is None or end is None or end.stride is None:
        return
    call = f"{tensor_name(len(trace.layouts) - 1)}.view{ints_call(trace.view.shape)}"
    if trace.view.view is not None:
        st.success(f"`{call}` works, strides `{trace.view.view.stride}`.", icon=":material/check:")
    else:
        reason = explain_view(end.shape, end.stride, trace.view.shape).reason
        st.error(f"`{call}` is refused. {reason} The rule step by step: *{TAB}*.", icon=":material/block:")


def refusal_in_words(step: Step, before: Layout) -> str:
    """Why a `.view` of the chain was refused; "" for any other step."""
    asked = step.arguments[0] if step.arguments else None
    if step.operation != "view" or not isinstance(asked, tuple) or before.stride is None:
        return ""
    return f"{explain_view(before.shape, before.stride, asked).reason} The rule step by step: *{TAB}*."


def ints_call(values: tuple[int, ...]) -> str:
    """`(4, 6)`, and `(24)` for a single size, as one types it."""
    return f"({', '.join(map(str, values))})"


def draw_view_check(spec: LayoutSpec, trace: LayoutTrace) -> None:
    """The verdict with PyTorch's words, and the rule step by step."""
    end = trace.layouts[-1] if trace.layouts else None
    if end is not None and len(trace.layouts) <= len(spec.steps):
        _draw_refused_step(spec.steps[len(trace.layouts) - 1], end)
    elif spec.view_shape is None or end is None:
        st.caption(ASK)
    elif end.stride is None:
        st.caption(f"This tensor has no strides: {end.unavailable}")
    elif trace.view is not None:
        name = tensor_name(len(trace.layouts) - 1)
        _draw_verdict(name, spec.view_shape, trace.view)
        _draw_rule(explain_view(end.shape, end.stride, spec.view_shape))
    if end is not None and end.stride is not None and (words := explain_ambiguity(end.shape, end.stride).words):
        st.caption(words)


def _draw_refused_step(step: Step, before: Layout) -> None:
    """Why a `.view` inside the chain was refused; for any other step only that it was."""
    asked = step.arguments[0] if step.arguments else None
    st.markdown(f"The chain ends before `{format_chain((step,))}`, which PyTorch refused.")
    if before.stride is None or before.storage_offset is None:
        return
    if step.operation == "view" and isinstance(asked, tuple):
        _draw_rule(explain_view(before.shape, before.stride, asked))
    if step.operation == "view_dtype" and isinstance(asked, str):
        rule = explain_dtype_view(before.shape, before.stride, before.storage_offset, before.itemsize, itemsize(asked))
        st.markdown("The same bytes are cut into elements of another size when each of these holds:")
        rows = [(check.condition, "yes" if check.holds else "no") for check in rule.checks]
        _draw_table(pd.DataFrame(rows, columns=["condition", "holds"]))


def _draw_verdict(name: str, asked: tuple[int, ...], attempt: ViewAttempt) -> None:
    call = f"{name}.view{ints_call(asked)}"
    if attempt.view is not None:
        st.success(f"`{call}` works: strides `{attempt.view.stride}`, no byte copied.", icon=":material/check:")
    elif attempt.view_error is not None:
        draw_said(f"`{call}` is refused.", attempt.view_error)
    st.markdown(_reshape_words(attempt))


def _reshape_words(attempt: ViewAttempt) -> str:
    if attempt.reshape_error is not None:
        return f"`reshape` is refused as well: {attempt.reshape_error.message}"
    if attempt.reshape_copied_bytes:
        return f"`reshape` works by **copying {format_bytes(attempt.reshape_copied_bytes)}** into a new storage."
    return "`reshape` gives the same **view**: nothing is copied."


def _draw_rule(rule: ViewRule) -> None:
    joints, runs = st.columns(2, gap="medium")
    with joints:
        st.markdown("**1. Which dimensions join?** From the last to the first, `stride[i] == size[i+1] * stride[i+1]`")
        if rule.joints:
            rows = [(f"{j.dim} and {j.dim + 1}", j.words, "joins" if j.joins else "breaks") for j in rule.joints]
            _draw_table(pd.DataFrame(rows, columns=["dimensions", "condition", "so it"]))
        else:
            st.caption("A single dimension, or none: nothing to join.")
    with runs:
        st.markdown(f"**2. Do the sizes of `{rule.inferred or rule.asked}` fill the runs?**")
        if rule.runs:
            _draw_table(pd.DataFrame([_run_row(run, rule) for run in rule.runs]))
        st.caption(rule.reason)


def _run_row(run: Run, rule: ViewRule) -> dict[str, str]:
    asked = rule.inferred or rule.asked
    return {
        "run": ", ".join(map(str, run.dims)),
        "elements": str(run.size),
        "stride": str(run.stride),
        "takes dimensions": ", ".join(f"{dim} (size {asked[dim]})" for dim in run.view_dims) or "none",
        "filled": "yes" if run.fits else "no",
    }


def _draw_table(table: pd.DataFrame) -> None:
    st.dataframe(table, hide_index=True, width="stretch", height="content")
