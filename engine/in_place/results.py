"""What comes back of a program: every live tensor after every statement, what nodes saved, who wrote, what broke."""

from __future__ import annotations

from typing import Literal

import msgspec

from engine.graph.spec import Graph
from engine.pytorch_said import PyTorchSaid
from engine.runner.contract import Array

Verdict = Literal["runs", "raises", "refused", "breaks backward", "would break backward", "wrong gradient"]
"""Of a whole program.

"raises": a statement itself; "refused": this project did not run a statement, for its size; "breaks backward": backward
met a saved tensor of another version; "would break": so it would from a name that is alive at the end, but the program
does not call it; "wrong gradient": another one than with a copy of every saved tensor, because a saved tensor was
overwritten while its version counter stood still.
"""
REFUSED = "Not run by this page"
"""The type of an error that is this project's refusal and no word of PyTorch."""
SlotState = Literal["fresh", "stale", "overwritten", "freed", "unreadable"]


class Storage(msgspec.Struct, frozen=True):
    """Memory that tensors share: a lane of the picture. `counters` are the version counters of tensors in it."""

    name: str
    nbytes: int
    made_at: int
    counters: tuple[int, ...]


class State(msgspec.Struct, frozen=True, kw_only=True):
    """One named tensor after one statement.

    `storage` and `counter` are numbers into `ProgramRun.storages` and of counters (counter -1 for an inference tensor,
    which has none). `grad_fn` is a name; where PyTorch refuses to tell it, `unavailable` is its text. `base` names the
    tensor a view was taken of, "a tensor without a name" when no name holds it, "" for what is no view. `offset_bytes`
    is `data_ptr()` counted from the start of the storage.
    """

    name: str
    storage: int
    counter: int
    version: int | None
    offset_bytes: int
    is_leaf: bool | None
    requires_grad: bool
    grad_fn: str
    unavailable: str
    is_view: bool
    base: str
    shape: tuple[int, ...]
    dtype: str
    values: Array | None
    grad: Array | None
    has_grad: bool
    retains_grad: bool
    is_inference: bool


class SavedSlot(msgspec.Struct, frozen=True, kw_only=True):
    """One tensor that one node keeps for backward, as seen after one statement; `storage` -1 when it is freed."""

    node: int
    slot: str
    storage: int
    counter: int
    version_saved: int
    version_now: int
    state: SlotState


class NodeMade(msgspec.Struct, frozen=True):
    """A node of the graph: number through the whole run, name, and the line after which it was first there."""

    number: int
    name: str
    made_at: int


class Bump(msgspec.Struct, frozen=True):
    """A call that raised a version counter: line, call, name of the tensor, counter, before and after."""

    line: int
    call: str
    name: str
    counter: int
    before: int
    after: int


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One statement and the state after it; `graph` is a number into `ProgramRun.graphs`, -1 when nothing has one."""

    line: int
    text: str
    modes: tuple[str, ...]
    is_backward: bool
    error: PyTorchSaid | None
    tensors: tuple[State, ...]
    saved: tuple[SavedSlot, ...]
    bumps: tuple[Bump, ...]
    graph: int
    warnings: tuple[str, ...] = ()


class Passed(msgspec.Struct, frozen=True):
    """What a CopySlices node received and passed on to the base as it was, in the backward of a line."""

    node: int
    line: int
    received: Array | None
    passed: Array | None


class ProgramRun(msgspec.Struct, frozen=True, kw_only=True):
    """Every statement that ran; the last one holds the error when there is one.

    `culprits` are the stale or overwritten slots that the verdict is about, `raised_in` the name of the node whose
    backward had begun when PyTorch raised. After the last statement every name with a grad_fn is asked for a backward;
    `probe` is what PyTorch said when it refused one, `probed` that name (or the last one that was asked).
    """

    steps: tuple[Step, ...]
    statements: int
    storages: tuple[Storage, ...]
    nodes: tuple[NodeMade, ...]
    graphs: tuple[Graph, ...]
    verdict: Verdict
    error: PyTorchSaid | None
    culprits: tuple[SavedSlot, ...]
    raised_in: str = ""
    raised_in_node: int = -1
    probe: PyTorchSaid | None = None
    probed: str = ""
    passed: tuple[Passed, ...] = ()

    @property
    def bumps(self) -> tuple[Bump, ...]:
        return tuple(bump for step in self.steps for bump in step.bumps)


class Fix(msgspec.Struct, frozen=True, kw_only=True):
    """A corrected program: the rule in words, the text, its lines that differ, and its own run (without graphs).

    Its values and gradients are those of the first program with a copy of every saved tensor (reference.py);
    `same_values` is None when that one stops before its end as well, so that there is less to compare.
    """

    rule: str
    program: str
    changed: tuple[int, ...]
    run: ProgramRun
    same_values: bool | None


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """One program of a family: verdict, PyTorch's words, and what the tensor in question is at the end.

    `line` is where it raised (0 for nowhere), `gradients` (name, values) of every leaf that has one.
    """

    verdict: Verdict
    line: int
    error: PyTorchSaid | None
    states: tuple[State, ...]
    gradients: tuple[tuple[str, Array], ...]
    culprits: tuple[str, ...]


class Update(msgspec.Struct, frozen=True, kw_only=True):
    """One form of a gradient step: what it allocated per step, and what became of the parameters.

    Allocations and bytes are of new storages that a TorchDispatchMode saw in outputs; `peak_bytes` alive at once.
    Versions are of the first parameter before and after one step, taken outside of that mode.
    """

    name: str
    code: str
    allocations: float
    allocated_bytes: float
    peak_bytes: int
    keeps_data_ptr: bool
    keeps_tensor: bool
    is_leaf: bool
    version_before: int
    version_after: int
