"""What is alive at a moment as a treemap, one self-contained SVG: area is bytes, colour is the category.

Every block is a group that says on hover what it is (`data-tip`) and which one it is (`data-block`).
"""

from __future__ import annotations

from collections.abc import Iterator

from engine.figures.chart_svg import svg_page, svg_text
from engine.figures.memory_squarify import Rectangle, squarify
from engine.figures.memory_svg import (
    WIDTH,
    area_colour,
    box,
    category_legend,
    clipped,
    fitting_text,
    mark,
    speaking,
    text_width,
)
from engine.figures.memory_tree import Group, Leaf, memory_tree
from engine.figures.memory_words import block_words, category_words
from engine.figures.palette import BACKGROUND, LINE, MUTED, SURFACE, TEXT, Theme, meaning, mix
from engine.figures.units import format_bytes, format_count, format_exact_bytes
from engine.memory.blocks import CATEGORIES
from engine.memory.spec import MemoryTrace

HEIGHT, TOP = 500, 30
OUTER_HEADER, INNER_HEADER = 21, 16
LETTERS, LINE_HEIGHT = 10.6, 12.5
BY_LABEL = {meaning(category).label: category for category in CATEGORIES}


def memory_treemap(
    trace: MemoryTrace, event: int, levels: str, theme: Theme = "light", *, selected: int = -1, title: str
) -> str:
    """The picture; block `selected` has a thick edge. Nothing alive is said in words."""
    tree = memory_tree(trace, event, levels)
    drawing = _Drawing(trace, event, theme, selected, tree.bytes)
    present = {leaf.category for outer in tree.groups for inner in outer.groups for leaf in inner.leaves}
    body, _, _ = category_legend(present, 2, 16, theme)
    if tree.bytes:
        room = Rectangle(1, TOP, WIDTH - 2, HEIGHT)
        for group, place in zip(tree.groups, squarify([one.bytes for one in tree.groups], room), strict=True):
            body += drawing.outer(group, place)
        body += drawing.last
    else:
        words = "No block is alive at this moment: choose a later one."
        body.append(svg_text(WIDTH / 2, 200, words, MUTED[theme], 15, anchor="middle"))
    return svg_page(WIDTH, TOP + HEIGHT + 2, title, body, theme)


def wrapped(label: str, width: float, height: float) -> list[str]:
    """A dotted name on as many lines as there is room for, broken after dots; at least one."""
    letters, lines = int(width / (LETTERS * 0.6)), [""]
    for part in label.replace(".", ".\n").split("\n"):
        if lines[-1] and len(lines[-1]) + len(part) > letters:
            lines.append("")
        lines[-1] += part
    most = max(1, int(height / LINE_HEIGHT))
    return lines if len(lines) <= most else [*lines[: most - 1], "".join(lines[most - 1 :])]


class _Drawing:
    """Groups and blocks as SVG, each rectangle inside of the one around it."""

    def __init__(self, trace: MemoryTrace, event: int, theme: Theme, selected: int, total: int) -> None:
        self.trace, self.theme, self.selected, self.total = trace, theme, selected, total
        self.event = event
        self.last: list[str] = []
        """Drawn over all others: the edge of the selected block."""

    def outer(self, group: Group, place: Rectangle) -> Iterator[str]:
        place = place.inside(edge=1.5)
        ground = mix(SURFACE[self.theme], self._accent(group), 0.14)
        has_header = place.height >= OUTER_HEADER + 12 and place.width >= 46
        head = box(place.x, place.y, place.width, place.height, ground, f' rx="3" stroke="{self._accent(group)}"')
        if has_header:
            head += self._header(group, place, OUTER_HEADER, 12.5)
        yield speaking(self._told(group), head)
        room = place.inside(OUTER_HEADER - 1 if has_header else 0, 2)
        for inner, at in zip(group.groups, squarify([one.bytes for one in group.groups], room), strict=True):
            yield from self.inner(inner, at, alone=len(group.groups) == 1)

    def inner(self, group: Group, place: Rectangle, *, alone: bool) -> Iterator[str]:
        has_header = place.height >= INNER_HEADER + 14 and place.width >= 56
        if has_header:
            yield speaking(
                self._told(group),
                box(place.x, place.y, place.width, INNER_HEADER, "#000", ' fill-opacity="0"')
                + self._header(group, place, INNER_HEADER, 10.8),
            )
        room = place.inside(INNER_HEADER if has_header else 0, 0.5 if alone else 1.0)
        for leaf, at in zip(group.leaves, squarify([one.bytes for one in group.leaves], room), strict=True):
            yield self._leaf(leaf, at)

    def _header(self, group: Group, place: Rectangle, height: int, size: float) -> str:
        category = BY_LABEL.get(group.label)
        left = place.x + 5
        parts = []
        if category is not None:
            parts.append(mark(category, left, place.y + height / 2 - 4.5, 0.95, self.theme))
            left += 14
        told = format_bytes(group.bytes)
        needed = text_width(told, size) + 10
        room = place.width - (left - place.x) - 4
        weight = 650 if height == OUTER_HEADER else 500
        with_bytes = room - needed > size * 4
        baseline = place.y + height / 2 + size * 0.36
        parts.append(
            fitting_text(
                left,
                baseline,
                group.label,
                TEXT[self.theme],
                size,
                room - needed if with_bytes else room,
                weight=weight,
            )
        )
        if with_bytes:
            right = place.x + place.width - 5
            parts.append(svg_text(right, baseline, told, TEXT[self.theme], size, anchor="end"))
        return clipped(place.x, place.y, place.width, place.height, "".join(parts))

    def _leaf(self, leaf: Leaf, place: Rectangle) -> str:
        fill, ink = area_colour(leaf.category, self.theme), TEXT[self.theme]
        edge = f' stroke="{BACKGROUND[self.theme]}" stroke-width="{min(1.2, place.width / 6, place.height / 6):.2f}"'
        parts = [box(place.x, place.y, place.width, place.height, fill, edge)]
        lines = wrapped(leaf.label, place.width - 9, place.height - 15)
        told = format_bytes(leaf.bytes)
        if text_width(told, LETTERS) <= place.width - 8:
            lines.append(told)
        words = ""
        for number, line in enumerate(lines):
            baseline = 12.5 + LINE_HEIGHT * number
            if baseline + 3 <= place.height:
                words += fitting_text(place.x + 5, place.y + baseline, line, ink, LETTERS, place.width - 9)
        parts.append(clipped(place.x, place.y, place.width, place.height, words))
        if leaf.index < 0:
            words = f"{leaf.label}, {category_words(leaf.category)}\n{format_bytes(leaf.bytes)} together"
            return speaking(words, "".join(parts))
        if leaf.index == self.selected:
            edge = f' stroke="{TEXT[self.theme]}" stroke-width="2.6" pointer-events="none"'
            self.last.append(box(place.x + 1, place.y + 1, place.width - 2, place.height - 2, "none", edge))
        words = block_words(self.trace, leaf.index, self.event) + f"\n{leaf.bytes / self.total:.1%} of what is alive"
        return speaking(words, "".join(parts), f' class="block" data-block="{leaf.index}"')

    def _told(self, group: Group) -> str:
        blocks = sum(leaf.blocks for one in (group, *group.groups) for leaf in one.leaves)
        return (
            f"{group.label}\n{format_bytes(group.bytes)} ({format_exact_bytes(group.bytes)}), "
            f"{group.bytes / self.total:.1%} of what is alive\n{format_count(blocks)} blocks"
        )

    def _accent(self, group: Group) -> str:
        category = BY_LABEL.get(group.label)
        return meaning(category).accent(self.theme) if category is not None else LINE[self.theme]
