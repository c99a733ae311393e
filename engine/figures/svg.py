"""A scene as one self-contained SVG text."""

from __future__ import annotations

from collections.abc import Sequence
from xml.sax.saxutils import escape, quoteattr

from engine.figures.box_words import MARKERS, Marker
from engine.figures.colours import Colour
from engine.figures.label_places import place_words
from engine.figures.labels import CHANGES
from engine.figures.palette import BACKGROUND, LINE, MARKS, MUTED, TEXT, Theme, meaning
from engine.figures.scene import Box, Scene, Wire
from engine.figures.units import shorten

FONT = "ui-sans-serif, system-ui, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif"
MARGIN = 24
STEP = 58
"""Width of one step of a scale in the legend."""
WIRE_MARKS = ("added", "removed")
UNRULY = {
    ord(c): "\ufffd" for c in "\u200b\u200c\u200d\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
}
"""Characters that would turn the direction of what follows: shown as a sign instead."""
UNPRINTABLE = {ord(c): " " for c in map(chr, range(32)) if c not in "\t\n\r"} | {0xFFFE: " ", 0xFFFF: " "}


def safe(text: str) -> str:
    """`text` for XML: markup escaped, characters XML cannot hold replaced."""
    clean = text.translate(UNPRINTABLE).encode("utf-8", "replace").decode("utf-8")
    return escape(clean)


def scene_svg(scene: Scene, theme: Theme = "light") -> str:
    """A self-contained SVG of the scene, its legend below it."""
    legend, legend_height = _legend(scene, theme)
    width = max(scene.width, 320) + 2 * MARGIN
    height = max(scene.height, 60) + legend_height + 2 * MARGIN
    body = [_frame(box, theme) for box in scene.boxes if box.role == "frame"]
    body += [_wire(wire, theme) for wire in scene.wires]
    numbers, labels = place_words(scene)
    body += [_text(at.x + 2, at.y + 11, at.text, 10, 600, TEXT[theme], at.width + 60) for at in numbers]
    body += [_text(at.x + 2, at.y + 11, at.text, 10, 500, MUTED[theme], at.width + 60) for at in labels]
    body += [_box(scene, box, theme) for box in scene.boxes if box.role != "frame"]
    if not scene.boxes:
        body.append(_text(0, 24, scene.summary, 14, 500, MUTED[theme], 2000))
    hatch = meaning("dropped").accent(theme)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
            f'viewBox="{-MARGIN} {-MARGIN} {width:.1f} {height:.1f}" font-family={quoteattr(FONT)} role="img">',
            f"<title>{safe(scene.summary)}</title>",
            f"<defs>{_head('', LINE[theme])}{''.join(_head(key, meaning(key).accent(theme)) for key in WIRE_MARKS)}"
            '<pattern id="hatch" width="8" height="8" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
            f'<path d="M0 0V8" stroke="{hatch}" stroke-opacity=".35" stroke-width="2"/></pattern></defs>',
            f'<rect x="{-MARGIN}" y="{-MARGIN}" width="{width:.1f}" height="{height:.1f}" fill="{BACKGROUND[theme]}"/>',
            *body,
            *legend,
            "</svg>",
        ]
    )


def _legend(scene: Scene, theme: Theme) -> tuple[list[str], float]:
    """A scale as one bar; then every colour's mark and what it stands for, set like words; and the height of it."""
    colours = [scene.colours[index] for index in scene.legend]
    steps = [colour for colour in colours if colour.scale]
    x, y, room = 0.0, max(scene.height, 60) + MARGIN, max(scene.width, 320)
    parts = _scale(steps, y, theme) if steps else []
    y += 48 if steps else 0
    for colour in (colour for colour in colours if not colour.scale):
        label = shorten(colour.label, 48)
        needed = 15 + 6.6 * len(label) + 18
        if x and x + needed > room:
            x, y = 0.0, y + 18
        parts.append(_mark(colour.mark, x, y - 4.5, colour.light if theme == "light" else colour.dark))
        parts.append(_text(x + 15, y + 4, label, 11.5, 400, TEXT[theme], needed))
        x += needed
    return parts, y + 10 - max(scene.height, 60) if parts else 0.0


def _scale(steps: Sequence[Colour], y: float, theme: Theme) -> list[str]:
    """What it is of, one bar of all steps, and the largest value of each under its end."""
    parts = [_text(0, y + 4, steps[0].scale, 11.5, 400, TEXT[theme], 300)]
    for number, step in enumerate(steps):
        x, colour = STEP * number, step.light if theme == "light" else step.dark
        parts.append(f'<rect x="{x}" y="{y + 11:.1f}" width="{STEP}" height="9" fill="{colour}"/>')
        parts.append(_text(x + STEP - 5.9 * len(step.stop), y + 30, step.stop, 10, 400, TEXT[theme], STEP))
    return parts


def _head(key: str, colour: str) -> str:
    return (
        f'<marker id="head{key}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" '
        f'markerUnits="userSpaceOnUse" orient="auto"><path d="M0 0L8 4L0 8Z" fill="{colour}"/></marker>'
    )


def _text(x: float, y: float, text: str, size: float, weight: int, colour: str, room: float) -> str:
    kept = shorten(text, max(3, int(room / (size * 0.58)))).translate(UNRULY)
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" font-weight="{weight}" fill="{colour}">{safe(kept)}</text>'
    )


def _mark(path: str, x: float, y: float, colour: str) -> str:
    return f'<path transform="translate({x:.1f} {y:.1f}) scale(.9)" d="{path}" fill="{colour}" fill-rule="evenodd"/>'


def _rect(box: Box, radius: int, fill: str, stroke: str, extra: str = "") -> str:
    return (
        f'<rect x="{box.x}" y="{box.y}" width="{box.width}" height="{box.height}" rx="{radius}" '
        f'fill="{fill}" stroke="{stroke}" {extra}/>'
    )


def _frame(box: Box, theme: Theme) -> str:
    accent = meaning("module").accent(theme)
    rect = _rect(box, 11, accent, accent, 'fill-opacity=".04" stroke-opacity=".4"')
    words = _text(box.x + 14, box.y + 24, " · ".join((box.title, *box.lines)), 12.5, 600, TEXT[theme], box.width - 20)
    badge = _badge(box, meaning(box.mark).accent(theme), theme) if box.mark else ""
    return f"<g>{rect}{words}{badge}</g>"


def _wire(wire: Wire, theme: Theme) -> str:
    points = wire.curve
    segments = [f"C{' '.join(f'{v:.1f}' for v in points[i : i + 6])}" for i in range(2, len(points) - 5, 6)]
    colour = meaning(wire.mark).accent(theme) if wire.mark else LINE[theme]
    stroke = f'stroke="{colour}" stroke-width="{1.8 if wire.mark else 1.3}"'
    dashes = ' stroke-dasharray="6 5"' if wire.mark == "removed" else ""
    return (
        f'<path d="M{points[0]:.1f} {points[1]:.1f}{"".join(segments)}" fill="none" {stroke}{dashes} '
        f'marker-end="url(#head{wire.mark})"><title>{safe(chr(10).join(wire.lines))}</title></path>'
    )


def _box(scene: Scene, box: Box, theme: Theme) -> str:
    colour = scene.colours[box.colour]
    accent, fill = (colour.light, colour.light_fill) if theme == "light" else (colour.dark, colour.dark_fill)
    said = safe(chr(10).join((box.address, *box.tooltip, *box.changes)))
    parts = [f"<g><title>{said}</title>", *_body(box, accent, fill, colour.hatched, theme)]
    parts.append(_mark(colour.mark, box.x + 9, box.y + 11, accent))
    parts.append(_text(box.x + 24, box.y + 20, box.title, 13, 650, TEXT[theme], box.width - 28))
    y = box.y + 37
    for number, line in enumerate(box.lines):
        changed = says_change(box, number)
        ink = meaning(box.mark or "changed").accent(theme) if changed else MUTED[theme]
        parts.append(_text(box.x + 13, y, line, 11, 600 if changed else 400, ink, box.width - 18))
        y += 15
    y = _markers(parts, box, theme, y)
    if box.outputs:
        parts.append(_mark(MARKS["star"], box.x + 12, y - 9, meaning("output").accent(theme)))
        parts.append(_text(box.x + 26, y, ", ".join(box.outputs), 11, 600, TEXT[theme], box.width - 30))
    return "".join([*parts, "</g>"])


def says_change(box: Box, number: int) -> bool:
    """Whether a line of a box says what differs from run A: its last ones, and the counts of a group."""
    return box.lines[number].endswith(" since A") or number >= len(box.lines) - min(CHANGES, len(box.changes))


def _body(box: Box, accent: str, fill: str, hatched: bool, theme: Theme) -> list[str]:
    """Fill, outline and marks; a box that only run A has is dashed and struck out."""
    halo = meaning(box.mark).accent(theme) if box.mark else ""
    badge = _badge(box, halo, theme) if box.mark else ""
    if box.mark == "removed":
        end = box.x + min(box.width - 8, 26 + 8 * len(box.title))
        ghost = 'stroke-width="1.5" stroke-dasharray="6 4" fill-opacity=".5"'
        strike = f'<path d="M{box.x + 23:.1f} {box.y + 15.6:.1f}H{end:.1f}" stroke="{halo}" stroke-width="1.2"/>'
        return [_rect(box, 7, meaning("removed").fill(theme), halo, ghost), strike, badge]
    parts = [_rect(box, 7, fill, accent)]
    if box.dropped or hatched:
        parts.append(_rect(box, 7, "url(#hatch)", accent))
    return [*parts, _rect(box, 7, "none", halo, 'stroke-width="3"'), badge] if box.mark else parts


def _badge(box: Box, halo: str, theme: Theme) -> str:
    x, y = box.x + box.width - 4, box.y + 2
    disk = f'<circle cx="{x:.1f}" cy="{y:.1f}" r="8" fill="{halo}"/>'
    return disk + _mark(MARKS[meaning(box.mark).mark], x - 4.5, y - 4.5, BACKGROUND[theme])


def _markers(parts: list[str], box: Box, theme: Theme, y: float) -> float:
    room, cursor = box.width - 16, 0.0
    for number, leaf in enumerate(box.leaves[:MARKERS]):
        if number and cursor + leaf.width > room:
            cursor, y = 0.0, y + 19
        parts.append(_marker(leaf, box.x + 10 + cursor, y, min(room, leaf.width), theme))
        cursor += leaf.width + 4
    if len(box.leaves) > MARKERS:
        y += 19
        parts.append(_text(box.x + 13, y, f"and {len(box.leaves) - MARKERS} more", 11, 400, MUTED[theme], room))
    return y + 19 if box.leaves else y


def _marker(leaf: Marker, x: float, y: float, width: float, theme: Theme) -> str:
    what = meaning(leaf.kind)
    return (
        f"<g><title>{safe(leaf.tooltip)}</title>"
        f'<rect x="{x:.1f}" y="{y - 12:.1f}" width="{width:.1f}" height="16" rx="8" '
        f'fill="{what.fill(theme)}" stroke="{what.accent(theme)}"/>'
        f"{_mark(MARKS[what.mark], x + 5, y - 8.5, what.accent(theme))}"
        f"{_text(x + 17, y, leaf.text, 11, 500, TEXT[theme], width - 20)}</g>"
    )
