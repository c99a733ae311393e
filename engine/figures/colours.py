"""Colours of a scene's boxes: by kind, saved bytes, dtype or module."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import msgspec

from engine.figures.hierarchy import Item
from engine.figures.labels import Labels
from engine.figures.palette import CATEGORICAL, MARKS, PALETTE, SEQUENTIAL, Meaning
from engine.figures.units import format_bytes, shorten
from engine.figures.view import ColourBy
from engine.graph.spec import Graph


class Colour(msgspec.Struct, frozen=True):
    """A legend entry: accent and fill per theme, mark as an SVG path in a 10 x 10 box."""

    key: str
    label: str
    light: str
    light_fill: str
    dark: str
    dark_fill: str
    mark: str
    hatched: bool


class Colouring(msgspec.Struct, frozen=True):
    """All colours a scene may use, which of them the legend shows, and each box's index."""

    colours: tuple[Colour, ...]
    legend: tuple[int, ...]
    index: dict[str, int]

    def of(self, address: str) -> int:
        """Colour index of a box; frames are modules."""
        return self.index.get(address, _POSITION["module"])


def as_colour(meaning: Meaning) -> Colour:
    """A meaning of the palette with its fills worked out."""
    return Colour(
        meaning.key,
        meaning.label,
        meaning.light,
        meaning.fill("light"),
        meaning.dark,
        meaning.fill("dark"),
        MARKS[meaning.mark],
        meaning.hatched,
    )


_BASE = tuple(as_colour(meaning) for meaning in PALETTE.values())
_POSITION = {colour.key: number for number, colour in enumerate(_BASE)}
_MARK_ORDER = ("square", "circle", "diamond", "triangle", "star", "ring", "hollow_diamond", "chip")


def choose_colours(graph: Graph, labels: Labels, visible: Sequence[Item], by: ColourBy) -> Colouring:
    """One colour per visible box."""
    if by == "kind":
        return _by_kind(labels, visible)
    if by == "saved bytes":
        return _by_bytes(labels, visible)
    if by == "dtype":
        words = {item.address: _dtype(graph, labels, item) for item in visible}
    else:
        words = {item.address: _module(item) for item in visible}
    return _by_word(labels, visible, words)


def _by_kind(labels: Labels, visible: Sequence[Item]) -> Colouring:
    index = {item.address: _POSITION[labels.text(item, False).kind] for item in visible}
    present = set(index.values()) | _extras(labels, visible)
    return Colouring(_BASE, tuple(sorted(present)), index)


def _extras(labels: Labels, visible: Sequence[Item]) -> set[int]:
    """Legend entries that stand beside any colouring: leaf markers, dropped and empty slots, marks on boxes."""
    found = {_POSITION[leaf.kind] for item in visible for leaf in labels.text(item, False).leaves}
    for item in visible:
        if labels.text(item, False).dropped:
            found.add(_POSITION["dropped"])
        if labels.text(item, False).empty:
            found.add(_POSITION["empty"])
        if labels.mark(item):
            found.add(_POSITION[labels.mark(item)])
        if labels.text(item, False).outputs:
            found.add(_POSITION["output"])
    return found


def _by_bytes(labels: Labels, visible: Sequence[Item]) -> Colouring:
    sizes = {item.address: labels.text(item, False).saved_bytes for item in visible}
    positive = [size for size in sizes.values() if size]
    low, high = math.log2(min(positive, default=1)), math.log2(max(positive, default=1))
    bins = len(SEQUENTIAL) - 1
    step = (high - low) / bins or 1.0
    labels_of = ["nothing saved"] + [f"up to {format_bytes(2 ** (low + step * (i + 1)))}" for i in range(bins)]
    scale = tuple(as_colour(Meaning(f"bytes{i}", label, *SEQUENTIAL[i], "square")) for i, label in enumerate(labels_of))
    slots = {a: 0 if not s else 1 + min(bins - 1, int((math.log2(s) - low) / step)) for a, s in sizes.items()}
    index = {address: len(_BASE) + slot for address, slot in slots.items()}
    return Colouring((*_BASE, *scale), (*sorted(set(index.values())), *sorted(_extras(labels, visible))), index)


def _by_word(labels: Labels, visible: Sequence[Item], words: dict[str, str]) -> Colouring:
    distinct = list(dict.fromkeys(words.values()))
    scale = tuple(
        as_colour(
            Meaning(
                f"word{i}",
                shorten(word, 28) or "outside of modules",
                *CATEGORICAL[i % len(CATEGORICAL)],
                _MARK_ORDER[i % 8],
            )
        )
        for i, word in enumerate(distinct)
    )
    index = {address: len(_BASE) + distinct.index(word) for address, word in words.items()}
    legend = sorted(set(index.values()))[:16]
    return Colouring((*_BASE, *scale), (*legend, *sorted(_extras(labels, visible))), index)


def _dtype(graph: Graph, labels: Labels, item: Item) -> str:
    found = Counter(
        metadata.dtype.removeprefix("torch.") for i in labels.members(item) for metadata in graph.nodes[i].inputs[:1]
    )
    return found.most_common(1)[0][0] if found else "unknown"


def _module(item: Item) -> str:
    parts = item.path.split(".")
    return ".".join(parts[:2]) if len(parts) > 1 and parts[1].isdigit() else parts[0]
