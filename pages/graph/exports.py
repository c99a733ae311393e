"""The files this page saves: pictures as they are folded now, and everything that was recorded."""

from __future__ import annotations

from collections.abc import Callable

from engine.figures.export import edges_csv, graph_dot, graph_json, nodes_csv, totals
from engine.figures.graph_report import graph_report, leaf_table
from engine.figures.interactive_html import interactive_html
from engine.figures.scene import Scene
from engine.figures.svg import scene_svg
from engine.figures.units import format_count
from engine.figures.view import GraphView
from engine.graph.spec import GraphSpec, Traced
from engine.models.shape import describe
from engine.script import script_for
from pages.graph.pictures import Drawable, picture
from pages.graph.view_options import current_view
from pages.shared.canvas_files import canvas_files
from pages.shared.downloads import Download, as_json, spec_downloads


def downloads(spec: GraphSpec, traced: Traced, pinned: GraphSpec | None) -> tuple[Download, ...]:
    """Every file is made when its button is clicked; a PNG is saved by the picture's own toolbar."""
    view = current_view()

    def scene() -> Scene:
        return picture(spec, pinned, view)[0]

    graph = traced.graph
    nodes, edges = f"{format_count(len(graph.nodes))} nodes", f"{format_count(len(graph.edges))} edges"
    files: tuple[tuple[str, str, str, Callable[[], str | bytes]], ...] = (
        (
            "Picture as folded now, to explore offline (HTML)",
            "graph.html",
            "text/html",
            _page(spec, traced, pinned, view),
        ),
        ("Picture as folded now, light (SVG)", "graph.svg", "image/svg+xml", lambda: scene_svg(scene(), "light")),
        ("Picture as folded now, dark (SVG)", "graph-dark.svg", "image/svg+xml", lambda: scene_svg(scene(), "dark")),
        ("Report with picture and tables (HTML)", "report.html", "text/html", lambda: _report(spec, traced, scene())),
        (f"All {nodes} (CSV)", "nodes.csv", "text/csv", lambda: nodes_csv(graph)),
        (f"All {edges} (CSV)", "edges.csv", "text/csv", lambda: edges_csv(graph)),
        ("Whole graph, every field (JSON)", "graph.json", "application/json", _json(traced)),
        ("Whole graph for Graphviz (DOT)", "graph.dot", "text/vnd.graphviz", lambda: graph_dot(graph, clusters=True)),
    )
    return (*(Download(*file) for file in files), *spec_downloads(spec, "graph"))


def _title(spec: GraphSpec) -> str:
    return f"Autograd graph of {describe(spec.model.architecture)}"


def _json(traced: Traced) -> Callable[[], bytes]:
    return lambda: graph_json(traced.graph, traced.leaves, traced.modules)


def _page(spec: GraphSpec, traced: Traced, pinned: GraphSpec | None, view: GraphView) -> Callable[[], str]:
    """Prepared anew, so that a page that takes seconds keeps no other session from drawing."""
    return lambda: interactive_html(
        Drawable(spec, pinned, view).prepared,
        view,
        canvas_files(),
        title=_title(spec),
        leaves=traced.leaves,
        numbers=totals(traced.graph),
        spec=as_json(spec),
        script=script_for(spec),
    )


def _report(spec: GraphSpec, traced: Traced, scene: Scene) -> str:
    return graph_report(
        scene,
        traced.graph,
        title=_title(spec),
        tables=(leaf_table(traced.leaves),),
        spec=as_json(spec),
        script=script_for(spec),
    )
