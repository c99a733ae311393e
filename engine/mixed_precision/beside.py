"""Operations of a run under autocast, each beside the same of the plain run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from engine.mixed_precision.calls import Attributed, Leaves
from engine.mixed_precision.recorder import Recorder, Seen
from engine.mixed_precision.results import Operation
from engine.mixed_precision.saved import Slots

Place = tuple[str, str, str, str]
"""Phase, module, autograd node and operator: where an operation belongs in either run."""


def beside_plain(
    run: Recorder, found: Attributed, plain: Recorder, slots: Slots, leaves: Leaves
) -> tuple[Operation, ...]:
    """The operations in order; casts are in one run only, the others meet by place: first with first, and so on."""
    waiting: dict[Place, list[Seen]] = defaultdict(list)
    for one, module in zip(plain.seen, _modules(plain), strict=True):
        waiting[_place(one, module)].append(one)
    for those in waiting.values():
        those.reverse()
    rows, counted = [], set(leaves)
    for one, module in zip(run.seen, _modules(run), strict=True):
        same = waiting[_place(one, module)]
        rows.append(
            _row(one, module, found, same.pop() if same and not one.is_cast else None, _saved(one, slots, counted))
        )
    return tuple(rows)


def _modules(recorder: Recorder) -> Sequence[str]:
    """Of every operation; one in backward belongs where the forward made its node."""
    return [
        recorder.recording.place_of(one.node_number)[0] if one.node_number is not None else one.module
        for one in recorder.seen
    ]


def _place(one: Seen, module: str) -> Place:
    return one.phase, module, one.node, one.name


def _row(one: Seen, module: str, found: Attributed, plain: Seen | None, saved_bytes: int) -> Operation:
    return Operation(
        number=one.number,
        phase=one.phase,
        name=one.name,
        call=found.call_of[one.number],
        module=module,
        node=one.node,
        inputs=one.inputs,
        outputs=one.outputs,
        plain_inputs=None if plain is None else plain.inputs,
        plain_outputs=None if plain is None else plain.outputs,
        output_bytes=one.output_bytes,
        shape=one.shape,
        is_view=one.is_view,
        cast_by=found.cast_by[one.number],  # type: ignore[arg-type]
        saved_bytes=saved_bytes,
    )


def _saved(one: Seen, slots: Slots, counted: set[int]) -> int:
    """Bytes of the storages that this operation made and that a slot keeps; each counts where it was made."""
    if one.phase == "backward" or one.is_view:
        return 0
    new = {key: size for key, size in zip(one.output_storages, one.output_sizes, strict=True) if key not in counted}
    counted.update(new)
    return sum(size for key, size in new.items() if key in slots)
