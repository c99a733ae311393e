"""A report that is one HTML file: picture, key numbers, tables, text; no script, no network."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from engine.figures.palette import BACKGROUND, MUTED, TEXT
from engine.figures.svg import safe

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


def report_html(
    light: str,
    dark: str,
    *,
    title: str,
    numbers: Sequence[tuple[str, str]] = (),
    notes: Sequence[str] = (),
    tables: Sequence[Table] = (),
    spec: str = "",
    script: str = "",
) -> str:
    """One self-contained page around the same SVG picture for both themes; all other text is shown literally.

    `numbers` are name and value, `spec` and `script` the settings and the code that lead to it.
    """
    listed = "".join(f"<div><dt>{safe(name)}</dt><dd>{safe(value)}</dd></div>" for name, value in numbers)
    parts = [
        f"<h1>{safe(title)}</h1>",
        f'<div class="picture light">{light}</div><div class="picture dark">{_renamed(dark)}</div>' if light else "",
        *(f'<p class="quiet">{safe(note)}</p>' for note in notes),
        f"<dl>{listed}</dl>",
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
    for name in dict.fromkeys(re.findall(r' id="([\w-]+)"', svg)):
        svg = svg.replace(f' id="{name}"', f' id="{name}-dark"').replace(f"url(#{name})", f"url(#{name}-dark)")
        svg = svg.replace(f'href="#{name}"', f'href="#{name}-dark"')
    return svg


def _table(table: Table) -> str:
    head = "".join(f"<th>{safe(name)}</th>" for name in table.columns)
    rows = "".join(f"<tr>{''.join(f'<td>{safe(cell)}</td>' for cell in row)}</tr>" for row in table.rows)
    return f"<h2>{safe(table.title)}</h2><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
