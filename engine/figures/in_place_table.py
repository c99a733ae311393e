"""Rows of the tables of a program, a family and an update: words, without pandas."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from engine.figures.units import format_bytes, format_count, format_shape, format_significant
from engine.in_place.families import FAMILIES
from engine.in_place.results import Outcome, ProgramRun, State, Step, Update
from engine.in_place.spec import Family, FamilySpec, Updated
from engine.runner.contract import Array

FEW = 6
STATE_COLUMNS = (
    "name", "version", "grad_fn", "is_leaf", "requires_grad", "view of", "memory", "shape", "values", "grad",
)  # fmt: skip
SAVED_COLUMNS = ("node", "made in line", "slot", "memory", "saved at", "now", "state")
FAMILY_COLUMNS = ("statement", "outcome", "version", "grad_fn", "gradient", "PyTorch said")
UPDATE_COLUMNS = (
    "form", "new storages", "bytes", "most at once", "data_ptr", "tensor", "is_leaf", "version", "code",
)  # fmt: skip
STATES = {
    "fresh": "as saved",
    "stale": "stale: backward will raise",
    "overwritten": "overwritten unnoticed",
    "freed": "freed by backward",
    "unreadable": "cannot be read",
}
OUTCOMES = {
    "runs": "allowed",
    "raises": "refused",
    "refused": "not run: too large",
    "breaks backward": "backward raises",
    "would break backward": "backward would raise",
    "wrong gradient": "wrong gradient",
}


def values_text(values: Array | None) -> str:
    """Values on one line, the first FEW of them; "large" where they did not travel."""
    if values is None:
        return "large"
    flat = np.frombuffer(values.data, values.dtype)
    words = [format_significant(float(one.real if np.iscomplexobj(flat) else one)) for one in flat[:FEW]]
    return f"[{', '.join(words)}{', …' if flat.size > FEW else ''}]" if values.shape else (words[0] if words else "[]")


def state_rows(run: ProgramRun, step: Step, before: Step | None) -> list[tuple[str, ...]]:
    """Every named tensor after a statement; a version that rose says from what."""
    known = {state.name: state for state in before.tensors} if before is not None else {}
    return [_state_row(run, state, known.get(state.name)) for state in step.tensors]


def _state_row(run: ProgramRun, state: State, before: State | None) -> tuple[str, ...]:
    version = "none" if state.version is None else str(state.version)
    if before is not None and before.counter == state.counter and before.version != state.version:
        version = f"{before.version} → {version}"
    leaf = "cannot be read" if state.is_leaf is None else "yes" if state.is_leaf else "no"
    offset = f" + {state.offset_bytes} B" if state.offset_bytes else ""
    grad = values_text(state.grad) if state.has_grad else ""
    return (
        state.name,
        version,
        state.grad_fn or ("cannot be read" if state.unavailable else ""),
        leaf,
        "yes" if state.requires_grad else "no",
        state.base,
        f"{run.storages[state.storage].name or 'no name'}{offset}",
        format_shape(state.shape),
        values_text(state.values),
        grad,
    )


def saved_rows(run: ProgramRun, step: Step) -> list[tuple[str, ...]]:
    """Every slot that a node keeps after a statement."""
    return [
        (
            run.nodes[slot.node].name,
            str(run.nodes[slot.node].made_at),
            slot.slot,
            run.storages[slot.storage].name or "no name" if slot.storage >= 0 else "",
            str(slot.version_saved) if slot.version_saved >= 0 else "",
            str(slot.version_now) if slot.version_now >= 0 else "",
            STATES[slot.state],
        )
        for slot in step.saved
    ]


def family_rows(spec: FamilySpec, family: Family) -> list[tuple[str, ...]]:
    """Every program of a family with its outcome."""
    members = FAMILIES[spec.name].members
    return [_family_row(member.title, outcome) for member, outcome in zip(members, family.outcomes, strict=True)]


def _family_row(title: str, outcome: Outcome) -> tuple[str, ...]:
    said = "" if outcome.error is None else outcome.error.message
    if outcome.culprits and outcome.error is None:
        said = f"nothing; {', '.join(outcome.culprits)} was overwritten"
    return (
        title,
        OUTCOMES[outcome.verdict],
        _each((one.name, "none" if one.version is None else str(one.version)) for one in outcome.states),
        _each((one.name, _grad_fn(one)) for one in outcome.states),
        _each((name, values_text(values)) for name, values in outcome.gradients),
        said,
    )


def _each(named: Iterable[tuple[str, str]]) -> str:
    """`x: 1, v: 1`; of a single tensor what it is alone."""
    found = list(named)
    return found[0][1] if len(found) == 1 else ", ".join(f"{name}: {words}" for name, words in found)


def _grad_fn(state: State) -> str:
    if state.unavailable:
        return "cannot be read"
    return state.grad_fn.removeprefix("torch::autograd::").removesuffix("Backward0") or (
        "leaf" if state.requires_grad else "none"
    )


def update_rows(updated: Updated) -> list[tuple[str, ...]]:
    """Every form of the step."""
    return [_update_row(one) for one in updated.updates]


def _update_row(update: Update) -> tuple[str, ...]:
    return (
        update.name,
        format_significant(update.allocations) if update.allocations % 1 else format_count(int(update.allocations)),
        format_bytes(update.allocated_bytes),
        format_bytes(update.peak_bytes),
        "kept" if update.keeps_data_ptr else "changed",
        "the same" if update.keeps_tensor else "another",
        "yes" if update.is_leaf else "no",
        f"{update.version_before} → {update.version_after}",
        update.code,
    )


def gradient_rows(run: ProgramRun, fixed: ProgramRun) -> list[tuple[str, str, str]]:
    """(leaf, gradient of the program, gradient of the corrected one) of every leaf with a gradient in either."""
    first, second = _gradients(run), _gradients(fixed)
    names = dict.fromkeys([*first, *second])
    return [(name, first.get(name, "none"), second.get(name, "none")) for name in names]


def _gradients(run: ProgramRun) -> dict[str, str]:
    return {one.name: values_text(one.grad) for one in run.steps[-1].tensors if one.is_leaf and one.has_grad}
