"""The files the page on custom Functions saves."""

from __future__ import annotations

from engine.custom_function.results import CheckedFunction
from engine.custom_function.spec import CustomFunctionSpec
from engine.figures.csv_text import csv_text
from engine.figures.custom_function_curves import LINES, values_of
from engine.figures.custom_function_jacobians import jacobian_rows
from engine.figures.custom_function_svg import curves_svg
from engine.figures.report import Table, report_html
from engine.script import script_for
from pages.backward.custom_functions_details import kept_table, order_table, slot_table, trace_table
from pages.backward.custom_functions_numbers import function_numbers, number_text
from pages.shared.downloads import Download, as_json, spec_downloads

SVG = "image/svg+xml"


def downloads(spec: CustomFunctionSpec, found: CheckedFunction) -> tuple[Download, ...]:
    """Pictures of the first curve, curves and Jacobians as tables, the report, everything."""
    return (
        *_pictures(spec, found),
        Download("Curves (CSV)", "curves.csv", "text/csv", lambda: curves_csv(found)),
        Download("Jacobians (CSV)", "jacobians.csv", "text/csv", lambda: jacobians_csv(spec, found)),
        Download("Decision trace (CSV)", "trace.csv", "text/csv", lambda: str(trace_table(found).to_csv(index=False))),
        Download("Report (HTML)", "custom-function.html", "text/html", lambda: report(spec, found)),
        Download("Everything read (JSON)", "custom-function.json", "application/json", lambda: as_json(found)),
        *spec_downloads(spec, "custom-function"),
    )


def _pictures(spec: CustomFunctionSpec, found: CheckedFunction) -> tuple[Download, ...]:
    if not found.curves:
        return ()
    curve = found.curves[0]
    return (
        Download("Picture, light (SVG)", "custom-function.svg", SVG, lambda: curves_svg(spec, found, curve, "light")),
        Download(
            "Picture, dark (SVG)", "custom-function-dark.svg", SVG, lambda: curves_svg(spec, found, curve, "dark")
        ),
    )


def curves_csv(found: CheckedFunction) -> str:
    """One row per output and x; empty where there is no such curve."""
    rows = []
    for curve in found.curves:
        x = values_of(curve, "x")
        columns = [values_of(curve, name) for name, *_ in LINES]
        assert x is not None
        rows += [
            (curve.output, at, *("" if column is None else float(column[number]) for column in columns))
            for number, at in enumerate(x.tolist())
        ]
    return csv_text(("output", "x", *(name for name, *_ in LINES)), rows)


def jacobians_csv(spec: CustomFunctionSpec, found: CheckedFunction) -> str:
    """One row per entry."""
    return csv_text(("row", "column", "analytical", "numerical", "outside"), jacobian_rows(spec, found))


def report(spec: CustomFunctionSpec, found: CheckedFunction) -> str:
    """Picture, verdict, numbers and tables in one file."""
    pictures = [curves_svg(spec, found, found.curves[0], theme) if found.curves else "" for theme in ("light", "dark")]
    numbers = [
        (one.label, one.missing if one.value is None else number_text(one.value, one.unit))
        for one in function_numbers(spec, found)
    ]
    frames = {
        "Why": trace_table(found), "Orders": order_table(found), "ctx keeps": kept_table(found),
        "Slots": slot_table(found),
    }  # fmt: skip
    tables = [
        Table(title, tuple(map(str, frame.columns)), tuple(tuple(map(str, row)) for row in frame.to_numpy().tolist()))
        for title, frame in frames.items()
    ]
    return report_html(
        *pictures,
        title=f"{spec.function}: {found.verdict.kind}",
        numbers=numbers,
        notes=(found.verdict.sentence, found.verdict.remedy),
        tables=tables,
        spec=as_json(spec),
        script=script_for(spec),
    )
