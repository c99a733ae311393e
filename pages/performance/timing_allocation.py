"""Fresh against reused outputs: the cliff at malloc's largest threshold."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from engine.figures.allocation_chart import (
    ALLOCATION_COLUMNS,
    allocation_chart,
    allocation_rows,
    as_found_words,
    bandwidth,
    cliff_words,
)
from engine.figures.units import format_bytes
from engine.timing.catalogue import CATALOGUE
from engine.timing.results import Allocations
from engine.timing.spec import AllocationSpec
from pages.performance.timing_again import draw_again
from pages.shared.key_numbers import KeyNumber, draw_key_numbers
from pages.shared.theme import shown_theme

HOW_TO_READ = (
    "glibc's malloc keeps small freed blocks and hands them out again, their pages still mapped; a block above a "
    "threshold comes from `mmap` and goes back to the system when freed. The threshold moves up by itself to the size "
    "of a freed block, at most 32 MiB (mallopt(3), M_MMAP_THRESHOLD), and the free end of the heap is given back from "
    "twice that size on. So below 32 MiB it depends on what the process did before whether pages fault: *faults as "
    "found* are the same calls before the heap was settled, and change from run to run. Everything else is with a "
    "**settled heap**, the threshold at its maximum, as in a process that has run for a while.\n\nAbove 32 MiB every "
    "new output consists of pages that do not exist yet: the first write to each is a **page fault**, in which the "
    "kernel finds a page and fills it with zeros, and the time counts as CPU time of your operator. `out=` writes into "
    "pages that are there. Whatever an eager formula with several intermediates loses here, a fused operator does not."
)


def draw_allocation(spec: AllocationSpec, found: Allocations, before: Allocations | None) -> None:
    """What was seen, GB/s and faults over sizes, key numbers, every size as a row."""
    code = CATALOGUE[spec.operator].code
    st.markdown(
        f"`{code}`, `{spec.dtype}`, one thread: a fresh output of every call against `out=` into one tensor.  \n"
        f"**{cliff_words(found)}** Allocator: {found.allocator}, pages of {format_bytes(found.page_bytes)}."
    )
    for words in (as_found_words(found), *found.notes):
        if words:
            st.caption(words)
    draw_again(spec, found.machine)
    st.plotly_chart(allocation_chart(found, shown_theme()), key="allocation.chart", config={"displayModeBar": False})
    draw_key_numbers(allocation_numbers(found), allocation_numbers(before) if before else None, "pinned")
    tabs = st.tabs(("Every size", "How to read this"), key="allocation.details", on_change="rerun")
    with tabs[0]:
        if tabs[0].open:
            table = pd.DataFrame(allocation_rows(found), columns=list(ALLOCATION_COLUMNS))
            st.dataframe(table, hide_index=True, width="stretch")
            st.caption(
                "The allocator's share is what a reused output saves of the time with a fresh one, where the two "
                "differ beyond doubt. GB/s count every operand read once and the result written once."
            )
    with tabs[1]:
        if tabs[1].open:
            st.markdown(HOW_TO_READ)


def allocation_numbers(found: Allocations) -> tuple[KeyNumber, ...]:
    """At the largest size: bandwidth of both, faults, the allocator's share."""
    last = found.points[-1]
    rate = "bytes moved / median thread CPU time at the largest size"
    cliff = found.cliff
    share = last.allocator_share if last.comparison.ratios[0].shows_a_difference else None
    return (
        KeyNumber("Largest output", last.output_bytes, "bytes", "numel * element_size of the output"),
        KeyNumber("Fresh GB/s", bandwidth(last, 0) / 1e9, "", rate),
        KeyNumber("Reused GB/s", bandwidth(last, 1) / 1e9, "", rate),
        KeyNumber("Faults a call", round(last.fresh_faults), "count", "ru_minflt of getrusage, fresh output, median"),
        KeyNumber("Allocator's share", share, "%", "1 - reused / fresh at the largest size", "no difference shown"),
        KeyNumber("Faulted from", None if cliff is None else cliff[1], "bytes", "the faults of each size", "no size"),
    )
