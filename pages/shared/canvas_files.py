"""The files of the canvas, and a graph as one interactive HTML file without Streamlit.

In a notebook: `write_html(trace_graph(loss, model=model), "graph.html")`.
"""

from __future__ import annotations

from pathlib import Path

from engine.figures.interactive_html import Canvas, interactive_html
from engine.figures.scene import prepare
from engine.figures.view import GraphView
from engine.graph.spec import Graph

FOLDER = Path(__file__).parent / "component"
SCRIPTS = (
    "surface.js",
    "grid.js",
    "scene.js",
    "camera.js",
    "words.js",
    "boxes.js",
    "along.js",
    "wires.js",
    "paint.js",
    "minimap.js",
    "chrome.js",
    "help.js",
    "input.js",
    "sheet.js",
    "save.js",
    "looking.js",
    "index.js",
    "query.js",
    "search.js",
    "paths.js",
    "tree.js",
    "reading.js",
    "replay_words.js",
    "replay_layers.js",
    "replay_paint.js",
    "replay_bar.js",
    "replay.js",
    "graph.js",
)
"""One module, in the order of use; `graph.js` exports the entry point."""
STYLES = ("graph.css", "reading.css", "replay.css")
STANDALONE = ("standalone_facts.js", "standalone.js")


def read(*names: str) -> str:
    """The texts of these files, one after the other."""
    return "\n".join((FOLDER / name).read_text(encoding="utf-8") for name in names)


def canvas_files() -> Canvas:
    """All files of the canvas and of the page around it in a file."""
    return Canvas(
        markup=read("graph.html"),
        page=read("standalone.html"),
        styles=read(*STYLES, "standalone.css"),
        scripts=read(*SCRIPTS),
        standalone=read(*STANDALONE),
    )


def write_html(graph: Graph, path: str | Path, *, view: GraphView | None = None, title: str = "Autograd graph") -> Path:
    """Write the interactive picture of `graph` to `path`; it opens from disk and loads nothing."""
    view = view or GraphView()
    text = interactive_html(prepare(graph, view), view, canvas_files(), title=title)
    written = Path(path)
    written.write_bytes(text.encode("utf-8", "replace"))
    return written
