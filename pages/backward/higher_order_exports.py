"""The files that the page on higher derivatives saves: pictures, tables, data, report, settings and script."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd

from engine.figures.arrays import array
from engine.figures.higher_order_charts import TITLES, curve_limits
from engine.figures.lines_svg import Line, lines_svg
from engine.figures.matrix_svg import matrix_svg
from engine.figures.palette import Theme
from engine.figures.report import Table, report_html
from engine.figures.svg import scene_svg
from engine.figures.timing_svg import comparison_svg
from engine.figures.units import format_bytes, format_significant
from engine.higher_order.results import Curvature, Derivatives, Products
from engine.higher_order.spec import ArticleSpec, CurvatureSpec, DerivativeSpec, MatrixSpec, ProductSpec
from engine.script import script_for
from pages.backward.higher_order_article import situation_rows
from pages.backward.higher_order_controls import KINDS, AnySpec
from pages.backward.higher_order_curvature import step_rows
from pages.backward.higher_order_derivatives import order_rows, picture
from pages.backward.higher_order_matrices import way_rows as matrix_rows
from pages.backward.higher_order_numbers import numbers_of
from pages.backward.higher_order_products import way_rows
from pages.backward.higher_order_rulings import ruling_rows
from pages.shared.downloads import Download, as_json, spec_downloads

Drawing = Callable[[Theme], str]


def downloads(spec: AnySpec, found: Any) -> tuple[Download, ...]:
    """Every picture in both themes, the table and the data of a section, and an offline report."""
    name = {kind: words for words, kind in KINDS.items()}[type(spec)]
    file = name.lower().replace(" ", "_").replace(",", "").replace("'", "")
    drawings = _drawings(spec, found)
    files: list[Download] = []
    for title, draw in drawings.items():
        stem = f"{file}_{title.lower().replace(' ', '_')}"
        for theme, end in (("light", ""), ("dark", "-dark")):
            content = _drawn(draw, "light" if theme == "light" else "dark")
            files.append(Download(f"{title}, {theme} (SVG)", f"{stem}{end}.svg", "image/svg+xml", content))
    return (
        *files,
        Download("Report, offline (HTML)", f"{file}.html", "text/html", lambda: _report(name, spec, found, drawings)),
        Download("Table (CSV)", f"{file}.csv", "text/csv", lambda: str(rows_of(spec, found).to_csv(index=False))),
        Download("Everything computed (JSON)", f"{file}.json", "application/json", lambda: as_json(found)),
        *spec_downloads(spec, file),
    )


def _drawn(draw: Drawing, theme: Theme) -> Callable[[], str]:
    return lambda: draw(theme)


def rows_of(spec: AnySpec, found: Any) -> pd.DataFrame:
    """The table of a section; of a matrix its entries."""
    if isinstance(spec, DerivativeSpec):
        return order_rows(found, spec.dtype)
    if isinstance(spec, MatrixSpec):
        return pd.DataFrame(array(found.matrix)) if found.matrix is not None else matrix_rows(found)
    if isinstance(spec, ProductSpec):
        return way_rows(found)
    if isinstance(spec, CurvatureSpec):
        return step_rows(found)
    return situation_rows(found) if isinstance(spec, ArticleSpec) else ruling_rows(found)


def _drawings(spec: AnySpec, found: Any) -> dict[str, Drawing]:
    if isinstance(spec, DerivativeSpec):
        return _derivative_drawings(spec, found)
    if isinstance(spec, MatrixSpec) and found.matrix is not None:
        return {"Matrix": lambda theme: matrix_svg(array(found.matrix), theme, title=f"{spec.matrix}, {spec.function}")}
    if isinstance(spec, ProductSpec):
        return _product_drawings(found)
    if isinstance(spec, CurvatureSpec):
        return {"Convergence": lambda theme: _convergence(found, theme)}
    return {}


def _derivative_drawings(spec: DerivativeSpec, found: Derivatives) -> dict[str, Drawing]:
    drawings: dict[str, Drawing] = {}
    if found.curves:
        drawings["Curves"] = lambda theme: _curves(spec, found, theme)
    for one in found.orders:
        if one.graph is not None:
            drawings[f"Graph of order {one.order}"] = _graph(spec, one.order)
    return drawings


def _graph(spec: DerivativeSpec, order: int) -> Drawing:
    return lambda theme: scene_svg(picture(spec, order)[0], theme)


def _curves(spec: DerivativeSpec, found: Derivatives, theme: Theme) -> str:
    x = array(found.x).tolist()
    lines = [Line(TITLES[one.order], x, array(one.autograd).tolist(), one.order) for one in found.curves]
    return lines_svg(lines, theme, title=f"Derivatives of {spec.text}", x_title="x", limits=curve_limits(found))


def _product_drawings(found: Products) -> dict[str, Drawing]:
    drawings: dict[str, Drawing] = {}
    comparison = found.comparison
    if comparison is not None:
        drawings["Times"] = lambda theme: comparison_svg(comparison, theme)
    if found.growth:
        drawings["Growth"] = lambda theme: lines_svg(
            [Line(one.name, one.sizes, one.peak_bytes, place) for place, one in enumerate(found.growth)],
            theme,
            title="Peak bytes of one call",
            x_title="n (both axes logarithmic)",
            log_x=True,
            log_y=True,
        )
    return drawings


def _convergence(found: Curvature, theme: Theme) -> str:
    steps = list(range(1, len(found.iterations) + 1))
    lines = [Line("residual", steps, [one.residual for one in found.iterations])]
    if (exact := found.largest) is not None:
        off = [abs(one.eigenvalue - exact) for one in found.iterations]
        lines.append(Line("distance to eigvalsh", steps, off, 1))
    return lines_svg(lines, theme, title="Power iteration", x_title="Hessian-vector products", log_y=True)


def _report(name: str, spec: AnySpec, found: Any, drawings: dict[str, Drawing]) -> str:
    frame = rows_of(spec, found)
    draw = next(iter(drawings.values()), None)
    rows = tuple(tuple(map(str, row)) for row in frame.itertuples(index=False))
    return report_html(
        draw("light") if draw else "",
        draw("dark") if draw else "",
        title=f"Higher order: {name}",
        numbers=[
            (n.label, n.missing if n.value is None else _formatted(n.value, n.unit)) for n in numbers_of(spec, found)
        ],
        tables=(Table(name, tuple(map(str, frame.columns)), rows),),
        spec=as_json(spec),
        script=script_for(spec),
    )


def _formatted(value: float, unit: str) -> str:
    if unit == "bytes":
        return format_bytes(value)
    return f"{value:.0%}" if unit == "%" else format_significant(value)
