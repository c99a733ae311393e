"""Which correction a broken program gets: rules by what PyTorch said, each tried by running what it gives."""

from __future__ import annotations

from collections.abc import Iterator

from engine.in_place import rewrite
from engine.in_place.language import lines_of, parse_program
from engine.in_place.reference import agrees, observe
from engine.in_place.results import Fix, ProgramRun, SavedSlot
from engine.in_place.statements import Statement
from engine.in_place.trace import run_program
from engine.in_place.verdict import overwriting_line

UNDER_NO_GRAD = "Update the leaf under no_grad: the step is no part of the function that is differentiated."
SINGLE_VIEWS = "Take each part by a view of its own: one output can be rebased, several outputs of one node cannot."
OUT_OF_PLACE = "Write out of place: the name gets a new tensor, and what was saved stays as it was."
CLONE_SAVED = "Let the node keep a copy: clone where it saves, so that the write meets other memory."
BACKWARD_FIRST = "Call backward first and update the leaf afterwards, as optimizers do."
CLONE_TARGET = "Clone before writing: the copy has memory of its own."
RETAIN = "Keep the saved tensors over the first backward: retain_graph=True."
SUMMED = "Backward starts from one number: sum first, or pass a gradient of the tensor's shape."

Candidate = tuple[str, str | None]


def find_fix(program: str, seed: int, run: ProgramRun) -> Fix | None:
    """The first rule whose program runs to its end with the values and the gradients of this one; None for none.

    They are those of this program with a copy of every saved tensor: what it would give if no write broke backward.
    """
    if run.verdict in ("runs", "refused"):
        return None
    meant = observe(program, seed, copying=True)
    tried = {program}
    for rule, text in _candidates(program, run):
        if text is None or text in tried:
            continue
        tried.add(text)
        try:
            found = run_program(text, seed, with_graphs=False)
        except ValueError:
            continue
        if found.verdict != "runs" or not keeps_leaves(run, found):
            continue
        if agrees(meant, observe(text, seed, copying=False), at_the_end=rule == BACKWARD_FIRST):
            same = True if meant.is_whole else None
            return Fix(rule=rule, program=text, changed=changed_lines(program, text), run=found, same_values=same)
    return None


def _candidates(program: str, run: ProgramRun) -> Iterator[Candidate]:
    statements = {one.line: one for one in parse_program(program)}
    error = run.error or run.probe
    message = error.message if error is not None else ""
    broken = statements[run.steps[-1].line]
    if "leaf Variable that requires grad is being used in an in-place operation" in message:
        yield UNDER_NO_GRAD, rewrite.under_no_grad(program, broken)
    if "output of a function that returns multiple views" in message:
        yield SINGLE_VIEWS, _single_views(program, run, statements)
        yield OUT_OF_PLACE, rewrite.out_of_place(program, broken)
    if "BackwardHookFunction is a view" in message:
        yield OUT_OF_PLACE, rewrite.out_of_place(program, broken)
    if run.culprits:
        yield from _saved_rules(program, run, statements)
    if "more than one element of the written-to tensor" in message or "BackwardHookFunction is a view" in message:
        names = [state.name for state in run.steps[-1].tensors]
        yield CLONE_TARGET, rewrite.cloned_first(program, broken, rewrite.names_used(broken, names)[:1])
    if "nference tensor" in message:
        names = [state.name for state in run.steps[-1].tensors if state.is_inference]
        yield CLONE_TARGET, rewrite.cloned_first(program, broken, rewrite.names_used(broken, names))
    if "backward through the graph a second time" in message:
        earlier = [step.line for step in run.steps[:-1] if step.is_backward]
        yield RETAIN, _each(program, [statements[line] for line in earlier])
    if "grad can be implicitly created only for scalar outputs" in message:
        yield SUMMED, rewrite.summed(program, broken)


def _saved_rules(program: str, run: ProgramRun, statements: dict[int, Statement]) -> Iterator[Candidate]:
    writes = [statements[line] for line in writing_lines(run)]
    backward = run.steps[-1].line if run.verdict == "breaks backward" else _last_backward(run)
    if backward and writes and _is_leaf(run, writes[0]):
        yield BACKWARD_FIRST, rewrite.after_backward(program, writes[0], backward)
    if run.verdict != "wrong gradient":
        text: str | None = program
        for write in reversed(writes):
            text = rewrite.out_of_place(text, write) if text is not None else None
        yield OUT_OF_PLACE, text
    yield CLONE_SAVED, _clone_saved(program, run, statements)


def _last_backward(run: ProgramRun) -> int:
    return next((step.line for step in reversed(run.steps) if step.is_backward), 0)


def _is_leaf(run: ProgramRun, statement: Statement) -> bool:
    """Whether a statement writes to a leaf that requires grad."""
    counters = {bump.counter for bump in run.bumps if bump.line == statement.line}
    states = rewrite.states_after(run, statement.line)
    return any(one.is_leaf and one.requires_grad and one.counter in counters for one in states)


def _clone_saved(program: str, run: ProgramRun, statements: dict[int, Statement]) -> str | None:
    """Later statements first, so that line numbers of the earlier ones hold."""
    made = {node.number: node.made_at for node in run.nodes}
    text: str | None = program
    for line in sorted({made[slot.node] for slot in run.culprits}, reverse=True):
        of_line = [slot for slot in run.culprits if made[slot.node] == line]
        text = _clone_in(text, run, statements[line], of_line) if text is not None and line in statements else None
    return text


def _clone_in(program: str, run: ProgramRun, statement: Statement, slots: list[SavedSlot]) -> str | None:
    if all(slot.slot.startswith("result") for slot in slots):
        return rewrite.clone_result(program, statement)
    kept = {slot.storage for slot in slots}, {slot.counter for slot in slots}
    states = rewrite.states_after(run, statement.line)
    names = rewrite.names_used(
        statement, [one.name for one in states if one.storage in kept[0] or one.counter in kept[1]]
    )
    return rewrite.clone_operands(program, statement, names)


def _single_views(program: str, run: ProgramRun, statements: dict[int, Statement]) -> str | None:
    text, changed = program, False
    for line in sorted(statements, reverse=True):
        found = rewrite.single_views(text, statements[line], rewrite.states_after(run, line))
        text, changed = (found, True) if found is not None else (text, changed)
    return text if changed else None


def _each(program: str, statements: list[Statement]) -> str | None:
    text: str | None = program
    for statement in statements:
        text = rewrite.retaining(text, statement) if text is not None else None
    return text


def writing_lines(run: ProgramRun) -> list[int]:
    """Lines that raised the counter of a stale slot after it was saved, or that wrote into an overwritten one."""
    found: dict[int, None] = {}
    for slot in run.culprits:
        for bump in run.bumps:
            if bump.counter == slot.counter and bump.before >= slot.version_saved and slot.state == "stale":
                found[bump.line] = None
        if slot.state == "overwritten":
            found[overwriting_line(run, slot)] = None
    return sorted(found)


def keeps_leaves(first: ProgramRun, second: ProgramRun) -> bool:
    """Whether every leaf that requires grad still is one: a correction must not lose a gradient."""
    leaves = {state.name for state in first.steps[-1].tensors if state.is_leaf and state.requires_grad}
    return leaves <= {state.name for state in second.steps[-1].tensors if state.is_leaf and state.requires_grad}


def changed_lines(before: str, after: str) -> tuple[int, ...]:
    """Numbers of the lines of `after` that are not in `before` at their place."""
    from difflib import SequenceMatcher

    old, new = lines_of(before), lines_of(after)
    blocks = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    return tuple(line + 1 for tag, _, _, low, high in blocks if tag != "equal" for line in range(low, high))
