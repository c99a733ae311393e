"""What a training step keeps for backward: a policy over the blocks of a model, without torch."""

from __future__ import annotations

import re
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from engine.runner.contract import check_ranges

Kind = Literal["off", "every_k", "segments", "each_block", "groups", "selective", "save_on_cpu", "save_on_disk"]
"""`every_k`, `segments` (torch's checkpoint_sequential: its last segment runs plainly) and `each_block` are those of
ModelSpec. `groups` checkpoints the runs of blocks it names, what a search finds. `selective` checkpoints each block but
keeps the outputs of the operations in `keep` (create_selective_checkpoint_contexts). `save_on_cpu` and `save_on_disk`
move saved tensors away by saved_tensors_hooks and recompute nothing.
"""

MOST_BLOCKS = 1000
MOST_KEPT = 40
_OVERLOAD = re.compile(r"\w+\.\w+\.\w+", re.ASCII)


class Policy(msgspec.Struct, frozen=True, kw_only=True):
    """One way to hold less between forward and backward."""

    kind: Kind = "off"
    k: Annotated[int, Meta(ge=1, le=500)] = 5
    segments: Annotated[int, Meta(ge=1, le=500)] = 2
    groups: tuple[tuple[int, int], ...] = ()
    """(first, after): blocks first..after-1 are one checkpoint; in order, without overlap."""
    keep: tuple[str, ...] = ()
    """Overloads as torch writes them: "aten.addmm.default"."""
    use_reentrant: bool = False
    preserve_rng_state: bool = True

    def __post_init__(self) -> None:
        check_ranges(self)
        _check_groups(self.groups)
        _check_kept(self.keep)

    @property
    def is_checkpoint(self) -> bool:
        return self.kind not in ("off", "save_on_cpu", "save_on_disk")


def _check_groups(groups: tuple[tuple[int, int], ...]) -> None:
    reached = 0
    for group in groups:
        if len(group) != 2 or not reached <= group[0] < group[1] <= MOST_BLOCKS:
            raise ValueError(
                f"Policy.groups must be runs (first, after) of blocks, in order and without overlap, within 0 to "
                f"{MOST_BLOCKS}; received {group!r} after {reached}. Write ((0, 4), (4, 8)) for two runs of four."
            )
        reached = group[1]


def _check_kept(keep: tuple[str, ...]) -> None:
    wrong = [name for name in keep if _OVERLOAD.fullmatch(name) is None]
    if wrong or len(keep) > MOST_KEPT:
        received = repr(wrong[0][:40]) if wrong else f"{len(keep)} names"
        raise ValueError(
            f"Policy.keep names at most {MOST_KEPT} operator overloads; received {received}. "
            f"Write them as torch does, as aten.addmm.default."
        )


def label_of(policy: Policy) -> str:
    """What a chart calls it; different policies have different labels."""
    kind = policy.kind
    named = {
        "off": "off",
        "every_k": f"every {_ordinal(policy.k)} block" if policy.k > 1 else "every block",
        "segments": f"{policy.segments} segments",
        "each_block": "each block",
        "groups": "groups " + " ".join(f"{first}-{after - 1}" for first, after in policy.groups),
        "selective": "each block, keep " + (", ".join(name.split(".")[1] for name in policy.keep) or "nothing"),
        "save_on_cpu": "save_on_cpu",
        "save_on_disk": "saved to disk",
    }[kind]
    if not policy.is_checkpoint:
        return named
    reentrant = ", reentrant" if policy.use_reentrant else ""
    return named + reentrant + ("" if policy.preserve_rng_state else ", rng not preserved")


def _ordinal(number: int) -> str:
    """ "2nd", "5th", "11th", "23rd"."""
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"
