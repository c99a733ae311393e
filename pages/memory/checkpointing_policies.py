"""The section of policies: picture and list, the chosen one's numbers and graph, the table of all."""

from __future__ import annotations

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from engine.checkpointing.policy import Policy
from engine.checkpointing.spec import PolicyGraphSpec, PolicySpec
from engine.figures.checkpointing_chart import HEIGHT
from engine.models.shape import block_count, describe
from pages.memory.checkpointing_controls import up
from pages.memory.checkpointing_exports import downloads
from pages.memory.checkpointing_facts import draw_recomputed, draw_verdict
from pages.memory.checkpointing_graph import draw_graph
from pages.memory.checkpointing_numbers import key_numbers, matching
from pages.memory.checkpointing_picture import draw_chooser, draw_picture, shown_up
from pages.memory.checkpointing_results import Known, draw_progress, draw_refusal, is_refused, look_up, look_up_pinned
from pages.memory.checkpointing_table import draw_table
from pages.shared.frame import draw_exports
from pages.shared.jobs import compute_beside
from pages.shared.key_numbers import draw_key_numbers
from pages.shared.pin import pinned_spec

TABS = ("All policies", "What runs again", "How to read this")
HOW_TO_READ = (
    "**Held** is what backward alone keeps alive between forward and backward: every storage once, parameters, buffers "
    "and inputs left out, because they live anyway. A checkpoint keeps its *inputs* and runs its forward again in "
    "backward; `save_on_cpu` and files keep everything, elsewhere. **Peak** is the most the allocator had given out "
    "during forward and backward: what is run again has to live then, and so do the gradients, so a policy that holds "
    "little can still peak high.\n\n"
    "**The line** joins policies that no other beats in both bytes and cost. **Hollow** marks are forecasts: worked "
    "out without running the model, and told beside what was counted. **Time** is measured in interleaved rounds "
    "against off, with its 95 % band; FLOPs and operations are counted and the same in every run. Gradients are "
    "compared with those of off **bit for bit**."
)
NO_BLOCKS = (
    "{model} has no sequence of blocks, so there is nothing to checkpoint: only policies that move saved tensors away "
    "apply. For checkpoints choose a model with blocks in the sidebar: the Linear + ReLU stack, GPT blocks, a ResNet."
)


def draw_policies(spec: PolicySpec, exports: DeltaGenerator) -> None:
    """Compute what there is, draw it, and draw again when more is there."""
    if not block_count(spec.model.architecture):
        st.info(NO_BLOCKS.format(model=describe(spec.model.architecture)), icon=":material/view_agenda:")
    pinned = pinned_spec(PolicySpec)
    known = look_up(spec)
    before = look_up_pinned(pinned, compute_beside(pinned, "A", slot="pinned")) if pinned is not None else None
    draw_exports(exports, downloads(known, shown_up(known)))
    left, right = st.columns([13, 8], gap="medium")
    with right:  # first: what a link chooses is known once its widget is drawn
        chosen = draw_chooser(spec.policies, known.blocks)
        rows = known.rows
        row = next(one for one in rows if one.policy == chosen)
        with st.container(height=HEIGHT, border=False, key="policies.facts"):
            draw_verdict(row, rows[0])
    with left:
        draw_picture(known, chosen, before)
    draw_progress(known, _words(known))
    a = matching(row, before.rows) if before is not None else None
    missing = "not run" if is_refused(known) else "counting"
    draw_key_numbers(key_numbers(row, missing), key_numbers(a) if a is not None else None)
    draw_refusal(known)
    _draw_refused(known)
    if row.outcome is not None and row.outcome.error is None:
        draw_graph(PolicyGraphSpec(model=spec.model, policy=chosen))
    _draw_tabs(known, chosen, before)


def _words(known: Known) -> str:
    """One line under the picture: what its marks are of now."""
    if known.outcomes is None:
        return "Hollow marks are estimated: nothing was run yet."
    if shown_up(known) != up():
        return "Up are FLOPs that are run again, until the times are there."
    return "Hollow: forecast. Filled: counted. The line joins what nothing beats in both bytes and cost."


def _draw_refused(known: Known) -> None:
    """Policies that PyTorch would not run, in its words."""
    refused = [row for row in known.rows if row.outcome is not None and row.outcome.error is not None]
    if refused:
        with st.expander(f"{len(refused)} refused by PyTorch", icon=":material/block:", key="policies.refused"):
            for row in refused:
                assert row.outcome is not None
                assert row.outcome.error is not None
                st.text(row.label)
                st.code(f"{row.outcome.error.type}: {row.outcome.error.message}", language=None, wrap_lines=True)


def _draw_tabs(known: Known, chosen: Policy, before: Known | None) -> None:
    table, again, read = st.tabs(TABS)
    with table:
        draw_table(known.rows, before.rows if before is not None else ())
        for note in known.outcomes.notes if known.outcomes is not None else ():
            st.caption(note)
    with again:
        draw_recomputed(next(one for one in known.rows if one.policy == chosen))
    with read:
        st.markdown(HOW_TO_READ)
