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
    events = _events(trace, drawn, chosen, total)
    alive = _alive(trace, chosen, events)
    heights = alive * trace.blocks.sizes[chosen][:, None]
    tops = heights.cumsum(axis=0)
    places = trace.blocks.categories[chosen]
    present = [CATEGORIES[place] for place in np.unique(places)]
    legend, x, y = category_legend(present, LEFT, 14, theme)
    body = [*legend, *_rest_legend(x, y, theme), *frame.behind()]
    body.append(_rest(tops[-1], total[events], frame.xs(events), frame, theme))
    over: list[str] = []
    for row, index in enumerate(chosen.tolist()):
        spans = np.flatnonzero(alive[row])
        if not len(spans):
            continue
        shape = _shape(tops[row] - heights[row], tops[row], spans, events, frame)
        label = _label(trace, index, tops[row] - heights[row], spans, events, frame, theme)
        colour = area_colour(CATEGORIES[places[row]], theme)
        area = f'<path d="{shape}" fill="{colour}" stroke="{BACKGROUND[theme]}" stroke-width=".6"/>{label}'
        body.append(speaking(block_words(trace, index), area, f' class="block" data-block="{index}"'))
        if index == selected:
            over.append(
                f'<path d="{shape}" fill="none" stroke="{TEXT[theme]}" stroke-width="2.4" pointer-events="none"/>'
            )
    return svg_page(
        WIDTH,
        frame.height,
        title,
        [*body, *frame.recomputed(), *over, *moment_marks(total, drawn, frame, theme)],
        theme,
    )


def _events(trace: MemoryTrace, drawn: Drawn, chosen: Integers, total: Integers) -> Integers:
    """Births and deaths of the chosen blocks, and the extremes of all bytes."""
    blocks = trace.blocks
    ends = np.concatenate([blocks.births[chosen], blocks.deaths[chosen]])
    ends = ends[(ends >= drawn.first) & (ends < drawn.after)]
    found = np.concatenate([ends, telling_events(total[None], drawn.first, drawn.after, COLUMNS), [drawn.first]])
    return np.unique(found).astype(np.int64)


def _alive(trace: MemoryTrace, chosen: Integers, events: Integers) -> npt.NDArray[np.bool_]:
    """(blocks, events): whether a block is alive after an event."""
    births, deaths = trace.blocks.births[chosen][:, None], trace.blocks.deaths[chosen][:, None]
    found: npt.NDArray[np.bool_] = (births <= events) & ((deaths > events) | (deaths < 0))
    return found


def _shape(bottoms: Integers, tops: Integers, spans: Integers, events: Integers, frame: TimeFrame) -> str:
    """The outline of a block: along its upper edge to its end, and back along the lower one."""
    moved = spans[np.flatnonzero(np.diff(bottoms[spans], prepend=-1))]
    xs = frame.xs(events[moved]).tolist()
    end = frame.right if spans[-1] + 1 == len(events) else float(frame.x(int(events[spans[-1] + 1])))
    upper = [frame.y(size) for size in tops[moved].tolist()]
    lower = [frame.y(size) for size in bottoms[moved].tolist()]
    return f"M{xs[0]:.1f} {lower[0]:.1f}{stairs(xs, upper, end)}V{lower[-1]:.1f}{back_along(xs, lower)}Z"


def _label(
    trace: MemoryTrace, index: int, bottoms: Integers, spans: Integers, events: Integers, frame: TimeFrame, theme: Theme
) -> str:
    """The block's name where it lies still for longest, if it is high and long enough there."""
    size = int(trace.blocks.sizes[index])
    if frame.y(0) - frame.y(size) < 13:
        return ""
    edges = np.flatnonzero(np.diff(bottoms[spans])) + 1
    starts, ends = [0, *edges.tolist()], [*edges.tolist(), len(spans)]
    xs = [*frame.xs(events[spans]).tolist()]
    xs.append(frame.right if spans[-1] + 1 == len(events) else float(frame.x(int(events[spans[-1] + 1]))))
    start, end = max(zip(starts, ends, strict=True), key=lambda pair: xs[pair[1]] - xs[pair[0]])
    middle = frame.y(float(bottoms[spans[start]]) + size / 2)
    name = trace.blocks[index].name
    return fitting_text(xs[start] + 4, middle + 4, name, TEXT[theme], 10.5, xs[end] - xs[start] - 7)


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
