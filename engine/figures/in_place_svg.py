"""The timeline of a program as one self-contained SVG: statements down, memory and its version counters across.

Groups carry what they say on hover in `data-tip` (and `<title>`), rows their line number in `data-line`.
"""

from __future__ import annotations

from itertools import groupby
from xml.sax.saxutils import quoteattr

from engine.figures.in_place_lanes import Kept, Lane, Row, Timeline
from engine.figures.in_place_words import kept_words, lane_words, row_words, write_words
from engine.figures.palette import BACKGROUND, LINE, MARKS, MUTED, SURFACE, TEXT, Theme, meaning, mix
from engine.figures.svg import FONT, safe
from engine.figures.units import format_bytes, shorten

CODE_FONT = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
MARGIN, TOP, ROW, TALL = 14, 58, 36, 52
LETTER = 7.3
LEFT, STEP, GAP = 62, 17, 14
NARROWEST_CODE, WIDEST_CODE = 190, 390
NARROWEST = 620
LEGEND = ("written", "saved", "modified", "overwritten", "view", "refused")
LEGEND_WORDS = {
    "saved": "saved by a node, kept until backward reads it",
    "modified": "saved version is gone: backward refuses",
    "refused": "statement that raised",
    "view": "name of a view",
}


class _Places:
    """Where rows and lanes lie."""

    def __init__(self, shown: Timeline) -> None:
        longest = max((len(row.text) + 2 for row in shown.rows), default=0)
        self.code = min(max(LETTER * longest + 44, NARROWEST_CODE), WIDEST_CODE)
        self.tops: list[float] = []
        y: float = TOP
        for row in shown.rows:
            self.tops.append(y)
            y += TALL if row.modes or row.error or row.is_backward else ROW
        self.bottom = y
        self.lines: list[float] = []
        self.edges: list[tuple[float, float]] = []
        x = self.code + GAP
        for lane in shown.lanes:
            width = LEFT + 22 + STEP * len(lane.kept) + _label_width(lane)
            self.edges.append((x, x + width))
            self.lines.append(x + LEFT)
            x += width + GAP
        self.right = max(x, NARROWEST)

    def middle(self, row: int) -> float:
        return self.tops[row] + ROW / 2


def timeline_svg(shown: Timeline, theme: Theme = "light", selected: int = 0, title: str = "Versions") -> str:
    """The picture; the row of line `selected` stands out."""
    places = _Places(shown)
    legend = _legend(shown)
    per_line = max(1, int(places.right // 290))
    height = places.bottom + 16 + 20 * -(-len(legend) // per_line) + MARGIN
    body = [*_grounds(shown, places, theme)]
    for number, row in enumerate(shown.rows):
        body.append(_row(row, number, places, theme, selected))
    for number, lane in enumerate(shown.lanes):
        body += _lane(lane, number, places, theme)
    for number, key in enumerate(legend):
        left, top = 290 * (number % per_line), places.bottom + 16 + 20 * (number // per_line)
        body += _legend_entry(key, left, top, theme)
    width = places.right + MARGIN
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width + MARGIN:.0f}" height="{height:.0f}" '
            f'viewBox="{-MARGIN} 0 {width + MARGIN:.0f} {height:.0f}" font-family={quoteattr(FONT)} role="img" '
            f"aria-label={quoteattr(safe_attribute(title))}>",
            f"<title>{safe(title)}</title>",
            f'<rect x="{-MARGIN}" y="0" width="{width + MARGIN:.0f}" height="{height:.0f}" '
            f'fill="{BACKGROUND[theme]}"/>',
            *body,
            "</svg>",
        ]
    )


def safe_attribute(text: str) -> str:
    """Text for `quoteattr`, which escapes markup itself: only what XML cannot hold is replaced."""
    return text.encode("utf-8", "replace").decode("utf-8").translate({c: " " for c in range(32) if c != 10})


def _label_width(lane: Lane) -> float:
    return 6.2 * max((len(_label(entries)) for entries in _by_row(lane)), default=0) + 8


def _by_row(lane: Lane) -> list[list[Kept]]:
    return [
        list(entries) for _, entries in groupby(sorted(lane.kept, key=lambda one: one.first), lambda one: one.first)
    ]


def _label(entries: list[Kept]) -> str:
    """`Sigmoid @0`: who saved, at which version; more than one in a row are counted."""
    if len(entries) > 1:
        return f"{len(entries)} nodes @{entries[0].version}"
    return f"{shorten(entries[0].node.removesuffix('Backward0').rpartition('::')[2], 14)} @{entries[0].version}"


def _grounds(shown: Timeline, places: _Places, theme: Theme) -> list[str]:
    """One panel per storage, behind all of its counters, with its names on top."""
    parts = []
    for storage, group in groupby(range(len(shown.lanes)), lambda number: shown.lanes[number].storage):
        numbers = list(group)
        left, right = places.edges[numbers[0]][0], places.edges[numbers[-1]][1]
        lanes = [shown.lanes[number] for number in numbers]
        shared = sum(len({one.name for one in lane.names}) for lane in lanes) > 1
        fill = mix(SURFACE[theme], meaning("view" if shared else "operation").accent(theme), 0.07)
        parts.append(
            f'<rect x="{left:.0f}" y="6" width="{right - left:.0f}" height="{places.bottom - 2:.0f}" rx="8" '
            f'fill="{fill}" stroke="{LINE[theme]}" stroke-opacity=".35"/>'
        )
        names = ", ".join(dict.fromkeys(lane.title for lane in lanes))
        room = int((right - left - 16) / 7.6)
        words = f"storage {storage}: {names}, {format_bytes(lanes[0].nbytes)}"
        head = _text(left + 10, 25, shorten(names, max(room, 6)), TEXT[theme], 13, 650)
        parts.append(_group(words + ("\none memory, several tensors" if shared else ""), head))
        for number in numbers:
            note = f"{format_bytes(shown.lanes[number].nbytes)}"
            if len(numbers) > 1:
                note = f"counter of {shorten(shown.lanes[number].title.partition(',')[0], 8)}"
            note = "no version counter" if shown.lanes[number].counter < 0 else note
            parts.append(_text(places.edges[number][0] + 10, 42, note, MUTED[theme], 10.5))
    return parts


def _row(row: Row, number: int, places: _Places, theme: Theme, selected: int) -> str:
    top = places.tops[number]
    height = (places.tops[number + 1] if number + 1 < len(places.tops) else places.bottom) - top
    accent = meaning("non_finite" if row.error else "gradient").accent(theme)
    amount = 0.16 if row.error else 0.1 if row.is_backward else 0.0
    parts = []
    if amount:
        fill = mix(BACKGROUND[theme], accent, amount)
        parts.append(_box(-MARGIN + 4, top, places.right + 4, height, fill, ' fill-opacity=".75"'))
    if row.line == selected:
        extra = f' stroke="{meaning("input").accent(theme)}" stroke-width="1.6"'
        parts.append(_box(-MARGIN + 4, top + 1, places.right + 4, height - 2, "none", extra))
    parts.append(_box(-MARGIN + 4, top, places.right + 4, height, "#000", ' fill-opacity="0"'))
    quiet = "" if row.ran else ' fill-opacity=".5"'
    parts.append(_text(0, top + 22, str(row.line), MUTED[theme], 11))
    indent = 14 * len(row.modes)
    letters = int((places.code - 30 - indent) / LETTER)
    code = shorten(row.text, max(letters, 8))
    parts.append(
        f'<text x="{24 + indent}" y="{top + 22:.0f}" font-size="12.2" xml:space="preserve" '
        f'font-family={quoteattr(CODE_FONT)} fill="{TEXT[theme]}"{quiet}>{safe(code)}</text>'
    )
    below = _below(row)
    if below:
        colour = accent if row.error else MUTED[theme]
        parts.append(_text(24 + indent, top + 40, shorten(below, int((places.code - 24) / 6)), colour, 11))
    return _group(row_words(row), "".join(parts), f' class="row" data-line="{row.line}"')


def _below(row: Row) -> str:
    if row.error:
        return "raises here" if not row.is_backward else "backward raises"
    words = [f"under {' and '.join(row.modes)}"] if row.modes else []
    return ", ".join([*words, "backward"] if row.is_backward else words)


def _box(x: float, y: float, width: float, height: float, fill: str, extra: str = "") -> str:
    return f'<rect x="{x:.0f}" y="{y:.0f}" width="{width:.0f}" height="{height:.0f}" rx="5" fill="{fill}"{extra}/>'


def _lane(lane: Lane, number: int, places: _Places, theme: Theme) -> list[str]:
    x = places.lines[number]
    start, end = places.middle(lane.born), places.middle(lane.last) + ROW / 2 - 4
    colour = meaning("operation").accent(theme)
    parts = [_group(lane_words(lane), f'<path d="M{x:.1f} {start:.1f}V{end:.1f}" stroke="{colour}" stroke-width="2"/>')]
    for place, kept in enumerate(sorted(lane.kept, key=lambda one: one.first)):
        parts.append(_kept(kept, x + 26 + STEP * place, places, theme))
    for entries in _by_row(lane):
        at = x + 26 + STEP * len(lane.kept)
        parts.append(_text(at, places.middle(entries[0].first) + 4, _label(entries), MUTED[theme], 10.5))
    written = {one.row: one for one in lane.writes}
    for row, version in lane.versions:
        write = written.pop(row, None)
        parts.append(_pill(x, places.middle(row), "–" if version is None else str(version), write is not None, theme))
        if write is not None:
            parts.append(_write(lane, row, x, places, theme))
    parts += [_write(lane, row, x, places, theme) for row in written]
    return parts + _names(lane, x, places, theme)


def _names(lane: Lane, x: float, places: _Places, theme: Theme) -> list[str]:
    """Names to the left of the line, in the row in which they come."""
    parts = []
    for row, entries in groupby(lane.names, lambda one: one.row):
        found = list(entries)
        words = shorten(", ".join(one.name for one in found), 7)
        is_view = any(one.of for one in found)
        colour = meaning("view").accent(theme) if is_view else TEXT[theme]
        y = places.middle(row)
        if is_view:
            parts.append(_mark("hollow_diamond", x - LEFT + 6, y - 4, 0.8, colour))
        parts.append(
            f'<text x="{x - 19:.0f}" y="{y + 4:.0f}" text-anchor="end" font-size="11.5" font-weight="600" '
            f'font-family={quoteattr(CODE_FONT)} fill="{colour}">{safe(words)}</text>'
        )
    return parts


def _pill(x: float, y: float, text: str, is_write: bool, theme: Theme) -> str:
    colour = meaning("written" if is_write else "operation").accent(theme)
    fill = colour if is_write else SURFACE[theme]
    ink = BACKGROUND[theme] if is_write else TEXT[theme]
    width = 22 + 6 * max(0, len(text) - 1)
    return (
        f'<rect x="{x - width / 2:.1f}" y="{y - 10:.1f}" width="{width}" height="20" rx="10" fill="{fill}" '
        f'stroke="{colour}" stroke-width="1.6"/><text x="{x:.1f}" y="{y + 4:.1f}" text-anchor="middle" '
        f'font-size="12" font-weight="650" fill="{ink}">{safe(text)}</text>'
    )


def _write(lane: Lane, row: int, x: float, places: _Places, theme: Theme) -> str:
    write = next(one for one in lane.writes if one.row == row)
    what = meaning("written")
    area = _box(x - 26, places.middle(row) - 12, 40, 24, "#000", ' fill-opacity="0"')
    mark = _mark(what.mark, x - 24, places.middle(row) - 5, 1.0, what.accent(theme))
    shown = "" if any(one.row == row for one in lane.names) else mark
    return _group(write_words(write), shown + area)


def _kept(kept: Kept, x: float, places: _Places, theme: Theme) -> str:
    """From the row that saved to the one that reads: a line that turns at the write which makes it stale."""
    saved = meaning("saved").accent(theme)
    top, end = places.middle(kept.first), places.middle(kept.last)
    turned = places.middle(kept.changed) if kept.changed >= 0 else end
    parts = [f'<path d="M{x:.1f} {top:.1f}V{turned:.1f}" stroke="{saved}" stroke-width="3" stroke-opacity=".8"/>']
    if kept.changed >= 0:
        what = meaning("modified" if kept.ending == "stale" else "overwritten")
        colour = what.accent(theme)
        parts.append(
            f'<path d="M{x:.1f} {turned:.1f}V{end:.1f}" stroke="{colour}" stroke-width="3" stroke-dasharray="4 3"/>'
        )
        parts.append(_mark(what.mark, x - 6, turned - 6, 1.2, colour))
        if kept.breaks and kept.last > kept.changed:
            parts.append(_mark("cross" if kept.ending == "stale" else what.mark, x - 6, end - 6, 1.2, colour))
    elif kept.ending == "read":
        parts.append(_mark("check", x - 5.5, end - 6, 1.1, saved))
    if kept.changed != kept.first:
        parts.append(_mark(meaning("saved").mark, x - 5.5, top - 5.5, 1.1, saved))
    area = _box(x - 8, top - 10, 16, max(end - top, 0) + 20, "#000", ' fill-opacity="0"')
    return _group(kept_words(kept), "".join(parts) + area)


def _legend(shown: Timeline) -> list[str]:
    """What this picture has, in the order of LEGEND."""
    kept = [one for lane in shown.lanes for one in lane.kept]
    present = {
        "written": any(lane.writes for lane in shown.lanes),
        "saved": bool(kept),
        "modified": any(one.ending == "stale" for one in kept),
        "overwritten": any(one.ending == "overwritten" for one in kept),
        "view": any(one.of for lane in shown.lanes for one in lane.names),
    }
    return [key for key in LEGEND if present.get(key)]


def _legend_entry(key: str, x: float, y: float, theme: Theme) -> list[str]:
    what = meaning(key)
    words = LEGEND_WORDS.get(key, what.label)
    return [_mark(what.mark, x, y - 5, 1.0, what.accent(theme)), _text(x + 16, y + 4, words, MUTED[theme], 11)]


def _mark(name: str, x: float, y: float, scale: float, colour: str) -> str:
    return (
        f'<path transform="translate({x:.1f} {y:.1f}) scale({scale})" d="{MARKS[name]}" fill="{colour}" '
        f'fill-rule="evenodd"/>'
    )


def _text(x: float, y: float, text: str, colour: str, size: float, weight: int = 400) -> str:
    return (
        f'<text x="{x:.0f}" y="{y:.0f}" font-size="{size}" font-weight="{weight}" fill="{colour}">{safe(text)}</text>'
    )


def _group(words: str, content: str, extra: str = "") -> str:
    return f"<g{extra} data-tip={quoteattr(safe_attribute(words), {chr(10): '&#10;'})}>{content}</g>"
