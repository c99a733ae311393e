"""What a program's timeline says in words: on hover, and about the statement that broke it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from engine.figures.in_place_lanes import Kept, Lane, Row, Written
from engine.figures.units import format_bytes, shorten
from engine.in_place.results import REFUSED, ProgramRun, SavedSlot, Step, Verdict
from engine.in_place.verdict import overwriting_line

HEADLINES: dict[Verdict, str] = {
    "runs": "Runs, and backward finds every saved tensor as it was saved",
    "raises": "Raises at the statement itself",
    "refused": "Stopped by this page: a statement would make too many elements",
    "breaks backward": "Backward raises: a saved tensor was written in place",
    "would break backward": "Runs so far, but backward would raise",
    "wrong gradient": "Runs without a word, and the gradient is wrong",
}

WITHIN_A_STATEMENT = (
    "With a copy of every tensor that a node saves, taken as it is saved, the same program has another gradient. The "
    "tensor was overwritten within the statement that saved it, through `.data`, which raises no counter."
)


def headline(run: ProgramRun) -> str:
    """What became of a program; of one that runs, what was asked to say so."""
    if run.verdict == "would break backward" and run.probed:
        return f"{HEADLINES[run.verdict]} from {run.probed}"
    if run.verdict != "runs":
        return HEADLINES[run.verdict]
    if any(slot.state == "overwritten" for step in run.steps for slot in step.saved):
        return "Runs, and the gradient is right although a saved tensor was overwritten unnoticed"
    if not run.probed and not any(step.is_backward for step in run.steps):
        return "Runs; no backward was called, and none could be asked for"
    return HEADLINES[run.verdict]


def row_words(row: Row) -> str:
    """A statement, and what became of it."""
    words = [row.text]
    words += [f"under {', '.join(row.modes)}"] if row.modes else []
    words += ["did not run: an earlier statement raised"] if not row.ran else []
    return "\n".join([*words, shorten(row.error, 280)] if row.error else words)


def lane_words(lane: Lane) -> str:
    """One counter of one storage."""
    counter = "no version counter: an inference tensor" if lane.counter < 0 else f"version counter {lane.counter}"
    names = ", ".join(f"{one.name} (view of {one.of})" if one.of else one.name for one in lane.names)
    return f"{lane.title}: storage {lane.storage}, {format_bytes(lane.nbytes)}\n{counter}\nnames: {names or 'none'}"


def write_words(write: Written) -> str:
    """A call that raised a counter."""
    return f"{write.name or 'a tensor without a name'}: {write.call}\nversion {write.before} → {write.after}"


def kept_words(kept: Kept) -> str:
    """What a node keeps, and what became of it."""
    endings = {
        "kept": "still kept: no backward has read it",
        "read": "read by backward, then freed",
        "stale": "the counter has moved on since: backward through this node raises",
        "overwritten": "its memory holds other values now and the counter stands still: backward uses the wrong ones",
    }
    slots = ", ".join(kept.slots)
    return f"{kept.node} keeps {slots}\nsaved at version {kept.version}\n{endings[kept.ending]}"


def explanation(run: ProgramRun) -> tuple[str, ...]:
    """Why the program breaks, as sentences with code in backticks; () when it runs."""
    said = run.error or run.probe
    sentences = [sentence for slot in _each_node(run.culprits) for sentence in _about(run, slot)]
    if run.verdict == "wrong gradient" and not run.culprits:
        sentences = [WITHIN_A_STATEMENT]
    elif run.error is not None and run.error.type == REFUSED:
        sentences = [f"Line {run.steps[-1].line} was not run: this page keeps every tensor small enough to be shown."]
    elif said is not None and not run.culprits:
        sentences = [_refusal(said.message)]
    return tuple(dict.fromkeys(sentence for sentence in sentences if sentence))


def _each_node(slots: Sequence[SavedSlot]) -> list[SavedSlot]:
    return list({(slot.node, slot.counter): slot for slot in slots}.values())


def _about(run: ProgramRun, slot: SavedSlot) -> list[str]:
    node = run.nodes[slot.node]
    name = _name_of(run, slot)
    maker = _code(run, node.made_at)
    first = f"`{node.name}` (line {node.made_at}, `{maker}`) saved `{slot.slot}`, the memory of `{name}`, at version "
    if slot.state == "overwritten":
        return [f"{first}{slot.version_saved}.", _unnoticed(run, overwriting_line(run, slot))]
    bumps = [b for b in run.bumps if b.counter == slot.counter and b.before >= slot.version_saved]
    lines = ", ".join(f"line {b.line} (`{_code(run, b.line)}`)" for b in bumps)
    return [
        f"{first}{slot.version_saved}.",
        f"The counter was raised to {slot.version_now} by {lines or 'a later write'}. Backward through this node needs "
        f"version {slot.version_saved}, finds {slot.version_now}, and refuses: the values it would use are gone.",
    ]


def _unnoticed(run: ProgramRun, line: int) -> str:
    """How the values of a saved tensor changed while its counter stood still."""
    code = _code(run, line)
    if re.search(r"\.data\s*=", code):
        how = "gave that tensor other memory: `.data = ...` leaves the counter as it is"
    else:
        how = "wrote into that memory without raising this counter: `.data` has a version counter of its own"
    return f"Line {line} (`{code}`) {how}. Backward compares versions, finds them equal and uses the new values."


def _name_of(run: ProgramRun, slot: SavedSlot) -> str:
    for step in run.steps:
        for state in step.tensors:
            if (state.storage, state.counter) == (slot.storage, slot.counter):
                return state.name
    return run.storages[slot.storage].name or "a tensor without a name"


def _code(run: ProgramRun, line: int) -> str:
    return shorten(next((step.text for step in run.steps if step.line == line), ""), 60)


_REFUSALS: tuple[tuple[str, str], ...] = (
    (
        "a view of a leaf Variable",
        "Writing through a view writes the leaf, and a leaf that requires grad cannot have a history: its gradient is "
        "asked of the value it had. Update it under `no_grad()`, where the step is no part of the function.",
    ),
    (
        "a leaf Variable",
        "A leaf that requires grad is where gradients end: an in-place operation would make it the result of one. "
        "Update it under `no_grad()`, where the step is no part of the function.",
    ),
    (
        "or another view of its base has been modified",
        "The base was written after several views of it had come out of one node. A single view gets a new grad_fn "
        "from its base when it is next used; one of several outputs cannot: it is of no use with gradients any more.",
    ),
    (
        "returns multiple views",
        "The views of `chunk`, `split` and `unbind` come out of one node. A write through one of them would have to "
        "replace the grad_fn of all; PyTorch does that for a view with a node of its own (`x[0]`, `x[:2]`) only.",
    ),
    (
        "BackwardHookFunction",
        "A full backward hook passes the output through a custom Function as a view of itself. Writing into it would "
        "bypass the hook, so activations behind a hooked module must not be in place.",
    ),
    (
        "more than one element of the written-to tensor",
        "`expand` reads one place in memory through several indices: a write would hit it again and again.",
    ),
    (
        "Inplace update to inference tensor",
        "A tensor made under `inference_mode()` has no version counter, so nobody could notice the write. Clone it.",
    ),
    (
        "Inference tensors cannot be saved for backward",
        "The node would save this tensor and has no version to compare later. Clone it first, or use `no_grad()`.",
    ),
    (
        "a second time",
        "The first backward freed what the nodes had saved. Ask it to keep them: `retain_graph=True`.",
    ),
    (
        "only for scalar outputs",
        "Backward starts from d(out)/d(out) = 1, which only a single number has. Sum first, or pass `gradient`.",
    ),
    (
        "does not require grad and does not have a grad_fn",
        "Nothing was recorded behind this tensor: no leaf that requires grad, `no_grad()`, or `detach()` in between.",
    ),
)


def _refusal(message: str) -> str:
    """The plain explanation of a message; "" where the message speaks for itself."""
    return next((words for part, words in _REFUSALS if part in message), "")


def grad_fn_changes(before: Step | None, after: Step) -> tuple[tuple[str, str, str], ...]:
    """(name, grad_fn before, grad_fn after) of every tensor whose grad_fn a statement changed."""
    known = {state.name: state for state in before.tensors} if before is not None else {}
    return tuple(
        (state.name, known[state.name].grad_fn or "none", state.grad_fn or state.unavailable or "none")
        for state in after.tensors
        if state.name in known
        and (state.grad_fn, state.unavailable) != (known[state.name].grad_fn, known[state.name].unavailable)
    )
