"""All policies in one table that sorts by any column."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from engine.checkpointing.policy import Policy
from engine.figures.checkpointing_words import Row, change, gradients_words
from engine.figures.units import format_bytes, format_exact_bytes
from pages.memory.checkpointing_numbers import matching

COLUMNS = (
    "policy",
    "held",
    "held − off",
    "held %",
    "peak",
    "peak − off",
    "peak %",
    "live after forward",
    "moved",
    "run again",
    "FLOPs again",
    "time / off",
    "low",
    "high",
    "gradients",
    "forecast held",
    "forecast error %",
    "forecast peak",
    "peak error %",
)
PERCENT = ("held %", "peak %", "forecast error %", "peak error %")
RATIOS = ("time / off", "low", "high")
WORDS = ("policy", "gradients")


def table_values(rows: Sequence[Row], before: tuple[Row, ...] = ()) -> list[dict[str, object]]:
    """One row per policy, raw numbers; with run A also the distance to it."""
    off = next((row for row in rows if row.policy == Policy()), None)
    found = [_values(row, off) for row in rows]
    if before:
        for values, row in zip(found, rows, strict=True):
            a = matching(row, before)
            for name in ("held_bytes", "peak_bytes"):
                pair = getattr(row.outcome, name, None), getattr(a.outcome if a else None, name, None)
                values[f"{name.split('_')[0]} − A"] = None if None in pair else pair[0] - pair[1]  # type: ignore[operator]
    return found


def _values(row: Row, off: Row | None) -> dict[str, object]:
    ran, told, base = row.outcome, row.forecast, off.outcome if off is not None else None
    sizes = {name: getattr(ran, name, None) for name in ("held_bytes", "peak_bytes", "live_bytes")}
    bases = {name: getattr(base, name, None) for name in sizes}
    foretold = {name: getattr(told, name, None) for name in sizes}
    ok = ran is not None and ran.error is None
    ratio = (1.0, None, None) if row.policy == Policy() else (None, None, None)
    if row.ratio is not None:
        ratio = row.ratio.ratio, row.ratio.low, row.ratio.high  # type: ignore[assignment]
    values = (
        row.label,
        sizes["held_bytes"],
        _minus(sizes["held_bytes"], bases["held_bytes"]),
        _percent(sizes["held_bytes"], bases["held_bytes"]),
        sizes["peak_bytes"],
        _minus(sizes["peak_bytes"], bases["peak_bytes"]),
        _percent(sizes["peak_bytes"], bases["peak_bytes"]),
        sizes["live_bytes"],
        ran.moved_bytes if ok and ran else None,
        ran.recomputed_operations if ok and ran else None,
        ran.recomputed_flops if ok and ran else None,
        *ratio,
        gradients_words(ran) if ran is not None else "",
        foretold["held_bytes"],
        _percent(foretold["held_bytes"], sizes["held_bytes"]),
        foretold["peak_bytes"],
        _percent(foretold["peak_bytes"], sizes["peak_bytes"]),
    )
    return dict(zip(COLUMNS, values, strict=True))


def _minus(value: int | None, base: int | None) -> int | None:
    return None if value is None or base is None else value - base


def _percent(value: int | None, base: int | None) -> float | None:
    share = change(value, base)
    return None if share is None else 100 * share


def _format(name: str) -> str:
    return "%+.2f %%" if name in PERCENT else "%.3f" if name in RATIOS else "localized"


def draw_table(rows: Sequence[Row], before: tuple[Row, ...] = ()) -> None:
    """Numbers as numbers, so that every column sorts; bytes are exact."""
    values = table_values(rows, before)
    known = [name for name in (values[0] if values else ()) if any(one[name] is not None for one in values)]
    shown = pd.DataFrame(values, columns=known)
    config = {name: st.column_config.NumberColumn(name, format=_format(name)) for name in known if name not in WORDS}
    st.dataframe(shown, hide_index=True, width="stretch", column_config=config)
    if rows and rows[0].outcome is not None and rows[0].outcome.held_bytes is not None:
        held = rows[0].outcome.held_bytes
        st.caption(f"Off holds {format_bytes(held)} ({format_exact_bytes(held)}) for backward. Click a header to sort.")
