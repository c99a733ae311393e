"""A run under autocast as steps along a line: the dtype each came in and went out with, its casts, what it keeps."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import groupby

import msgspec

from engine.figures.units import format_bytes, format_shape
from engine.mixed_precision.results import Call, Cast, Operation
from engine.mixed_precision.spec import AutocastMap

FLOATING = ("complex128", "complex64", "float64", "float32", "float16", "bfloat16", "complex32")
"""From wide to narrow: the order of the lanes."""
MOST_STEPS = 90
"""Steps that can still be told apart; with more the track is folded by module."""
FEWEST_STEPS, MOST_IN_A_STRIP = 12, 400
"""One module with hundreds of calls folds into next to nothing: those stay apart, as a strip, while that has room."""


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One call, one node of backward, or a module's calls folded into one.

    `ran` counts calls by the dtype they gave; `weights` are (cast here, read from the cache); bytes are saved ones.
    """

    label: str
    module: str
    phase: str
    came_in: str
    ran: tuple[tuple[str, int], ...]
    weight_casts: int = 0
    cache_reads: int = 0
    casts: tuple[tuple[str, str], ...] = ()
    """(from, to) of every cast of an activation or gradient."""
    output_bytes: int = 0
    weight_copy_bytes: int = 0
    activation_copy_bytes: int = 0
    policy: str = ""
    calls: int = 1
    shape: tuple[int, ...] = ()

    @property
    def went_out(self) -> str:
        """The dtype of the last call."""
        return self.ran[-1][0]

    @property
    def saved_bytes(self) -> int:
        """New bytes that backward keeps of this step."""
        return self.output_bytes + self.weight_copy_bytes + self.activation_copy_bytes


class Track(msgspec.Struct, frozen=True):
    """Steps in order, the dtypes that occur (wide first), and what was left out."""

    steps: tuple[Step, ...]
    lanes: tuple[str, ...]
    folded: bool
    views: int


def track_of(found: AutocastMap, low: str, *, backward: bool = False, fold: bool | None = None) -> Track:
    """The steps of a run; `fold` by module, None where that is needed to tell them apart.

    Calls that only look at memory another way (views), and those without a floating point result, are left out.
    """
    every, views = _forward_steps(found)
    if backward:
        every += _backward_steps(found)
    steps = _folded(every) if fold or (fold is None and len(every) > MOST_STEPS) else every
    if fold is None and len(steps) < FEWEST_STEPS < len(every) <= MOST_IN_A_STRIP:
        steps = every
    folded = len(steps) < len(every)
    present = {dtype for step in steps for dtype, _ in step.ran} | {step.came_in for step in steps} | {"float32", low}
    return Track(tuple(steps), tuple(one for one in FLOATING if one in present), folded, views)


def _forward_steps(found: AutocastMap) -> tuple[list[Step], int]:
    members: dict[int, list[Operation]] = defaultdict(list)
    for operation in found.operations:
        if operation.call >= 0:
            members[operation.call].append(operation)
    casts: dict[int, list[Cast]] = defaultdict(list)
    for cast in found.casts:
        casts[found.operations[cast.operation].call].append(cast)
    steps, views = [], 0
    for call in found.calls:
        own = members[call.number]
        out = _floating(reversed([dtype for one in own for dtype in one.outputs]))
        if all(one.is_view for one in own):
            views += 1
        elif out and call.phase != "backward":
            steps.append(_call_step(call, own, casts[call.number], _floating(call.outputs) or out))
    return steps, views


def _call_step(call: Call, own: Sequence[Operation], casts: Sequence[Cast], out: str) -> Step:
    weights = [cast for cast in casts if cast.kind == "weight" and cast.by == "autocast"]
    others = [cast for cast in casts if not (cast.kind == "weight" and cast.by == "autocast")]
    saved = {one.number: one.saved_bytes for one in own}
    copies = {cast.operation for cast in casts}
    changed = sum(a != b for a, b in call.changes)
    asked = sum(cast.by == "autocast" for cast in casts)
    return Step(
        label=call.name.rpartition("::")[2],
        module=call.module,
        phase=call.phase,
        came_in=_floating(call.came_in) or out,
        ran=((out, 1),),
        weight_casts=len(weights),
        cache_reads=max(0, changed - asked),
        casts=tuple((cast.source, cast.target) for cast in others),
        output_bytes=sum(size for number, size in saved.items() if number not in copies),
        weight_copy_bytes=_saved_copies(weights, saved),
        activation_copy_bytes=_saved_copies(others, saved),
        policy=call.policy,
        shape=own[-1].shape,
    )


def _saved_copies(casts: Iterable[Cast], saved: dict[int, int]) -> int:
    return sum(saved.get(cast.operation, 0) for cast in casts)


def _backward_steps(found: AutocastMap) -> list[Step]:
    steps = []
    operations = [one for one in found.operations if one.phase == "backward" and one.node]
    for node, group in groupby(operations, lambda one: (one.node, one.module)):
        own = [one for one in group if not one.is_view]
        out = _floating(reversed([dtype for one in own for dtype in one.outputs]))
        if out:
            steps.append(
                Step(
                    label=node[0].rpartition("::")[2],
                    module=node[1],
                    phase="backward",
                    came_in=_floating(own[0].inputs) or out,
                    ran=((out, 1),),
                    casts=tuple((one.inputs[0], one.outputs[0]) for one in own if one.cast_by),
                    policy="backward",
                    shape=own[-1].shape,
                )
            )
    return steps


def _floating(dtypes: Iterable[str]) -> str:
    return next((one for one in dtypes if one in FLOATING), "")


def _folded(steps: Sequence[Step]) -> list[Step]:
    """Neighbours of one module together: as deep as the steps can still be told apart."""
    deepest = max((len(step.module.split(".")) for step in steps), default=1)
    folded = _folded_at(steps, deepest)
    for depth in range(deepest - 1, -1, -1):
        if len(folded) <= MOST_STEPS:
            break
        folded = _folded_at(steps, depth)
    return folded


def _folded_at(steps: Sequence[Step], depth: int) -> list[Step]:
    return [_together(list(group), depth) for _, group in groupby(steps, lambda one: _place(one, depth))]


def _place(step: Step, depth: int) -> tuple[str, str]:
    return step.phase, ".".join(step.module.split(".")[:depth])


def _together(group: Sequence[Step], depth: int) -> Step:
    if len(group) == 1:
        return group[0]
    ran = Counter(step.went_out for step in group)
    last = group[-1].went_out
    ordered = [(dtype, count) for dtype, count in ran.items() if dtype != last]
    return Step(
        label=f"{len(group)} calls",
        module=_place(group[0], depth)[1],
        phase=group[0].phase,
        came_in=group[0].came_in,
        ran=(*ordered, (last, ran[last])),
        weight_casts=sum(step.weight_casts for step in group),
        cache_reads=sum(step.cache_reads for step in group),
        casts=tuple(pair for step in group for pair in step.casts),
        output_bytes=sum(step.output_bytes for step in group),
        weight_copy_bytes=sum(step.weight_copy_bytes for step in group),
        activation_copy_bytes=sum(step.activation_copy_bytes for step in group),
        calls=len(group),
    )


def step_words(step: Step) -> tuple[str, ...]:
    """What a step says of itself, a line each; plain text."""
    where = f" in {step.module}" if step.module else ""
    ran = ", ".join(f"{count} gave {dtype}" for dtype, count in step.ran) if step.calls > 1 else step.went_out
    lines = [f"{step.label}{where}, {step.phase}", f"{step.came_in} came in, {ran}"]
    if step.policy and step.policy != "backward":
        lines.append({"not registered": "autocast does not know it"}.get(step.policy, f"autocast: {step.policy}"))
    if step.weight_casts:
        lines.append(f"{step.weight_casts} weights cast")
    if step.cache_reads:
        lines.append(f"{step.cache_reads} casts saved by the cache")
    lines += [f"{count} × {a} → {b}" for (a, b), count in Counter(step.casts).items()]
    if step.shape:
        lines.append(f"result {format_shape(step.shape)}")
    parts = (
        (step.output_bytes, "results"),
        (step.activation_copy_bytes, "copies of activations"),
        (step.weight_copy_bytes, "copies of weights"),
    )
    kept = [f"{format_bytes(size)} of {what}" for size, what in parts if size]
    return (*lines, *(["kept for backward: " + ", ".join(kept)] if kept else []))


def module_bands(track: Track) -> list[tuple[int, int, str]]:
    """(first step, after the last, name) of neighbours with the same module, or phase where they have none."""
    names = [(step.phase, band_of(step.module)) for step in track.steps]
    runs = [(name, len(list(group))) for name, group in groupby(names)]
    # Where every block is a single step, its name has no room and stands below it anyway: then all of them together.
    wide = {_first(name) for name, count in runs if count > 1}
    bands, start = [], 0
    for name, group in groupby(names, lambda name: name if _first(name) in wide else _first(name)):
        count = len(list(group))
        bands.append((start, start + count, name[1] or name[0]))
        start += count
    return bands


def _first(name: tuple[str, str]) -> tuple[str, str]:
    return name[0], name[1].partition(".")[0]


def step_name(step: Step) -> str:
    """What stands below a step: its operator, or of a folded one the module within its band."""
    if step.calls == 1 or not step.module:
        return step.label
    return step.module.removeprefix(f"{band_of(step.module)}.")


def band_of(module: str) -> str:
    """The part of the path that names a block: up to its first number, as blocks.0."""
    parts = module.split(".")
    number = next((place for place, part in enumerate(parts) if part.isdigit()), 0)
    return ".".join(parts[: number + 1])
