"""The report of an autograd graph: picture, totals, leaves."""

from __future__ import annotations

from collections.abc import Sequence

from engine.figures.export import totals
from engine.figures.report import Table, report_html
from engine.figures.scene import Scene
from engine.figures.svg import scene_svg
from engine.figures.units import format_shape, format_significant
from engine.graph.spec import Graph, Leaf


def leaf_table(leaves: Sequence[Leaf]) -> Table:
    """Every parameter and input with its gradient norm, or why it has none."""
    rows = tuple(
        (
            leaf.name,
            leaf.kind,
            format_shape(leaf.shape),
            leaf.dtype.removeprefix("torch."),
            str(leaf.uses),
            leaf.explanation if leaf.grad_norm is None else format_significant(leaf.grad_norm),
        )
        for leaf in leaves
    )
    return Table("Leaves", ("name", "kind", "shape", "dtype", "uses", "gradient norm, or why there is none"), rows)


def graph_report(
    scene: Scene, graph: Graph, *, title: str, tables: Sequence[Table] = (), spec: str = "", script: str = ""
) -> str:
    """One self-contained page; `spec` and `script` are shown as text."""
    return report_html(
        scene_svg(scene, "light"),
        scene_svg(scene, "dark"),
        title=title,
        numbers=totals(graph),
        notes=(f"{scene.nodes_shown} of {scene.nodes_total} nodes shown.", *scene.notes),
        tables=tables,
        spec=spec,
        script=script,
    )
