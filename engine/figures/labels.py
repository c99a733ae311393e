"""The words in and beside every box, and the room they need."""

from __future__ import annotations

from copy import copy
from functools import cached_property

import numpy as np

from engine.figures.box_words import MAXIMUM, SMALL, Marker, Text, room_for, size_for, title_room
from engine.figures.fold import Folded, box_kind, is_leaf, leaf_kind, leaf_name, operation_name
from engine.figures.hierarchy import Item
from engine.figures.marking import Marking, counts_line
from engine.figures.members import Members
from engine.figures.slots import (
    dropped_line,
    empty_slots,
    modified_line,
    modified_slots,
    modified_tips,
    order_matters,
    saved_by,
    unused_line,
    unused_outputs,
)
from engine.figures.units import format_bytes, format_count, format_shape, shorten
from engine.graph.columns import Integers
from engine.graph.spec import Graph, Node

CHANGES = 2
"""Differences to run A told in a box; the rest is in its tooltip and details."""
HEADER_PRINT = 16
"""A frame has room for so many letters of small print in its header, twice, thrice ...: few words resize it."""
BOLD = 6
"""They are set in bold: one letter wider in so many."""


class Labels:
    """Words for the boxes of one folded graph; every box is worked out once."""

    def __init__(
        self, graph: Graph, folded: Folded, names: list[str], types: dict[str, str], marking: Marking | None = None
    ) -> None:
        self.graph, self.folded, self.names, self.types = graph, folded, names, types
        self.marking = marking or Marking(graph)
        self._texts: dict[tuple[str, bool, str], Text] = {}
        self.nodes = Members(graph, folded)
        self.around: dict[str, str] = {}
        """Path of the open frame around each visible box, by address."""
        self._outputs: dict[int, list[str]] = {}
        self._empty = empty_slots(graph)
        self._unused = unused_outputs(graph)
        self._modified = graph.modified_nodes
        for root in graph.roots:
            if root.node is not None:
                self._outputs.setdefault(root.node, []).append(root.name)

    def seen_from(self, around: dict[str, str]) -> Labels:
        """The same words, with module paths as seen from the open frame around each visible box."""
        found = copy(self)
        found.around = around
        return found

    def members(self, item: Item) -> tuple[int, ...]:
        """Node ids a box stands for: boxes inside, what they absorbed, and their leaves."""
        return tuple(self.nodes.of(item).tolist())

    @cached_property
    def differing(self) -> list[int]:
        """For every position of the forward order how many boxes before it differ from run A; empty without A."""
        return self.marking.before(self.nodes.by_position) if self.marking.compared else []

    def mark(self, item: Item) -> str:
        """How the box differs from run A ("added", "removed", "changed"); else "modified" or ""."""
        if item.first >= item.last:
            return ""
        ids = self.nodes.of(item)
        mark = self.marking.group(ids, item.path) if item.kids else self.marking.box(ids)
        if mark:
            return mark
        return "modified" if self._modified and not self._modified.isdisjoint(self.members(item)) else ""

    def text(self, item: Item, is_open: bool) -> Text:
        """The words of a box (closed) or frame (open)."""
        key = (item.address, is_open, self.around.get(item.address, ""))
        if key not in self._texts:
            self._texts[key] = self._group(item, is_open) if item.children else self._node(item)
        return self._texts[key]

    def _node(self, item: Item) -> Text:
        if item.node in self.folded.copies:
            return self._leaf_box(self.graph.nodes[self.folded.copies[item.node]])
        node = self.graph.nodes[item.node]
        if is_leaf(node):
            return self._leaf_box(node)
        absorbed = [self.graph.nodes[i] for i in self.folded.absorbed.get(node.id, ())]
        saved, dropped = saved_by([node, *absorbed])
        shape = format_shape(node.inputs[0].shape) if node.inputs else ""
        held = f"saves {format_bytes(saved)}" if saved else dropped_line(dropped) if dropped else ""
        facts = [fact for fact in (shape, held) if fact]
        path = relative(node.module, self.around.get(item.address, ""))
        lines = [shorten(path, 34)] if path else []
        lines += [" · ".join(facts)] if facts else []
        lines += [dropped_line(dropped)] if dropped and saved else []
        modified = len(modified_slots([node, *absorbed]))
        lines += [modified_line(modified)] if modified else []
        lines += [unused_line(self._unused[node.id])] if node.id in self._unused else []
        told = [shorten(word, 34) for word in self.marking.words(self.members(item))[:CHANGES]]
        leaves = self._markers(node)
        outputs = tuple(shorten(name, 40) for name in self._outputs.get(node.id, ()))
        title = shorten(operation_name(node.name), 30)
        return Text(
            title=title,
            kind="removed" if self.marking.is_ghost(node.id) else box_kind(node),
            lines=(*lines, *told),
            leaves=leaves,
            saved_bytes=saved,
            dropped=dropped,
            outputs=outputs,
            empty=self._empty.get(node.id, ()),
            tooltip=self._tooltip(node, absorbed, saved),
            size=size_for(title, [*lines, *(f"{word}{' ' * (len(word) // BOLD)}" for word in told)], leaves, outputs),
        )

    def _tooltip(self, node: Node, absorbed: list[Node], saved: int) -> tuple[str, ...]:
        lines = [*self.marking.gone([node.id]), shorten(node.name, 80)]
        lines += [f"in {shorten(node.module, 80)}"] if node.module else []
        lines += [f"output {i}: {_tensor(m.shape, m.dtype)}" for i, m in enumerate(node.inputs[:4])]
        lines += [f"saves {format_bytes(saved)} in {len(node.saved)} slots"] if node.saved else []
        lines += [f"empty slots: {', '.join(map(str, self._empty[node.id][:8]))}"] if node.id in self._empty else []
        lines += modified_tips([node, *absorbed])
        lines += [f"folded in: {', '.join(operation_name(n.name) for n in absorbed[:6])}"] if absorbed else []
        if node.source is not None:
            lines.append(shorten(f"{node.source.file}:{node.source.line}  {node.source.text}", 90))
        return tuple(lines)

    def _markers(self, node: Node) -> tuple[Marker, ...]:
        uses, empty = self.folded.leaves.get(node.id, ()), self._empty.get(node.id, ())
        numbered = order_matters(uses, empty)
        found = [(slot, _empty_marker(slot)) for slot in (empty if numbered else ())]
        for use in uses:
            leaf = self.graph.nodes[use.node]
            shape = format_shape(leaf.inputs[0].shape) if leaf.inputs else ""
            short = use.name.rpartition(".")[2]
            through = f" through {' and '.join(use.through)}" if use.through else ""
            tip = f"{shorten(use.name, 80)} {shape}{through}"
            slots = ", ".join(map(str, use.slots))
            text = f"{slots + ': ' if numbered else ''}{shorten(short, 18)} {shape}".strip()
            tip += f", input {slots}" if slots else ""
            mark = self.marking.of(leaf.id)
            kind = mark if mark in ("added", "removed") else use.kind
            tip += f", {mark} since A" if mark else ""
            found.append((use.slots[0], Marker(self.names[leaf.id], text, kind, tip, room_for(text))))
        return tuple(marker for _, marker in sorted(found, key=lambda entry: entry[0]))

    def _leaf_box(self, node: Node) -> Text:
        shape = _tensor(node.inputs[0].shape, node.inputs[0].dtype) if node.inputs else ""
        title, lines = shorten(leaf_name(node), 30), [shape] if shape else []
        lines += [shorten(word, 34) for word in self.marking.words([node.id])[:CHANGES]]
        outputs = tuple(shorten(name, 40) for name in self._outputs.get(node.id, ()))
        return Text(
            title=title,
            kind="removed" if self.marking.is_ghost(node.id) else leaf_kind(node, {}),
            lines=tuple(lines),
            leaves=(),
            saved_bytes=0,
            dropped=0,
            outputs=outputs,
            empty=(),
            tooltip=(*self.marking.gone([node.id]), shorten(node.name, 80), shorten(leaf_name(node), 80), *lines),
            size=size_for(title, lines, (), outputs),
        )

    def _group(self, item: Item, is_open: bool) -> Text:
        everything = self.nodes.of(item)
        counts = self.marking.counts(everything, item.path)
        ids = everything[everything < self.marking.real]
        sums, leaves = self.nodes.sums(ids), int(self.nodes.is_leaf[ids].sum())
        saved, dropped = sums.saved_bytes, sums.dropped
        facts = f"{format_count(len(ids))} nodes"
        of_them = f" ({format_count(leaves)} {'leaf' if leaves == 1 else 'leaves'})" if leaves else ""
        words = [f"saves {format_bytes(saved)}"] if saved else []
        words += [dropped_line(dropped)] if dropped else []
        held = [" · ".join(words)] if words else []
        lines = [facts + of_them, *held]
        lines += [modified_line(sums.modified)] if sums.modified else []
        lines += [counts_line(counts) or "same as A"] if self.marking.compared else []
        title = self._group_title(item)
        outputs = tuple(shorten(name, 40) for name in self._outputs_in(ids))
        inside = self.nodes.operations(ids)[:12]
        held_ops = ", ".join(f"{count} {shorten(operation_name(name), 40)}" for name, count in inside)
        width, height = size_for(title, lines, (), outputs)
        if is_open:
            lines = [facts, *held, *([counts_line(counts)] if counts else [])]
            width = title_room(title) + SMALL * -(-len(" · ".join(lines)) // HEADER_PRINT) * HEADER_PRINT + 64
        return Text(
            title=title,
            kind="module" if ids.size else "removed",
            lines=tuple(lines),
            leaves=(),
            saved_bytes=saved,
            dropped=dropped,
            outputs=() if is_open else outputs,
            empty=(),
            tooltip=(
                *self.marking.gone(everything),
                shorten(item.path or item.title, 80),
                *lines,
                f"inside: {held_ops}",
            ),
            size=(width if is_open else min(MAXIMUM, width + 20), height),
        )

    def _outputs_in(self, ids: Integers) -> list[str]:
        """Names of traced outputs that these nodes make, in the order of the nodes."""
        made = ids[np.isin(ids, list(self._outputs))].tolist()
        return [name for node in made for name in self._outputs[node]]

    def _group_title(self, item: Item) -> str:
        """A module the way `print(model)` names it: "attention: Attention"."""
        kind = self.types.get(item.typed, "") if item.typed else ""
        return shorten(f"{item.title}: {kind}" if kind else item.title, 32)


def _empty_marker(slot: int) -> Marker:
    text = f"{slot}: None"
    return Marker(
        "", text, "empty", f"input {slot} is empty: a constant, or a tensor that needs no gradient", room_for(text)
    )


def _tensor(shape: tuple[int, ...] | None, dtype: str) -> str:
    return f"{format_shape(shape)} {dtype.removeprefix('torch.')}"


def relative(module: str, frame: str) -> str:
    """A module path as seen from inside the frame of another."""
    return (
        module[len(frame) :].lstrip(".") if module == frame or module.startswith(frame + ".") or not frame else module
    )
