"""The policies one can choose by name for a model of any depth, and the reader's own."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import get_args

import streamlit as st

from engine.checkpointing.policy import Kind, Policy
from engine.checkpointing.standard import ARTICLE_K, matrix_operations, square_root_groups, square_root_segments
from engine.models.spec import ModelSpec, block_count
from pages.shared.fields import LONGEST_TEXT, common_arguments, draw_field, field_value

MATMULS = ("aten.addmm.default", "aten.mm.default")
ROOT_GROUPS = "√n groups, the last too"
EVERY_5TH, ROOT, TWO, EACH = "every 5th block", "√n segments", "2 segments", "each block"
REENTRANT, KEEP_MATMULS = "each block, reentrant", "each block, keep matmuls"
ON_CPU, ON_DISK = "save_on_cpu", "saved to disk"
MENU: dict[str, Callable[[ModelSpec], Policy | None]] = {
    EVERY_5TH: lambda model: Policy(kind="every_k", k=ARTICLE_K),
    ROOT: lambda model: square_root_segments(_blocks(model)),
    ROOT_GROUPS: lambda model: square_root_groups(_blocks(model)) if _blocks(model) > 1 else None,
    TWO: lambda model: Policy(kind="segments", segments=2),
    EACH: lambda model: Policy(kind="each_block"),
    REENTRANT: lambda model: Policy(kind="each_block", use_reentrant=True),
    KEEP_MATMULS: lambda model: _selective(model),
    ON_CPU: lambda model: Policy(kind="save_on_cpu"),
    ON_DISK: lambda model: Policy(kind="save_on_disk"),
}
"""Name -> the policy for a model; None where it has no such operations."""
DEFAULT = (EVERY_5TH, ROOT, EACH, KEEP_MATMULS, ON_CPU)
CHOSEN, OWN = "policies.which", "policies.own"
KIND, GROUPS, KEEP = "policies.kind", "policies.groups", "policies.keep"
KINDS = tuple(kind for kind in get_args(Kind) if kind != "off")
NUMBERS = ("k", "segments")
TOGGLES = ("use_reentrant", "preserve_rng_state")
USES = {
    "every_k": ("k", *TOGGLES),
    "segments": ("segments", *TOGGLES),
    "each_block": TOGGLES,
    "groups": ("groups", *TOGGLES),
    "selective": ("keep", "preserve_rng_state"),
}
"""Kind -> fields that change something."""
KNOWN = "policies.operations"
_OVERLOAD = re.compile(r"\w+\.\w+\.\w+", re.ASCII)
_RUN = re.compile(r"(\d{1,4})(?:-(\d{1,4}))?", re.ASCII)


def _blocks(model: ModelSpec) -> int:
    return block_count(model.architecture)


def _selective(model: ModelSpec) -> Policy | None:
    keep = matrix_operations(model)
    return Policy(kind="selective", keep=keep) if keep else None


def draw_menu() -> None:
    """Which policies stand beside off, and one of the reader's own."""
    st.multiselect(
        "Policies beside off", list(MENU), default=list(DEFAULT), **common_arguments(CHOSEN, "off is always there")
    )


def draw_own() -> None:
    """The fields of one policy, where it is asked for."""
    st.toggle("Add one of your own", **common_arguments(OWN, ""))
    st.selectbox("kind", KINDS, index=KINDS.index("each_block"), **common_arguments(KIND, ""))
    used = USES.get(_kind(), ())
    for name in NUMBERS:
        if name in used:
            draw_field(Policy, name, f"policies.{name}")
    if "groups" in used:
        arguments = common_arguments(GROUPS, "Runs of blocks, each one checkpoint, as in 0-3 4-7")
        st.text_input("groups", value="0-1", **arguments)
    if "keep" in used:
        known = [*dict.fromkeys((*st.session_state.get(KNOWN, ()), *MATMULS))]
        arguments = common_arguments(KEEP, "Outputs of these are kept; everything else of a block is run again")
        st.multiselect("keep", known, default=[MATMULS[0]], accept_new_options=True, **arguments)
    for name in TOGGLES:
        if name in used:
            draw_field(Policy, name, f"policies.{name}")


def chosen_policies(model: ModelSpec) -> tuple[Policy, ...]:
    """Off, then what the controls name; without blocks only what needs none."""
    asked = [MENU[name](model) for name in st.session_state.get(CHOSEN, DEFAULT) if name in MENU]
    named = [one for one in asked if one is not None]
    if st.session_state.get(OWN):
        named.append(own_policy(_blocks(model)))
    fitting = [one for one in named if _blocks(model) or not one.is_checkpoint]
    return tuple(dict.fromkeys((Policy(), *fitting)))


def own_policy(blocks: int) -> Policy:
    """What the reader put together; fields that its kind does not use stay at their defaults.

    ValueError, in the notation of the fields, for groups and operations that are none.
    """
    kind = _kind()
    used = USES.get(kind, ())
    values = {name: field_value(Policy, name, f"policies.{name}") for name in (*NUMBERS, *TOGGLES) if name in used}
    if "groups" in used:
        values["groups"] = parse_groups(str(st.session_state.get(GROUPS, "0-1")))
        if not values["groups"] or (blocks and values["groups"][-1][1] > blocks):
            received = groups_text(values["groups"][-1:]) or "none"
            raise ValueError(
                f"groups takes runs of the blocks 0 to {max(0, blocks - 1)}, one at least; received {received}. "
                f"Write it as 0-{max(0, blocks - 1)}."
            )
    if "keep" in used:
        values["keep"] = tuple(map(str, st.session_state.get(KEEP, [MATMULS[0]])))
        for name in values["keep"]:
            check_overload(name)
    return Policy(kind=kind, **values)


def parse_groups(text: str) -> tuple[tuple[int, int], ...]:
    """ "0-3 4-7" as ((0, 4), (4, 8)); ValueError in words."""
    if len(text) > LONGEST_TEXT:
        raise ValueError(f"groups takes at most {LONGEST_TEXT} characters; received {len(text)}. Write it as 0-3 4-7.")
    found: list[tuple[int, int]] = []
    for word in text.replace(",", " ").split():
        match = _RUN.fullmatch(word)
        if match is None:
            raise ValueError(f"groups takes runs of block numbers; received {word[:40]!r}. Write it as 0-3 4-7.")
        first, after = int(match[1]), int(match[2] or match[1]) + 1
        if after <= first:
            raise ValueError(f"groups: {word} runs backwards; received {text[:40]!r}. Write it as 0-3 4-7.")
        if found and first < found[-1][1]:
            raise ValueError(
                f"groups: {word} begins before {groups_text((found[-1],))} has ended; received {text[:40]!r}. "
                f"Write them in order, without overlap, as 0-3 4-7."
            )
        found.append((first, after))
    return tuple(found)


def check_overload(name: str) -> None:
    """ValueError for what is not written as "aten.addmm.default"."""
    if _OVERLOAD.fullmatch(name) is None:
        raise ValueError(f"keep: received {name[:40]!r}, no operator overload. Write it as aten.addmm.default.")


def groups_text(groups: tuple[tuple[int, int], ...]) -> str:
    """As it stands in the field."""
    return " ".join(f"{first}-{after - 1}" for first, after in groups)


def menu_values(names: tuple[str, ...], own: Policy | None = None) -> dict[str, object]:
    """Widget key -> value that makes the controls name these."""
    values: dict[str, object] = {CHOSEN: list(names), OWN: own is not None}
    if own is None:
        return values
    values[KIND] = own.kind
    for name in USES.get(own.kind, ()):
        values[f"policies.{name}"] = {"groups": groups_text(own.groups), "keep": list(own.keep)}.get(
            name, getattr(own, name)
        )
    return values


def _kind() -> Kind:
    found = st.session_state.get(KIND, "each_block")
    return found if found in KINDS else "each_block"
