"""The section about invariants: one of them broken, what PyTorch's check says, and what happens without it."""

from __future__ import annotations

from typing import NamedTuple

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from engine import Fault, run
from engine.figures.cells import encode_cells
from engine.figures.sparse_strips import violation_scene
from engine.sparse.results import Invariants, Unchecked, Violation
from engine.sparse.spec import InvariantsSpec, UncheckedSpec
from pages.shared.bound import bind
from pages.shared.cells_component import show_cells
from pages.shared.frame import draw_exports
from pages.shared.jobs import compute, compute_beside
from pages.shared.key_numbers import KeyNumber, draw_key_numbers
from pages.shared.pin import pinned_spec
from pages.tensors.sparse_layouts_exports import section_downloads

TRY_ALL = "sparse.try_all"
CHECKED = "with check_invariants=True"
LINES_OF_WORDS = 80
"""Pixels of a row that holds four lines."""
SILENT = "silently other values"


def draw_invariants(spec: InvariantsSpec, exports: DeltaGenerator) -> None:
    """Choose what to break; the array before and after; both outcomes; then every invariant in a table."""
    found = compute(spec)
    if found.error is not None:
        st.error(f"**PyTorch refuses this layout** · {found.error.type}", icon=":material/block:")
        st.code(found.error.message, language=None)
        return
    chosen = next(violation for violation in found.violations if violation.name == spec.corruption)
    scene = violation_scene(chosen)
    title = f"Invariants of {spec.layout.upper()}"
    draw_exports(exports, section_downloads(spec, found, checked_table(found), "invariants", title, scene))
    if chosen.not_possible:
        st.info(f"Not possible here: {chosen.not_possible}.", icon=":material/info:")
    else:
        show_cells(encode_cells(scene), key="sparse.broken.cells", height=250)
        _draw_outcomes(spec, chosen)
    pinned = pinned_spec(InvariantsSpec)
    before = compute_beside(pinned, "A", slot="pinned") if pinned else None
    draw_key_numbers(invariants_numbers(found), invariants_numbers(before) if before else None)
    _draw_all(spec, found)


def invariants_numbers(found: Invariants) -> tuple[KeyNumber, ...]:
    """How many corruptions the check notices, lets pass, and how many this matrix cannot have."""
    possible = [violation for violation in found.violations if not violation.not_possible]
    noticed = sum(violation.complaint is not None for violation in possible)
    asked = "construction with `check_invariants=True`"
    return (
        KeyNumber("Noticed", noticed, "count", f"{asked}: corruptions that raise"),
        KeyNumber("Let pass", len(possible) - noticed, "count", f"{asked}: corruptions that are constructed"),
        KeyNumber("Not possible", len(found.violations) - len(possible), "count", "the arrays of this matrix"),
    )


def _draw_outcomes(spec: InvariantsSpec, chosen: Violation) -> None:
    checked, unchecked = st.columns(2, gap="large")
    with checked:
        st.markdown("**With `check_invariants=True`**")
        if chosen.complaint is None:
            st.success("Constructed: PyTorch does not ask for this.", icon=":material/check_circle:")
        else:
            st.caption(f"Construction raises {chosen.complaint.type}")
            st.code(chosen.complaint.message, language=None, wrap_lines=True)
    with unchecked:
        st.markdown("**Without the check, then `to_dense()`**")
        _draw_unchecked(unchecked_outcome(spec, chosen.name))


class Outcome(NamedTuple):
    """What an unchecked tensor did: in a few words, in a sentence, and PyTorch's text or what differs."""

    brief: str
    sentence: str
    detail: str = ""


def _draw_unchecked(outcome: Outcome) -> None:
    if outcome.brief.startswith("crash"):
        st.error(outcome.sentence, icon=":material/dangerous:")
    elif outcome.brief == SILENT:
        st.warning(outcome.sentence, icon=":material/warning:")
    else:
        st.caption(outcome.sentence)
    if outcome.detail:
        st.code(outcome.detail, language=None, wrap_lines=True)


def unchecked_outcome(spec: InvariantsSpec, name: str) -> Outcome:
    """Read the broken tensor in a worker process of its own, which may end by it."""
    asked = UncheckedSpec(matrix=spec.matrix, layout=spec.layout, corruption=name)  # type: ignore[arg-type]
    try:
        found = run(asked)
    except Fault as fault:
        sentence = f"{fault.report.what} The page and its other jobs are not affected."
        return Outcome(f"{fault.report.kind}: {fault.report.what}", sentence)
    if found.not_possible:
        return Outcome("not possible here", f"Not possible here: {found.not_possible}.")
    if found.construction_error is not None:
        error = found.construction_error
        return Outcome(f"refused: {error.type}", f"Refused all the same: {error.type}", error.message)
    if found.reading_error is not None:
        error = found.reading_error
        return Outcome(f"to_dense() raises {error.type}", f"Constructed; to_dense() raises {error.type}", error.message)
    if found.is_silently_wrong:
        return Outcome(SILENT, "Constructed, and to_dense() silently gives other values:", _difference(found))
    return Outcome("right this time", "Constructed, and to_dense() is right this time. Nothing guarantees it.")


def _difference(found: Unchecked) -> str:
    if found.dense is None or found.expected is None:
        return ""
    columns = max(found.expected.shape[1], 1)
    pairs = zip(found.dense.texts, found.expected.texts, strict=True)
    lines = [
        f"[{i // columns}, {i % columns}] is {got}, was {expected}"
        for i, (got, expected) in enumerate(pairs)
        if got != expected
    ]
    return "\n".join(lines[:6] + ([f"and {len(lines) - 6} more"] if len(lines) > 6 else []))


def _draw_all(spec: InvariantsSpec, found: Invariants) -> None:
    st.markdown(f"**Every invariant of {spec.layout.upper()}**")
    try_all = st.toggle(
        "Also try each without the check",
        help="Each in a worker process of its own: some end by a memory fault",
        **bind(TRY_ALL),
    )
    table = checked_table(found)
    if try_all:
        possible = {violation.name: not violation.not_possible for violation in found.violations}
        table["without the check"] = [
            unchecked_outcome(spec, name).brief if possible[name] else "" for name in table["broken"]
        ]
    st.dataframe(
        table,
        hide_index=True,
        width="stretch",
        height="content",
        row_height=LINES_OF_WORDS,
        column_config={
            "broken": st.column_config.TextColumn(width=160),
            "array": st.column_config.TextColumn(width=100),
            CHECKED: st.column_config.TextColumn(width=360 if try_all else 660),
            "without the check": st.column_config.TextColumn(width=300),
        },
    )


def checked_table(found: Invariants) -> pd.DataFrame:
    """One row per invariant: which array is broken and what the check says."""
    return pd.DataFrame(
        {
            "broken": [violation.name for violation in found.violations],
            "array": [violation.member for violation in found.violations],
            CHECKED: [_checked_words(violation) for violation in found.violations],
        }
    )


def _checked_words(violation: Violation) -> str:
    if violation.not_possible:
        return f"not possible here: {violation.not_possible}"
    return violation.complaint.message if violation.complaint else "constructed"
