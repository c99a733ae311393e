"""The largest blocks from birth to death as one self-contained SVG: each as high as its bytes, stacked.

A block sinks when one below it is freed, so the upper edge of the stack is what is alive; smaller blocks lie on top
as one area. Each block says what it is on hover (`data-tip`) and which one it is (`data-block`).
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from engine.figures.chart_svg import svg_page, svg_text
from engine.figures.memory_frame import LEFT, TimeFrame, back_along, stairs
from engine.figures.memory_svg import WIDTH, area_colour, box, category_legend, fitting_text, speaking
from engine.figures.memory_timeline import COLUMNS, Drawn, moment_marks, nothing_page
from engine.figures.memory_words import block_words
from engine.figures.palette import BACKGROUND, SURFACE, TEXT, Theme, meaning, mix
from engine.figures.units import format_bytes, format_count
from engine.memory.blocks import CATEGORIES
from engine.memory.ledger import telling_events
from engine.memory.spec import MemoryTrace

Integers = npt.NDArray[np.int64]
Stacking = Literal["in order of birth", "largest below"]
STACKINGS: tuple[Stacking, ...] = Stacking.__args__  # type: ignore[attr-defined]
MOST = 240
"""Blocks with an area of their own."""
LABEL_HEIGHT = 13


def largest_blocks(trace: MemoryTrace, drawn: Drawn, most: int = MOST) -> tuple[Integers, int]:
    """(the largest blocks that live at some event of the stretch, of equals the longest-lived, how many live there)."""
    blocks = trace.blocks
    alive = (blocks.births < drawn.after) & ((blocks.deaths < 0) | (blocks.deaths > drawn.first)) & (blocks.sizes > 0)
    found = np.flatnonzero(alive)
    lives = np.where(blocks.deaths < 0, trace.events, blocks.deaths) - blocks.births
    return found[np.lexsort((-lives[found], -blocks.sizes[found]))][:most], len(found)


def memory_lifetimes(
    trace: MemoryTrace,
    drawn: Drawn,
    stacking: Stacking = "in order of birth",
    theme: Theme = "light",
    *,
    selected: int = -1,
    title: str,
) -> str:
    """The picture; block `selected` has a thick edge."""
    chosen, _ = largest_blocks(trace, drawn)
    if drawn.after <= drawn.first or not len(chosen):
        return nothing_page(title, theme)
    if stacking == "in order of birth":
        chosen = np.sort(chosen)
    total = trace.blocks.live_bytes(trace.events).sum(axis=0)
    largest = max(int(total[drawn.first : drawn.after].max()), drawn.least_bytes)
    frame = TimeFrame(trace, drawn.first, drawn.after, largest, drawn.across, theme)
    stack = _Stack(frame, chosen, _events(trace, drawn, chosen, total))
    present = [CATEGORIES[place] for place in np.unique(stack.places)]
    legend, x, y = category_legend(present, LEFT, 14, theme)
    body = [*legend, *_rest_legend(x, y, theme), *frame.behind()]
    body.append(_rest(stack.tops[-1], total[stack.events], frame.xs(stack.events), frame, theme))
    body += [stack.block(row) for row in range(len(chosen)) if stack.alive[row].any()]
    over = [*stack.edge(selected), *moment_marks(total, drawn, frame, theme)]
    return svg_page(WIDTH, frame.height, title, [*body, *frame.recomputed(), *over], theme)


def _events(trace: MemoryTrace, drawn: Drawn, chosen: Integers, total: Integers) -> Integers:
    """Births and deaths of the chosen blocks, and the extremes of all bytes."""
    blocks = trace.blocks
    ends = np.concatenate([blocks.births[chosen], blocks.deaths[chosen]])
    ends = ends[(ends >= drawn.first) & (ends < drawn.after)]
    found = np.concatenate([ends, telling_events(total[None], drawn.first, drawn.after, COLUMNS), [drawn.first]])
    return np.unique(found).astype(np.int64)


class _Stack:
    """The chosen blocks one on the other, after each of the given events."""

    def __init__(self, frame: TimeFrame, chosen: Integers, events: Integers) -> None:
        blocks = frame.trace.blocks
        self.frame, self.chosen, self.events = frame, chosen, events
        births, deaths = blocks.births[chosen][:, None], blocks.deaths[chosen][:, None]
        self.alive: npt.NDArray[np.bool_] = (births <= events) & ((deaths > events) | (deaths < 0))
        """(blocks, events)."""
        heights = self.alive * blocks.sizes[chosen][:, None]
        self.tops: Integers = heights.cumsum(axis=0)
        self.bottoms: Integers = self.tops - heights
        self.places = blocks.categories[chosen]

    def block(self, row: int) -> str:
        """A block's area with its name, which speaks and can be chosen."""
        index, theme = int(self.chosen[row]), self.frame.theme
        colour = area_colour(CATEGORIES[self.places[row]], theme)
        edge = f'stroke="{BACKGROUND[theme]}" stroke-width=".6"'
        area = f'<path d="{self._shape(row)}" fill="{colour}" {edge}/>{self._label(row)}'
        return speaking(block_words(self.frame.trace, index), area, f' class="block" data-block="{index}"')

    def edge(self, index: int) -> list[str]:
        """The thick edge of a block, nothing when it is not in the stack."""
        ink = f'stroke="{TEXT[self.frame.theme]}" stroke-width="2.4" pointer-events="none"'
        rows = np.flatnonzero((self.chosen == index) & self.alive.any(axis=1)).tolist()
        return [f'<path d="{self._shape(row)}" fill="none" {ink}/>' for row in rows]

    def _levels(self, row: int) -> tuple[list[float], Integers]:
        """(x of every place where the block sinks, its birth first and its end last, bytes below it from each)."""
        spans = np.flatnonzero(self.alive[row])
        moved = spans[np.flatnonzero(np.diff(self.bottoms[row][spans], prepend=-1))]
        last = int(spans[-1]) + 1
        end = self.frame.right if last == len(self.events) else self.frame.x(int(self.events[last]))
        return [*self.frame.xs(self.events[moved]).tolist(), end], self.bottoms[row][moved]

    def _shape(self, row: int) -> str:
        """The outline: along the upper edge to the end, and back along the lower one."""
        xs, below = self._levels(row)
        size = int(self.frame.trace.blocks.sizes[self.chosen[row]])
        lower = [self.frame.y(one) for one in below.tolist()]
        upper = [self.frame.y(one + size) for one in below.tolist()]
        start = f"M{xs[0]:.1f} {lower[0]:.1f}"
        return f"{start}{stairs(xs[:-1], upper, xs[-1])}V{lower[-1]:.1f}{back_along(xs[:-1], lower)}Z"

    def _label(self, row: int) -> str:
        """The block's name where it lies still for longest, if it is high and long enough there."""
        index = int(self.chosen[row])
        size = int(self.frame.trace.blocks.sizes[index])
        if self.frame.y(0) - self.frame.y(size) < LABEL_HEIGHT:
            return ""
        xs, below = self._levels(row)
        place = int(np.argmax(np.diff(xs)))
        y = self.frame.y(float(below[place]) + size / 2) + 4
        name, ink = self.frame.trace.blocks[index].name, TEXT[self.frame.theme]
        return fitting_text(xs[place] + 4, y, name, ink, 10.5, xs[place + 1] - xs[place] - 7)


def _rest(tops: Integers, total: Integers, xs: npt.NDArray[np.float64], frame: TimeFrame, theme: Theme) -> str:
    """All smaller blocks as one area on top of the stack."""
    places = xs.tolist()
    upper, lower = [frame.y(one) for one in total.tolist()], [frame.y(one) for one in tops.tolist()]
    start = f"M{places[0]:.1f} {lower[0]:.1f}"
    path = f"{start}{stairs(places, upper, frame.right)}V{lower[-1]:.1f}{back_along(places, lower)}Z"
    colour = rest_colour(theme)
    words = f"all smaller blocks, at most {format_bytes(int((total - tops).max()))} together"
    return speaking(
        words, f'<path d="{path}" fill="{colour}" stroke="{meaning("operation").accent(theme)}" stroke-width=".5"/>'
    )


def rest_colour(theme: Theme) -> str:
    """The fill of all smaller blocks together."""
    return mix(SURFACE[theme], meaning("operation").accent(theme), 0.2)


def _rest_legend(x: float, y: float, theme: Theme) -> list[str]:
    if x + 110 > WIDTH:
        x, y = LEFT, y + 18
    fill, line = rest_colour(theme), meaning("operation").accent(theme)
    square = box(x, y - 10, 12, 12, fill, f' rx="2" stroke="{line}" stroke-width=".6"')
    return [square, svg_text(x + 17, y, "smaller blocks", TEXT[theme], 11.5)]


def lifetimes_words(trace: MemoryTrace, drawn: Drawn) -> str:
    """How many of how many blocks have an area of their own."""
    chosen, every = largest_blocks(trace, drawn)
    if len(chosen) == every:
        return f"All {format_count(every)} blocks of this stretch."
    share = int(trace.blocks.sizes[chosen].sum())
    return (
        f"The {format_count(len(chosen))} largest of {format_count(every)} blocks ({format_bytes(share)} of "
        f"allocations); the others are the one area on top."
    )
