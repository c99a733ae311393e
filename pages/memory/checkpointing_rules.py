"""Dropout and reentrant: which of the four ways to checkpoint a block gives the gradients of off."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import msgspec
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from engine.checkpointing.policy import label_of
from engine.checkpointing.spec import Outcome, Outcomes, PolicySpec
from engine.figures.checkpointing_words import gradients_words
from engine.figures.palette import Theme, meaning
from engine.models.applicability import refusals
from engine.models.shape import block_count, describe, has_dropout
from engine.models.spec import ModelSpec
from pages.memory.checkpointing_exports import downloads
from pages.memory.checkpointing_results import Known
from pages.shared.frame import draw_exports
from pages.shared.jobs import compute, compute_beside
from pages.shared.key_numbers import KeyNumber, draw_key_numbers
from pages.shared.pin import pinned_spec
from pages.shared.theme import shown_theme

STYLE = """<style>
.rules { border-collapse: separate; border-spacing: 8px; width: 100%; table-layout: fixed }
.rules th { text-align: left; font-weight: 600; padding: .3rem .5rem; border: 0; vertical-align: middle }
.rules th:first-child { width: 22% }
.rules th small { display: block; font-weight: 400; opacity: .72 }
.rules td { border: 1.5px solid var(--mark); border-radius: 8px; padding: .7rem .8rem; vertical-align: top;
  background: color-mix(in srgb, var(--mark) 8%, transparent); overflow-wrap: anywhere }
.rules td b { display: block; color: var(--mark); margin-bottom: .2rem }
.rules td span { font-size: .86rem; line-height: 1.35; display: block }
</style>"""
LONG = 260
READ = (
    "**Reentrant** (`use_reentrant=True`) runs the block's forward under `no_grad` inside an autograd Function and "
    "again, with gradients, in backward. The Function takes part in the graph only if one of the tensors *passed in* "
    "requires a gradient: where none does, the block's parameters get none, and PyTorch only warns "
    "(pytorch/pytorch#7617). **Not reentrant** hooks the saved tensors instead, so parameters are found either way.\n\n"
    "**preserve_rng_state** stores the generator's state before the block's forward and sets it again before the "
    "second one, so that dropout draws the same mask. Without it backward differentiates through *another* mask: the "
    "loss is right, the gradients are wrong, and nothing warns (pytorch/pytorch#14253)."
)


def draw_rules(spec: PolicySpec, exports: DeltaGenerator) -> None:
    """The four ways as a table of cells, with and without a gradient of the inputs."""
    if not block_count(spec.model.architecture):
        st.info(
            f"{describe(spec.model.architecture)} has no blocks to checkpoint. Choose a model that has, such as the "
            "dynamic-depth MLP or GPT blocks, in the sidebar.",
            icon=":material/view_agenda:",
        )
        return
    found = compute(spec)
    draw_exports(exports, downloads(Known(spec, None, found, None), "recomputed_flops"))
    pinned = pinned_spec(PolicySpec)
    before = compute_beside(pinned, "A", slot="pinned") if pinned is not None else None
    other = other_model(spec.model)
    beside = (
        compute_beside(msgspec.structs.replace(spec, model=other), "The other input", slot="rules.other")
        if other
        else None
    )
    columns = [(spec.model, found)] + ([(other, beside)] if other is not None and beside is not None else [])
    columns.sort(key=lambda one: one[0].input_requires_grad)
    st.html(STYLE + rules_html(columns, shown_theme()))
    if not (has_dropout(spec.model.architecture) and spec.model.train):
        st.caption(
            ":material/casino: This model draws no random numbers, so preserve_rng_state changes nothing and is left "
            "out. Give the MLP or the GPT a dropout above 0 in the sidebar, with *train* on."
        )
    if other is None:
        reason = refusals(spec.model.architecture).get("input_requires_grad", "")
        st.caption(f":material/info: One column only: {reason}.")
    draw_key_numbers(rules_numbers(found), rules_numbers(before) if before is not None else None)
    _draw_said(columns)
    st.markdown(READ)


def other_model(model: ModelSpec) -> ModelSpec | None:
    """The same with `input_requires_grad` turned; None where inputs cannot require one."""
    if "input_requires_grad" in refusals(model.architecture):
        return None
    return msgspec.structs.replace(model, input_requires_grad=not model.input_requires_grad)


def rules_html(columns: Sequence[tuple[ModelSpec, Outcomes]], theme: Theme) -> str:
    """One row per way to checkpoint, one column per kind of input; text escaped."""
    heads = "".join(
        f"<th>the input {'requires a gradient' if model.input_requires_grad else 'requires no gradient'}</th>"
        for model, _ in columns
    )
    rows = []
    for number, outcome in enumerate(columns[0][1].outcomes[1:], start=1):
        policy = outcome.policy
        head = f"use_reentrant={policy.use_reentrant}<small>preserve_rng_state={policy.preserve_rng_state}</small>"
        cells = "".join(cell_html(found.outcomes[number], theme) for _, found in columns)
        rows.append(f"<tr><th>{head}</th>{cells}</tr>")
    return f'<table class="rules"><tr><th></th>{heads}</tr>{"".join(rows)}</table>'


def cell_html(outcome: Outcome, theme: Theme) -> str:
    """What came of one way."""
    title, key = verdict(outcome)
    words = gradients_words(outcome)
    if outcome.error is not None:
        words = f"{outcome.error.type}: {outcome.error.message.splitlines()[0]}"
    warned = " PyTorch warned." if outcome.warnings else ""
    told = f"{words[:LONG]}{'…' if len(words) > LONG else ''}.{warned}"
    return f'<td style="--mark: {meaning(key).accent(theme)}"><b>{escape(title)}</b><span>{escape(told)}</span></td>'


def verdict(outcome: Outcome) -> tuple[str, str]:
    """(in a few words, the palette's meaning)."""
    if outcome.error is not None:
        return "✕ raises", "refused"
    if outcome.missing:
        return f"∅ {len(outcome.missing)} gradients missing", "gradients_differ"
    if outcome.gradients_identical is False:
        return "≠ wrong gradients", "gradients_differ"
    return "✓ the gradients of off", "claim_holds"


def rules_numbers(found: Outcomes) -> tuple[KeyNumber, ...]:
    """Per way: gradients that are not those of off."""
    read = "`torch.equal(p.grad, p_off.grad)` of every parameter and input"
    return tuple(
        KeyNumber(
            f"{'reentrant' if one.policy.use_reentrant else 'not reentrant'}"
            f"{'' if one.policy.preserve_rng_state else ', rng free'}",
            None if one.gradients_identical is None and one.error is not None else len(one.differing),
            "count",
            f"{read}; how many differ or are missing",
            "raises",
        )
        for one in found.outcomes[1:]
    )


def _draw_said(columns: Sequence[tuple[ModelSpec, Outcomes]]) -> None:
    said: dict[str, list[tuple[str, bool]]] = {}
    for model, found in columns:
        for one in found.outcomes:
            words = [*one.warnings, *([f"{one.error.type}: {one.error.message}"] if one.error is not None else [])]
            for text in words:
                said.setdefault(text, []).append((label_of(one.policy), model.input_requires_grad))
    if not said:
        return
    with st.expander("What PyTorch said", icon=":material/forum:", key="rules.said"):
        for text, where in said.items():
            st.text("; ".join(f"{label}, input {'with' if grad else 'without'} gradient" for label, grad in where))
            st.code(text, language=None, wrap_lines=True)
