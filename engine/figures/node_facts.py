"""What there is to tell about one node, in words: for files that are read without the app."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import msgspec

from engine.figures.fold import is_leaf
from engine.figures.units import format_bytes, format_exact_bytes, format_shape, format_significant
from engine.graph.spec import Edge, Leaf, Node, Saved, Source, TensorMetadata

LONGEST = 2000
"""Letters kept of any one text; hostile names reach 100,000."""
LISTED = 100
"""Edges of one node that are told, in each direction."""
SLOT_COLUMNS = ("slot", "shape", "dtype", "bytes", "which tensor", "storage", "version", "state")


class NodeFacts(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One node. `lines` are sentences, `saved` rows of `SLOT_COLUMNS`, `attributes` names and values.

    `next` are slot, words and node id (-1 for none) of where its gradients go, `users` words and ids of where its own
    gradient comes from, `more_users` how many are not listed.
    """

    id: int
    name: str
    kind: str
    address: str
    lines: tuple[str, ...]
    source: str
    saved: tuple[tuple[str, ...], ...]
    inputs: tuple[str, ...]
    attributes: tuple[tuple[str, str], ...]
    next: tuple[tuple[int, str, int], ...]
    users: tuple[tuple[str, int], ...]
    more_users: int


def node_facts(
    node: Node,
    address: str,
    out: Sequence[Edge],
    users: Sequence[int],
    names: Mapping[int, str],
    leaves: Mapping[str, Leaf],
) -> NodeFacts:
    """`out` are the node's edges, `users` ids of nodes with an edge to it, `names` words for all of these ids."""
    return NodeFacts(
        id=node.id,
        name=cut(node.name),
        kind=node.kind.replace("_", " "),
        address=cut(address),
        lines=tuple(_lines(node, leaves)),
        source=cut(source_words(node.source)) if node.source else "",
        saved=tuple(slot_words(slot) for slot in node.saved[:LISTED]),
        inputs=tuple(input_words(number, metadata) for number, metadata in enumerate(node.inputs[:LISTED])),
        attributes=tuple((cut(one.name), cut(one.value or one.unavailable)) for one in node.attributes[:LISTED]),
        next=tuple(_next(edge, names) for edge in out[:LISTED]),
        users=tuple((cut(names[user]), user) for user in users[:LISTED]),
        more_users=max(0, len(users) - LISTED),
    )


def cut(text: str) -> str:
    """`text`, or its first letters and how many more there were."""
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}… and {len(text) - LONGEST} more letters"


def node_word(node: Node) -> str:
    """A node as others name it: "ReluBackward0 (id 3)", "AccumulateGrad of weight (id 5)"."""
    name = f"AccumulateGrad of {node.variable}" if is_leaf(node) and node.variable else node.name
    return f"{name} (id {node.id})"


def owner_words(slot: Saved) -> str:
    """Which tensor a slot holds; the node that made it is named as `node_word` does."""
    owner = slot.owner or slot.owner_kind
    return re.sub(r" #(\d+)$", r" (id \1)", owner) if slot.owner_kind == "intermediate" else owner


def source_words(source: Source) -> str:
    """File, line and function, then the line itself."""
    return f"{source.file}:{source.line} in {source.function}\n{source.text}"


def _lines(node: Node, leaves: Mapping[str, Leaf]) -> list[str]:
    lines = [f"module {node.module}" if node.module else "outside of modules"]
    lines += [f"sequence_nr {node.sequence_nr}"] if node.sequence_nr is not None else []
    if node.variable:
        lines.append(f"accumulates into {node.variable}.grad")
        leaf = leaves.get(node.variable)
        if leaf is not None:
            known = leaf.grad_norm is not None
            lines.append(f"gradient norm {format_significant(leaf.grad_norm or 0.0)}" if known else leaf.explanation)
    return [cut(line) for line in (*lines, *(f"hook {hook}" for hook in node.hooks)) if line]


def slot_words(slot: Saved) -> tuple[str, ...]:
    """A saved slot as one row of `SLOT_COLUMNS`."""
    known = not slot.dropped and not slot.unavailable
    size = format_bytes(slot.bytes) if known else ""
    return (
        cut(slot.name),
        format_shape(slot.shape) if known or slot.shape is not None else "",
        slot.dtype.removeprefix("torch."),
        size if slot.bytes < 1024 or not known else f"{size} ({format_exact_bytes(slot.bytes)})",
        cut(owner_words(slot)),
        "" if slot.storage_id is None else str(slot.storage_id),
        slot_version(slot),
        slot_state(slot),
    )


def slot_version(slot: Saved) -> str:
    """The version counter now, and the one when it was saved where that differs."""
    if slot.version_now is None:
        return ""
    if slot.version_saved is None or slot.version_saved == slot.version_now:
        return str(slot.version_now)
    return f"saved at {slot.version_saved}, now {slot.version_now}"


def slot_state(slot: Saved) -> str:
    """Whether the slot can still be read, and as it was saved."""
    if slot.dropped:
        return "dropped by checkpoint"
    if slot.unavailable:
        return cut(slot.unavailable)
    modified = slot.version_saved is not None and slot.version_saved != slot.version_now
    return "modified in place" if modified else "kept"


def input_words(number: int, metadata: TensorMetadata) -> str:
    """An incoming gradient in words."""
    return f"#{number}: {format_shape(metadata.shape)} {metadata.dtype.removeprefix('torch.')} on {metadata.device}"


def _next(edge: Edge, names: Mapping[int, str]) -> tuple[int, str, int]:
    if edge.target is None:
        return (edge.output_nr, edge_words(edge, ""), -1)
    return (edge.output_nr, edge_words(edge, names[edge.target]), edge.target)


def edge_words(edge: Edge, target: str) -> str:
    """Where a gradient goes; `target` is the `node_word` of the node it goes to."""
    if edge.target is None:
        return "None: a constant, or needs no gradient"
    return f"{cut(target)}, its output {edge.input_nr}"
