"""Live bytes by category over a run as one self-contained SVG: stacked steps, phases, peak, the allocator's counter.

Over the picture lie upright strips that tell of their event on hover (`data-tip`) and name it (`data-event`).
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import numpy as np
import numpy.typing as npt

from engine.figures.arrays import array
from engine.figures.chart_svg import svg_page, svg_text
from engine.figures.memory_frame import HEIGHT, LEFT, TOP, Across, TimeFrame, back_along, stairs
from engine.figures.memory_svg import WIDTH, area_colour, box, category_legend, speaking
from engine.figures.memory_words import category_words, phase_words
from engine.figures.palette import BACKGROUND, MUTED, TEXT, Theme, meaning
from engine.figures.units import format_bytes, format_count, format_exact_bytes, format_time
from engine.memory.blocks import CATEGORIES, Category
from engine.memory.ledger import phase_at, telling_events
from engine.memory.spec import MemoryTrace

COLUMNS = 420
"""Of a long run, each column keeps its extremes; two pixels each."""
STACKED: tuple[Category, ...] = (
    "parameter",
    "buffer",
    "input",
    "optimizer_state",
    "gradient",
    "saved",
    "recomputed",
    "output",
    "temporary",
)
"""From the ground up: what stays lies below what comes and goes."""
ALLOCATOR_WORDS = "allocator's own counter"


class Drawn(msgspec.Struct, frozen=True):
    """What of the run is shown: events first..after-1, the event with the peak and the one looked at."""

    first: int
    after: int
    peak: int | None
    chosen: int | None = None
    across: Across = "events"
    least_bytes: int = 0
    """The axis goes at least so far up: two pictures to compare have one scale."""


def memory_timeline(trace: MemoryTrace, drawn: Drawn, theme: Theme = "light", *, title: str) -> str:
    """The picture; a run without events is said in words."""
    if drawn.after <= drawn.first:
        return nothing_page(title, theme)
    live = trace.blocks.live_bytes(trace.events)
    counter = array(trace.allocator_bytes)
    largest = int(max(live[:, drawn.first : drawn.after].sum(axis=0).max(), counter[drawn.first : drawn.after].max()))
    frame = TimeFrame(trace, drawn.first, drawn.after, max(largest, drawn.least_bytes), drawn.across, theme)
    events = telling_events(np.vstack([live, counter[None]]), drawn.first, drawn.after, COLUMNS)
    present = [one for one in STACKED if live[CATEGORIES.index(one), drawn.first : drawn.after].any()]
    legend, x, y = category_legend(present, LEFT, 14, theme)
    body = [*legend, *_counter_legend(x, y, theme), *frame.behind()]
    body += _areas(live[:, events], frame.xs(events), frame, present, theme)
    body += frame.recomputed()
    body.append(_counter(counter[events], frame.xs(events), frame, theme))
    body += moment_marks(live.sum(axis=0), drawn, frame, theme)
    body += _strips(live, drawn, frame)
    return svg_page(WIDTH, frame.height, title, body, theme)


def nothing_page(title: str, theme: Theme) -> str:
    """A picture that says that there is nothing to draw."""
    words = "The allocator gave out no memory in this run."
    return svg_page(WIDTH, 200, title, [svg_text(WIDTH / 2, 100, words, MUTED[theme], 15, anchor="middle")], theme)


def _areas(
    live: npt.NDArray[np.int64], xs: npt.NDArray[np.float64], frame: TimeFrame, present: list[Category], theme: Theme
) -> Iterator[str]:
    places, end = xs.tolist(), frame.right
    below = np.zeros(live.shape[1], dtype=np.int64)
    for category in present:
        above = below + live[CATEGORIES.index(category)]
        upper = [frame.y(size) for size in above.tolist()]
        lower = [frame.y(size) for size in below.tolist()]
        way_back = f"V{lower[-1]:.1f}{back_along(places, lower)}Z"
        path = f"M{places[0]:.1f} {lower[0]:.1f}{stairs(places, upper, end)}{way_back}"
        colour = meaning(category).accent(theme)
        yield (
            f'<path d="{path}" fill="{area_colour(category, theme)}" stroke="{colour}" stroke-width=".7" '
            f'data-category="{category}"/>'
        )
        below = above


def _counter(counter: npt.NDArray[np.int64], xs: npt.NDArray[np.float64], frame: TimeFrame, theme: Theme) -> str:
    ys = [frame.y(size) for size in counter.tolist()]
    path = "M" + stairs(xs.tolist(), ys, frame.right)[1:]
    return (
        f'<path d="{path}" fill="none" stroke="{TEXT[theme]}" stroke-width="1.3" stroke-dasharray="5 3" '
        'data-counter=""/>'
    )


def _counter_legend(x: float, y: float, theme: Theme) -> list[str]:
    if x + 160 > WIDTH:
        x, y = LEFT, y + 18
    return [
        f'<path d="M{x:.0f} {y - 4:.0f}h24" stroke="{TEXT[theme]}" stroke-width="1.3" stroke-dasharray="5 3"/>',
        svg_text(x + 30, y, ALLOCATOR_WORDS, TEXT[theme], 11.5),
    ]


def moment_marks(totals: npt.NDArray[np.int64], drawn: Drawn, frame: TimeFrame, theme: Theme) -> Iterator[str]:
    """The peak with its bytes, and the moment looked at."""
    if drawn.chosen is not None and drawn.first <= drawn.chosen < drawn.after:
        x = (frame.x(drawn.chosen) + frame.x(drawn.chosen + 1)) / 2
        colour = meaning("input").accent(theme)
        yield f'<path d="M{x:.1f} {TOP - 16}V{frame.bottom + 5}" stroke="{colour}" stroke-width="2"/>'
        yield f'<path d="M{x - 6:.1f} {TOP - 18}h12l-6 9Z" fill="{colour}"/>'
    if drawn.peak is None or not drawn.first <= drawn.peak < drawn.after:
        return
    size = int(totals[drawn.peak])
    x, y = (frame.x(drawn.peak) + frame.x(drawn.peak + 1)) / 2, frame.y(size)
    words = f"peak {format_bytes(size)}"
    left = x > (LEFT + frame.right) / 2
    colours = f'fill="{BACKGROUND[theme]}" stroke="{TEXT[theme]}" stroke-width="2"'
    yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4.5" {colours}/>'
    at = x - 10 if left else x + 10
    width = 7.2 * len(words) + 6
    yield box(at - width + 3 if left else at - 3, y - 10, width, 17, BACKGROUND[theme], ' rx="3" fill-opacity=".85"')
    yield svg_text(at, y + 3, words, TEXT[theme], 12.5, weight=650, anchor="end" if left else "start")


def _strips(live: npt.NDArray[np.int64], drawn: Drawn, frame: TimeFrame) -> Iterator[str]:
    """One per event, or of many events per column the one with most bytes."""
    totals = live.sum(axis=0)
    edges = frame.xs(np.arange(drawn.first, drawn.after + 1))
    columns = np.minimum(((edges[:-1] - LEFT) / (frame.right - LEFT) * COLUMNS).astype(np.int64), COLUMNS - 1)
    starts = np.flatnonzero(np.diff(columns, prepend=-1))
    for start, end in zip(starts.tolist(), [*starts[1:].tolist(), len(columns)], strict=True):
        event = drawn.first + start + int(totals[drawn.first + start : drawn.first + end].argmax())
        words = event_words(frame.trace, event, live[:, event])
        if end - start > 1:
            words += f"\nlargest of {end - start} events here"
        left, right = float(edges[start]), float(edges[end])
        strip = box(left, TOP - 14, max(right - left, 0.5), HEIGHT + 14, "#000", ' class="strip" fill-opacity="0"')
        yield speaking(words, strip, f' data-event="{event}"')


def event_words(trace: MemoryTrace, event: int, live: npt.NDArray[np.int64]) -> str:
    """When an event was, and the bytes of every category after it."""
    seconds = float(array(trace.event_s)[event])
    parts = [
        f"event {format_count(event)}, {phase_words(phase_at(trace, event))}, {format_time(seconds)}",
        f"{format_bytes(int(live.sum()))} ({format_exact_bytes(int(live.sum()))}) alive",
    ]
    by_category = dict(zip(CATEGORIES, live.tolist(), strict=True))
    parts += [f"{category_words(one)}: {format_bytes(by_category[one])}" for one in STACKED[::-1] if by_category[one]]
    return "\n".join(parts)
