"""An operator ladder as one self-contained SVG: a bar per rung, its time, spread and speedup."""

from __future__ import annotations

from collections.abc import Sequence

from engine.figures.operator_ladder import COMPARED_WITH, speedup_words
from engine.figures.palette import BACKGROUND, MUTED, TEXT, Theme
from engine.figures.svg import FONT, safe
from engine.figures.timing_chart import colour_of, place_of
from engine.figures.units import format_time
from engine.timing.comparison import Comparison
from engine.timing.crossover import quartiles

WIDTH, LEFT, RIGHT, TOP, ROW = 860, 210, 110, 64, 46


def ladder_svg(comparison: Comparison, theme: Theme, rungs: Sequence[str], order: Sequence[str]) -> str:
    """Median time per call from zero; the line is the middle half of the samples."""
    longest = max(quartiles(samples)[1] for samples in comparison.samples_s)
    words = {ratio.name: speedup_words(ratio) for ratio in comparison.ratios} | {comparison.names[0]: COMPARED_WITH}
    names = sorted(comparison.names, key=lambda name: place_of(name, rungs))
    height = TOP + ROW * len(names) + 24
    title = f"{comparison.clock} time per call, {comparison.rounds} rounds, compared with {comparison.names[0]}"
    rows = [
        line
        for number, name in enumerate(names)
        for line in _row(comparison, name, words[name], TOP + ROW * number, longest, order, theme)
    ]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" '
            f'font-family="{FONT}" role="img">',
            f"<title>{safe(title)}</title>",
            f'<rect width="{WIDTH}" height="{height}" fill="{BACKGROUND[theme]}"/>',
            f'<text x="24" y="36" fill="{TEXT[theme]}" font-size="16" font-weight="700">{safe(title)}</text>',
            *rows,
            "</svg>",
        ]
    )


def _row(
    comparison: Comparison, name: str, words: str, top: int, longest: float, order: Sequence[str], theme: Theme
) -> list[str]:
    samples = comparison.samples_s[comparison.names.index(name)]
    scale = (WIDTH - LEFT - RIGHT) / longest
    median_s, (low, high) = comparison.seconds_of(name), quartiles(samples)
    middle, end = top + 14, LEFT + scale * max(median_s, high)
    ink, quiet, colour = TEXT[theme], MUTED[theme], colour_of(place_of(name, order), theme)
    return [
        f'<text x="{LEFT - 12}" y="{top + 12}" fill="{ink}" font-size="14" text-anchor="end">{safe(name)}</text>',
        f'<text x="{LEFT - 12}" y="{top + 28}" fill="{quiet}" font-size="11" text-anchor="end">{safe(words)}</text>',
        f'<rect x="{LEFT}" y="{top}" width="{scale * median_s:.1f}" height="28" fill="{colour}"/>',
        f'<path d="M{LEFT + scale * low:.1f} {middle}H{LEFT + scale * high:.1f}" stroke="{ink}" stroke-width="2"/>',
        f'<text x="{end + 8:.1f}" y="{middle + 5}" fill="{ink}" font-size="13">{safe(format_time(median_s))}</text>',
    ]
