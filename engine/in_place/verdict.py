"""What became of a program, from what PyTorch said and from what its nodes hold."""

from __future__ import annotations

from collections.abc import Collection

from engine.in_place.results import REFUSED, ProgramRun, SavedSlot, Verdict
from engine.pytorch_said import PyTorchSaid

MODIFIED = "has been modified by an inplace operation"


def verdict_of(
    error: PyTorchSaid | None,
    in_backward: bool,
    probe: PyTorchSaid | None,
    agrees: bool,
) -> Verdict:
    """`agrees` tells whether the gradients are those of a run with a copy of every saved tensor."""
    if error is not None and error.type == REFUSED:
        return "refused"
    if error is not None:
        return "breaks backward" if in_backward and MODIFIED in error.message else "raises"
    if probe is not None:
        return "would break backward"
    return "runs" if agrees else "wrong gradient"


def breaking(verdict: Verdict, reached: Collection[SavedSlot]) -> tuple[SavedSlot, ...]:
    """The slots that the verdict is about."""
    wanted = {"breaks backward": "stale", "would break backward": "stale", "wrong gradient": "overwritten"}
    state = wanted.get(verdict)
    return tuple(slot for slot in reached if slot.state == state)


def overwriting_line(run: ProgramRun, slot: SavedSlot) -> int:
    """The line after which a slot first held other values than it was saved with."""
    for step in run.steps:
        if any((one.node, one.slot, one.state) == (slot.node, slot.slot, "overwritten") for one in step.saved):
            return step.line
    return run.steps[-1].line
