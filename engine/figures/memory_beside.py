"""Two runs at the same moment, category by category on one scale of bytes: which of them differ, and by how much."""

from __future__ import annotations

from engine.figures.chart_svg import svg_page, svg_text
from engine.figures.memory_svg import WIDTH, area_colour, box, mark, speaking
from engine.figures.memory_words import category_words
from engine.figures.palette import LINE, MUTED, TEXT, Theme, meaning
from engine.figures.units import MINUS, format_bytes, format_exact_bytes
from engine.memory.blocks import CATEGORIES, Category
from engine.memory.ledger import bytes_at
from engine.memory.spec import MemoryTrace

LEFT, RIGHT = 160, 660
"""Where bars begin and where the longest ends; behind it its bytes, and the difference at the right edge."""
TOP, ROW, BAR = 26, 40, 13
SMALL = 11.0


def memory_beside(
    trace: MemoryTrace, event: int, before: MemoryTrace, event_before: int, theme: Theme = "light", *, title: str
) -> str:
    """A bar pair per category (outline: A, filled: this run), largest difference first, below it the sums of both."""
    now, old = bytes_at(trace, event), bytes_at(before, event_before)
    found: list[Category] = [one for one in CATEGORIES if now[one] or old[one]]
    found.sort(key=lambda one: (-abs(now[one] - old[one]), -now[one]))
    rows = [(one, old[one], now[one]) for one in found]
    sums = sum(old.values()), sum(now.values())
    body = _head(theme)
    for number, (category, a, b) in enumerate(rows):
        body += _row(category, a, b, max(*sums, 1), TOP + ROW * number, theme)
    bottom = TOP + ROW * len(rows)
    body.append(box(0, bottom, WIDTH, 1, LINE[theme]))
    body += _row(None, *sums, max(*sums, 1), bottom + 2, theme)
    return svg_page(WIDTH, bottom + ROW + 4, title, body, theme)


def difference_words(before: int, now: int) -> str:
    """ "+1.50 MiB", "−64.0 KiB", "= A"."""
    if now == before:
        return "= A"
    return f"{'+' if now > before else MINUS}{format_bytes(abs(now - before))}"


def _head(theme: Theme) -> list[str]:
    ink = MUTED[theme]
    return [
        box(LEFT, 6, 12, 10, "none", f' stroke="{ink}"'),
        svg_text(LEFT + 18, 15, "A", ink, SMALL),
        box(LEFT + 44, 6, 12, 10, ink),
        svg_text(LEFT + 62, 15, "this run", ink, SMALL),
        svg_text(WIDTH - 6, 15, "difference to A", ink, SMALL, anchor="end"),
    ]


def _row(category: Category | None, a: int, b: int, most: int, y: float, theme: Theme) -> list[str]:
    """The two bars of a category, of all live bytes for None."""
    words = "all live bytes" if category is None else category_words(category)
    accent = MUTED[theme] if category is None else meaning(category).accent(theme)
    fill = LINE[theme] if category is None else area_colour(category, theme)
    weight = 650 if category is None or a != b else 400
    parts = [] if category is None else [mark(category, 4, y + 14, 1.0, theme)]
    parts.append(svg_text(20 if category else 4, y + 23, words, TEXT[theme], 12, weight=weight))
    bars = ((a, 5, "none", MUTED[theme], "A "), (b, 6 + BAR, fill, TEXT[theme], ""))
    for size, below, ground, ink, name in bars:
        long = (RIGHT - LEFT) * size / most
        if size:
            parts.append(box(LEFT, y + below, max(long, 1.0), BAR, ground, f' stroke="{accent}"'))
        parts.append(svg_text(LEFT + long + 7, y + below + 10.5, name + format_bytes(size), ink, SMALL))
    differs = difference_words(a, b)
    ink = MUTED[theme] if a == b else TEXT[theme]
    parts.append(svg_text(WIDTH - 6, y + 23, differs, ink, 13, weight=weight, anchor="end"))
    told = f"{words}\nA: {format_exact_bytes(a)}\nthis run: {format_exact_bytes(b)}\n{differs}"
    return [speaking(told, box(0, y, WIDTH, ROW - 1, "#000", ' fill-opacity="0"') + "".join(parts))]
