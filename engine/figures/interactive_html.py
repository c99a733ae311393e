"""The picture as one HTML file that works like the canvas in the app: from disk, offline, with nothing loaded.

The canvas itself (markup, styles, scripts) comes in as `Canvas`; data are base64 inside of a script of type
application/json, and a Content Security Policy lets only the one script run that was written here.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping, Sequence

import msgspec

from engine.figures.embedded_pictures import Embedded, Limits, embed
from engine.figures.export import totals
from engine.figures.replay_track import ReplayTrack
from engine.figures.scene import Prepared, draw
from engine.figures.svg import safe
from engine.figures.units import shorten
from engine.figures.view import GraphView
from engine.graph.spec import Leaf

ENTRY = re.compile(r"^export default ", re.M)
"""The canvas is a module; in a file opened from disk it has to be a classic script."""
BREAKS_OUT = re.compile(r"</script|<script|<!--", re.I)


class Canvas(msgspec.Struct, frozen=True, kw_only=True):
    """The canvas's own files: `markup` of the component, `page` around it, `styles`, and `scripts` in order of use."""

    markup: str
    page: str
    styles: str
    scripts: str
    standalone: str


def interactive_html(
    prepared: Prepared,
    view: GraphView,
    canvas: Canvas,
    *,
    title: str,
    leaves: Sequence[Leaf] = (),
    track: ReplayTrack | None = None,
    numbers: Sequence[tuple[str, str]] | None = None,
    spec: str = "",
    script: str = "",
    limits: Limits | None = None,
) -> str:
    """The picture of a prepared graph as `view` shows it, with the inside of its groups as far as `limits` allow.

    `leaves` add gradient norms to the facts, with `track` the file plays a recorded backward pass. `numbers` are names
    and values (`totals` unless given), `spec` and `script` settings and code, shown as text. ValueError when `canvas`
    has not one entry point.
    """
    scene = draw(prepared, view)
    embedded = embed(prepared, view, scene, leaves, limits, track)
    said = {
        "title": shorten(title, 200),
        "numbers": tuple(totals(prepared.marking.own) if numbers is None else numbers),
        "notes": scene.notes,
        "spec": spec,
        "script": script,
        "more": embedded.left_out,
    }
    return _page(canvas, embedded, said)


def _page(canvas: Canvas, embedded: Embedded, said: Mapping[str, object]) -> str:
    code = _code(canvas)
    title = safe(str(said["title"])) or "Autograd graph"
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_policy(code)}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="referrer" content="no-referrer">'
        f"<title>{title}</title><style>{canvas.styles}</style></head>\n<body>"
        f"{canvas.page.replace('<!-- canvas -->', canvas.markup)}\n"
        f'<script type="application/json" id="atlas-data">{_data(embedded, said)}</script>\n'
        f"<script>{code}</script>\n</body></html>\n"
    )


def _code(canvas: Canvas) -> str:
    """One classic script in strict mode; the canvas gives its entry point and its views, and keeps its other names."""
    if len(ENTRY.findall(canvas.scripts)) != 1:
        raise ValueError(
            f"Canvas.scripts must hold one `export default`, the entry point; received "
            f"{len(ENTRY.findall(canvas.scripts))}. Pass all scripts of the canvas, joined in order of use."
        )
    entry = ENTRY.sub("const drawGraph = ", canvas.scripts)
    drawing = f"const {{ drawGraph, instances }} = (() => {{\n{entry}\nreturn {{ drawGraph, instances }};\n}})();"
    code = f'(() => {{\n"use strict";\n{drawing}\n{canvas.standalone}\n}})();'.replace("\r\n", "\n")
    if BREAKS_OUT.search(code):
        raise ValueError("Canvas.scripts must not hold `<script`, `</script` or `<!--`. Write them in two parts.")
    return code


def _policy(code: str) -> str:
    """Nothing is loaded; exactly this script runs, none that a name might bring."""
    digest = base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()
    return (
        f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )


def _data(embedded: Embedded, said: Mapping[str, object]) -> str:
    """JSON without a letter that means something in HTML or breaks a line in a script."""
    content = {
        "pictures": embedded.pictures,
        "inside": embedded.inside,
        "facts": embedded.facts,
        **said,
    }
    text = msgspec.json.encode(content).decode()
    return re.sub("[<>&\u2028\u2029]", lambda found: f"\\u{ord(found.group()):04x}", text)
