"""A report that is one HTML file: picture, key numbers, tables, text; no script, no network."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from engine.figures.export import totals
from engine.figures.palette import BACKGROUND, MUTED, TEXT
from engine.figures.scene import Scene
from engine.figures.svg import safe, scene_svg
from engine.figures.units import format_shape, format_significant
from engine.graph.spec import Graph, Leaf

_STYLE = f"""
:root {{ color-scheme: light dark;
  --ground: {BACKGROUND["light"]}; --ink: {TEXT["light"]}; --quiet: {MUTED["light"]}; }}
@media (prefers-color-scheme: dark) {{
  :root {{ --ground: {BACKGROUND["dark"]}; --ink: {TEXT["dark"]}; --quiet: {MUTED["dark"]}; }}
  .light {{ display: none; }}
}}
@media (prefers-color-scheme: light) {{ .dark {{ display: none; }} }}
@media print {{ .dark {{ display: none; }} .light {{ display: block; }} }}
body {{ margin: 2rem auto; max-width: 76rem; padding: 0 1.5rem; background: var(--ground); color: var(--ink);
  font: 15px/1.5 ui-sans-serif, system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }}
.picture {{ overflow: auto; border: 1px solid var(--quiet); border-radius: 8px; }}
.picture svg {{ display: block; max-width: 100%; height: auto; }}
dl {{ display: flex; flex-wrap: wrap; gap: 1rem 2.5rem; }}
dt {{ color: var(--quiet); }}
dd {{ margin: 0; font-size: 1.4rem; font-weight: 600; font-variant-numeric: tabular-nums; }}
table {{ border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }}
th, td {{ padding: .25rem .75rem .25rem 0; text-align: left;
  border-bottom: 1px solid color-mix(in srgb, var(--quiet) 35%, transparent);
  overflow-wrap: anywhere; vertical-align: top; }}
pre {{ overflow: auto; padding: 1rem; border: 1px solid var(--quiet); border-radius: 8px; }}
.quiet {{ color: var(--quiet); }}
"""


class Table(msgspec.Struct, frozen=True):
    """A titled table of words."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


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


def report_html(
    scene: Scene, graph: Graph, *, title: str, tables: Sequence[Table] = (), spec: str = "", script: str = ""
) -> str:
    """One self-contained page; `spec` and `script` are shown as text."""
    numbers = "".join(f"<div><dt>{safe(name)}</dt><dd>{safe(value)}</dd></div>" for name, value in totals(graph))
    notes = "".join(f"<p>{safe(note)}</p>" for note in scene.notes)
    parts = [
        f"<h1>{safe(title)}</h1>",
        f'<div class="picture light">{scene_svg(scene, "light")}</div>',
        f'<div class="picture dark">{_renamed(scene_svg(scene, "dark"))}</div>',
        f'<p class="quiet">{scene.nodes_shown} of {scene.nodes_total} nodes shown.</p>{notes}',
        f"<dl>{numbers}</dl>",
        *(_table(table) for table in tables),
        f"<h2>Script</h2><pre>{safe(script)}</pre>" if script else "",
        f"<h2>Spec</h2><pre>{safe(spec)}</pre>" if spec else "",
    ]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<title>{safe(title)}</title><style>{_STYLE}</style></head><body>{''.join(parts)}</body></html>\n"
    )


def _renamed(svg: str) -> str:
    """Ids of the second picture must differ from the first one's."""
    for name in ("head", "hatch"):
        svg = svg.replace(f'id="{name}"', f'id="{name}-dark"').replace(f"url(#{name})", f"url(#{name}-dark)")
    return svg


def _table(table: Table) -> str:
    head = "".join(f"<th>{safe(name)}</th>" for name in table.columns)
    rows = "".join(f"<tr>{''.join(f'<td>{safe(cell)}</td>' for cell in row)}</tr>" for row in table.rows)
    return f"<h2>{safe(table.title)}</h2><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
