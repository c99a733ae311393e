"""The files this page saves: picture, report, data, spec and script."""

from __future__ import annotations

from collections.abc import Callable

from engine.figures.export import graph_dot, graph_json, nodes_csv
from engine.figures.graph_report import graph_report, leaf_table
from engine.figures.scene import Scene
from engine.figures.svg import scene_svg
from engine.graph.spec import GraphSpec, Traced
from engine.models.shape import describe
from engine.script import script_for
from pages.graph.pictures import picture
from pages.graph.view_options import current_view
from pages.shared.downloads import Download, as_json, spec_downloads


def downloads(spec: GraphSpec, traced: Traced, pinned: GraphSpec | None) -> tuple[Download, ...]:
    """The picture as it is folded now, and everything that was recorded."""
    view = current_view()

    def scene() -> Scene:
        return picture(spec, pinned, view)[0]

    graph = traced.graph
    files: tuple[tuple[str, str, str, Callable[[], str | bytes]], ...] = (
        ("Picture, light (SVG)", "graph.svg", "image/svg+xml", lambda: scene_svg(scene(), "light")),
        ("Picture, dark (SVG)", "graph-dark.svg", "image/svg+xml", lambda: scene_svg(scene(), "dark")),
        ("Report, offline (HTML)", "report.html", "text/html", lambda: _report(spec, traced, scene())),
        ("Every node (CSV)", "nodes.csv", "text/csv", lambda: nodes_csv(graph)),
        ("Whole graph (JSON)", "graph.json", "application/json", lambda: graph_json(graph)),
        ("Whole graph (DOT)", "graph.dot", "text/vnd.graphviz", lambda: graph_dot(graph)),
    )
    return (*(Download(*file) for file in files), *spec_downloads(spec, "graph"))


def _report(spec: GraphSpec, traced: Traced, scene: Scene) -> str:
    return graph_report(
        scene,
        traced.graph,
        title=f"Autograd graph of {describe(spec.model.architecture)}",
        tables=(leaf_table(traced.leaves),),
        spec=as_json(spec),
        script=script_for(spec),
    )
