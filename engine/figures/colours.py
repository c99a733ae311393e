"""Colours of a scene's boxes: by kind, saved bytes, dtype, device, module or gradient norm."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Literal

import msgspec
import numpy as np

from engine.figures.hierarchy import Item
from engine.figures.labels import Labels
from engine.figures.palette import CATEGORICAL, MARKS, PALETTE, SEQUENTIAL, Meaning
from engine.figures.units import format_bytes, format_significant, shorten
from engine.figures.view import ColourBy
from engine.graph.columns import integers
from engine.graph.spec import Graph


class Colour(msgspec.Struct, frozen=True):
    """A legend entry: accent and fill per theme, mark as an SVG path in a 10 x 10 box.

    Steps of one scale share the words `scale` and each have a `stop`, the largest value of the step.
    """

    key: str
    label: str
    light: str
    light_fill: str
    dark: str
    dark_fill: str
    mark: str
    hatched: bool
    scale: str = ""
    stop: str = ""


class Colouring(msgspec.Struct, frozen=True):
    """All colours a scene may use, which of them the legend shows, and each box's index."""

    colours: tuple[Colour, ...]
    legend: tuple[int, ...]
    index: dict[str, int]

    def of(self, address: str) -> int:
        """Colour index of a box; frames are modules."""
        return self.index.get(address, _POSITION["module"])

    def with_meanings(self, keys: Collection[str]) -> tuple[int, ...]:
        """The legend with these meanings of the palette, where they are not in it yet."""
        more = sorted(_POSITION[key] for key in keys if key)
        return (*self.legend, *(number for number in more if number not in self.legend))


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
LISTED_WORDS = 16
"""Names the legend lists of a colouring by names; the rest is counted."""


def choose_colours(
    graph: Graph,
    labels: Labels,
    visible: Sequence[Item],
    by: ColourBy,
    norms: Mapping[str, float | None] | None = None,
) -> Colouring:
    """One colour per visible box; `norms` are gradient norms by address."""
    if by == "kind":
        return _by_kind(labels, visible)
    if by == "saved bytes":
        return _by_bytes(labels, visible)
    if by == "gradient norm":
        return _by_norm(labels, visible, norms or {})
    if by == "dtype":
        words = {item.address: _most_common(graph, labels, item, "dtype") for item in visible}
    elif by == "device":
        words = {item.address: _most_common(graph, labels, item, "device") for item in visible}
    else:
        words = {item.address: _module(item) for item in visible}
    return _by_word(labels, visible, words)


def gradient_norms(
    graph: Graph, labels: Labels, visible: Sequence[Item], gradients: Mapping[str, float | None]
) -> dict[str, float | None]:
    """Norm over all gradients that the leaves of each box received, by address; None where none did."""
    found: dict[str, float | None] = {}
    for item in visible:
        ids = labels.nodes.of(item)
        names = {graph.node_variables[i] for i in ids[labels.nodes.is_leaf[ids] == 1].tolist()}
        known = [norm for name in names if (norm := gradients.get(name)) is not None]
        found[item.address] = _root_of_squares(known) if known else None
    return found


def _root_of_squares(norms: Sequence[float]) -> float:
    """`math.hypot`, but nan beside inf stays nan."""
    return math.nan if any(map(math.isnan, norms)) else math.hypot(*norms)


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
    sizes = {item.address: float(labels.text(item, False).saved_bytes) for item in visible}
    none = as_colour(Meaning("bytes0", "nothing saved", *SEQUENTIAL[0], "hollow_diamond"))
    scale, step = _scale([size for size in sizes.values() if size], "bytes", "saves up to", format_bytes)
    index = {address: len(_BASE) + (1 + step(size) if size else 0) for address, size in sizes.items()}
    return _on_scale(labels, visible, (none, *scale), index)


def _by_norm(labels: Labels, visible: Sequence[Item], norms: Mapping[str, float | None]) -> Colouring:
    known = {item.address: norms.get(item.address) for item in visible}
    positive = [norm for norm in known.values() if norm and math.isfinite(norm)]
    scale, step = _scale(positive, "norm", "gradient norm up to", format_significant)
    index = {}
    for address, norm in known.items():
        if norm and math.isfinite(norm):
            index[address] = len(_BASE) + step(norm)
        elif norm is not None:
            index[address] = _POSITION["non_finite" if norm else "zero_gradient"]
    for item in visible:
        if known[item.address] is None:
            has_leaf = labels.nodes.is_leaf[labels.nodes.of(item)].any()
            index[item.address] = _POSITION["no_gradient" if has_leaf else "no_leaf"]
    return _on_scale(labels, visible, scale, index)


def _on_scale(labels: Labels, visible: Sequence[Item], scale: Sequence[Colour], index: Mapping[str, int]) -> Colouring:
    """The legend has every step of the scale, in order, and of the rest what the picture holds."""
    steps = [len(_BASE) + number for number, colour in enumerate(scale) if colour.scale]
    others = sorted({found for found in index.values() if found not in steps})
    rest = sorted(_extras(labels, visible) - set(others))
    return Colouring((*_BASE, *scale), (*steps, *others, *rest), dict(index))


def _scale(
    values: Sequence[float], key: str, words: str, form: Callable[[float], str]
) -> tuple[tuple[Colour, ...], Callable[[float], int]]:
    """Steps of equal width on a logarithmic scale from least to largest, and which of them holds a value."""
    if not values:
        return (), lambda value: 0
    low, high = math.log2(min(values)), math.log2(max(values))
    shades = SEQUENTIAL[1:] if high > low else SEQUENTIAL[3:4]
    width = (high - low) / len(shades)
    tops = [2.0 ** (low + width * (number + 1)) for number in range(len(shades) - 1)]
    stops = [form(top) for top in (*tops, max(values))]
    scale = tuple(
        msgspec.structs.replace(
            as_colour(Meaning(f"{key}{number + 1}", f"{words} {stop}", *shade, "square")), scale=words, stop=stop
        )
        for number, (shade, stop) in enumerate(zip(shades, stops, strict=True))
    )
    return scale, lambda value: sum(value > top for top in tops)


def _by_word(labels: Labels, visible: Sequence[Item], words: dict[str, str]) -> Colouring:
    distinct = list(dict.fromkeys(words.values()))
    hues, marks = len(CATEGORICAL), len(_MARK_ORDER)
    scale = tuple(
        as_colour(
            Meaning(
                f"word{i}",
                shorten(word, 28) or "outside of modules",
                *CATEGORICAL[i % hues],
                _MARK_ORDER[(i + i // hues) % marks],
            )
        )
        for i, word in enumerate(distinct)
    )
    index = {address: len(_BASE) + distinct.index(word) for address, word in words.items()}
    listed = sorted(set(index.values()))
    more = len(listed) - LISTED_WORDS
    rest = [as_colour(Meaning("more", f"and {more} more", *CATEGORICAL[-1], "ellipsis"))] if more > 0 else []
    legend = [*listed[:LISTED_WORDS], *(len(_BASE) + len(scale) + number for number in range(len(rest)))]
    return Colouring((*_BASE, *scale, *rest), (*legend, *sorted(_extras(labels, visible))), index)


def _most_common(graph: Graph, labels: Labels, item: Item, what: Literal["dtype", "device"]) -> str:
    """The dtype or device that most first outputs inside a box have."""
    received = graph.node_columns.inputs
    counts = np.bincount(integers(received.codes)[labels.nodes.of(item)], minlength=len(received.table))
    found: Counter[str] = Counter()
    for metadata, count in zip(received.table, counts.tolist(), strict=True):
        if metadata and count:
            found[str(getattr(metadata[0], what)).removeprefix("torch.")] += count
    return found.most_common(1)[0][0] if found else "unknown"


def _module(item: Item) -> str:
    parts = item.path.split(".")
    return ".".join(parts[:2]) if len(parts) > 1 and parts[1].isdigit() else parts[0]
