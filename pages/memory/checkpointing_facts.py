"""One policy: bytes against off and forecast, gradients, what is run again, what PyTorch warned of."""

from __future__ import annotations

from html import escape

import pandas as pd
import streamlit as st

from engine.checkpointing.spec import OperationCount
from engine.figures.checkpointing_axes import format_flops
from engine.figures.checkpointing_words import FACTS, Row, fact_rows, gradients_words, literal, ratio_words
from engine.figures.units import format_count
from pages.shared.pytorch_words import draw_said

STYLE = """<style>
.policy-facts { width: 100%; border-collapse: collapse; font-size: .88rem; font-variant-numeric: tabular-nums }
.policy-facts th { text-align: left; font-weight: 500; opacity: .72; padding: .28rem .5rem .28rem 0; border: 0;
  white-space: nowrap; vertical-align: top }
.policy-facts td { text-align: right; padding: .28rem 0; border: 0; line-height: 1.3 }
.policy-facts tr + tr { border-top: 1px solid color-mix(in srgb, currentColor 14%, transparent) }
.policy-facts small { display: block; opacity: .72 }
</style>"""


def draw_verdict(row: Row, off: Row) -> None:
    """Beside the picture: the numbers with their distance to off and to the forecast, then the gradients."""
    ran = row.outcome
    if ran is not None and ran.error is not None:
        draw_said(f"PyTorch refused {row.label}", ran.error)
        return
    told = row.forecast
    if ran is None and told is not None and told.error is not None:
        draw_said(f"The forecast of {row.label} stopped", told.error)
        return
    st.html(STYLE + facts_html(fact_rows(row, off), ratio_words(row)))
    if ran is not None:
        _draw_gradients(row)
        for warning in ran.warnings:
            st.code(warning, language=None, wrap_lines=True)
    if told is not None and not told.held_is_exact and told.why_not:
        st.caption(f":material/info: The forecast of held bytes is estimated, not promised: {told.why_not}")


def _draw_gradients(row: Row) -> None:
    assert row.outcome is not None
    words = gradients_words(row.outcome)
    if row.outcome.gradients_identical:
        st.markdown(f":green[:material/check: Gradients {words}]")
    elif row.outcome.gradients_identical is None:
        st.caption(f"Gradients {words}")
    else:
        st.markdown(":red[:material/difference: Gradients are not those of off]")
        st.caption(literal(words))


def facts_html(rows: tuple[tuple[str, ...], ...], ratio: str) -> str:
    """The table of facts, escaped."""
    lines = []
    for label, value, against, forecast, error in rows:
        small = [against, f"estimated {forecast}, {error}" if forecast and error else ""]
        small += [f"estimated {forecast}"] if forecast and not error else []
        told = "".join(f"<small>{escape(one)}</small>" for one in small if one)
        lines.append(f"<tr><th>{escape(label)}</th><td>{escape(value)}{told}</td></tr>")
    lines.append(f"<tr><th>time / off</th><td>{escape(ratio)}</td></tr>")
    assert len(FACTS) == 5
    return f'<table class="policy-facts">{"".join(lines)}</table>'


def draw_recomputed(row: Row) -> None:
    """What backward runs once more, by operation."""
    ran = row.outcome
    if ran is None or ran.error is not None:
        st.caption("Nothing was run.")
    elif not ran.recomputed:
        words = "Backward runs no operation of the forward again: tensors were moved and brought back."
        st.caption(words if ran.moved_bytes else "Backward runs no operation of the forward again.")
    else:
        st.dataframe(operations_table(ran.recomputed), hide_index=True, width="stretch")


def operations_table(found: tuple[OperationCount, ...]) -> pd.DataFrame:
    """One row per operation, numbers as numbers so that columns sort."""
    return pd.DataFrame(
        {
            "operation": [one.operation for one in found],
            "calls": [one.calls for one in found],
            "FLOPs": [one.flops for one in found],
            "in words": [f"{format_count(one.calls)}×, {format_flops(one.flops)}" for one in found],
        }
    )
