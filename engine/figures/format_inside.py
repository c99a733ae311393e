"""Copies inside kernels in sentences: how many bytes, and what each was copied for, operation by operation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from engine.figures.units import format_bytes
from engine.memory_format.spec import Converted, FormatSpec, FormatTrace, KernelCopy, Operation, Phase

Cause = Literal["image", "weight", "unknown"]

CAUSES: dict[Cause, str] = {
    "image": "contiguous images beside channels_last weights",
    "weight": "contiguous weights beside channels_last images",
    "unknown": "copies that no difference between image and weight asks for",
}
SPARED_BY: dict[tuple[Cause, Converted], str] = {
    ("image", "model only"): ", spared by converting the inputs too",
    ("weight", "inputs only"): ", spared by converting the model too",
}
"""What would change it, said only of copies whose own operation shows that cause."""
NAMED = 3
"""Modules named in a sentence."""
Inside = list[tuple[Operation, KernelCopy]]


def cause_of(operation: Operation, copy: KernelCopy) -> Cause:
    """What a reorder is for, from the operation's own inputs: the copied one and a 4-D one of the other kind differ.

    "image" and "weight" say which of the two was copied, to lie as the other.
    """
    if copy.input < 0:
        return "unknown"
    read = operation.inputs[copy.input]
    others = {t.format for t in operation.inputs if t.is_parameter != read.is_parameter}
    if read.format != "contiguous" or "channels_last" not in others:
        return "unknown"
    return "weight" if read.is_parameter else "image"


def reorders_by_cause(trace: FormatTrace, phase: Phase) -> dict[Cause, Inside]:
    """What kernels of a phase reorder, by cause; causes that do not occur are left out."""
    found = _copies(trace, phase, "reorder")
    return {cause: of for cause in CAUSES if (of := [one for one in found if cause_of(*one) == cause])}


def sentences_inside(spec: FormatSpec, trace: FormatTrace, phase: Phase) -> Iterator[str]:
    """What kernels of a phase copy inside, one sentence per cause, casts apart; none where they copy nothing."""
    for cause, of in reorders_by_cause(trace, phase).items():
        spared = SPARED_BY.get((cause, spec.converted), "")
        yield f"Kernels reorder {_amount(of)} inside: {CAUSES[cause]}{spared} ({_places(of)})."
    if casts := _copies(trace, phase, "cast"):
        kinds = ", ".join(dict.fromkeys(f"{copy.source_dtype} to {copy.target_dtype}" for _, copy in casts))
        yield f"Kernels also cast {_amount(casts)} from {kinds} ({_places(casts)}): no memory format changes that."


def _copies(trace: FormatTrace, phase: Phase, kind: str) -> Inside:
    return [(op, copy) for op in trace.operations if op.phase == phase for copy in op.inside if copy.kind == kind]


def _bytes(copies: Inside) -> int:
    return sum(copy.copied_bytes for _, copy in copies)


def _amount(copies: Inside) -> str:
    return format_bytes(_bytes(copies))


def _places(copies: Inside) -> str:
    """ "`aten::convolution` in `stem`, `blocks.0.conv`"."""
    names = ", ".join(dict.fromkeys(f"`{op.name}`" for op, _ in copies))
    modules = list(dict.fromkeys(op.module for op, _ in copies if op.module))
    more = f" and {len(modules) - NAMED} more" if len(modules) > NAMED else ""
    return f"{names} in {', '.join(f'`{module}`' for module in modules[:NAMED])}{more}" if modules else names
