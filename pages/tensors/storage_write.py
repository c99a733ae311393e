"""Writing through a view: which names change, what versions count, what autograd says."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from engine.figures.units import format_count
from engine.storage.spec import LayoutTrace, NameAfterWrite, WriteReport
from pages.shared.pytorch_words import draw_said
from pages.tensors.storage_cards import tensor_name

ASK = (
    "Choose *Write in place* on the left. It is carried out on a chain built afresh, through the tensor you name; the "
    "table then says which other names changed."
)


def draw_write(trace: LayoutTrace) -> None:
    """What the write did to every tensor of the chain."""
    if trace.write is None:
        st.caption(ASK)
        return
    report = trace.write
    call = f"{tensor_name(report.step)}.{report.operation}"
    if report.error is not None:
        draw_said(f"`{call}` was refused", report.error)
    else:
        _draw_summary(call, report)
    _draw_names(report)
    if report.backward_error is not None:
        draw_said("After the write, backward from the end of the chain", report.backward_error)
    if report.error is None and report.overlapping:
        st.warning(overlap_words(report.overlapping), icon=":material/warning:")
    for warning in report.warnings:
        st.warning(warning, icon=":material/warning:")


def overlap_words(places: int) -> str:
    """Of a write that PyTorch carried out; `places` of the storage are read by more than one index."""
    cells = "1 cell is" if places == 1 else f"{format_count(places)} cells are"
    return (
        f"PyTorch carried this out although {cells} read by more than one index: it refuses only what a stride of 0 "
        f"makes overlap, and such a cell may be written more than once."
    )


def _draw_summary(call: str, report: WriteReport) -> None:
    others = [tensor_name(name.step) for name in report.names if name.changed and name.step != report.step]
    words = ", ".join(f"`{name}`" for name in others)
    st.markdown(
        f"`{call}` also changed {words}: they read the same storage." if others else f"`{call}` changed no other name."
    )


def _draw_names(report: WriteReport) -> None:
    table = pd.DataFrame([_row(name) for name in report.names])
    st.dataframe(table, hide_index=True, width="stretch", height="content")


def _row(name: NameAfterWrite) -> dict[str, str]:
    return {
        "tensor": tensor_name(name.step),
        "values changed": "yes" if name.changed else "no",
        "_version": _change(name.version_before, name.version_after),
        "grad_fn": _change(name.grad_fn_before, name.grad_fn_after),
    }


def _change(before: object, after: object) -> str:
    return str(before) if before == after else f"{before} → {after}"
