"""The sections that weigh and time: bytes against density, and the product against dense."""

from __future__ import annotations

import msgspec
import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from engine.figures.sparse_timing import break_even_words, draw_timing
from engine.figures.sparse_weights import density_text, draw_weights
from engine.figures.timing_chart import verdict
from engine.figures.units import format_count, format_time
from engine.runner.contract import field_ranges
from engine.sparse.formula import bytes_formula
from engine.sparse.results import BreakEven, MatmulTiming, WeightCurve, Weights
from engine.sparse.spec import MatmulTimingSpec, WeightsSpec
from pages.shared.bound import bind
from pages.shared.frame import draw_exports
from pages.shared.jobs import compute, compute_beside
from pages.shared.key_numbers import KeyNumber, draw_key_numbers
from pages.shared.pin import pinned_spec
from pages.shared.theme import shown_theme
from pages.tensors.sparse_layouts_exports import section_downloads

NO_CROSSING = {"crosses": "", "always faster": "always", "always slower": "never", "unclear": "unclear"}
CHART = {"displaylogo": False, "toImageButtonOptions": {"format": "svg"}}


def draw_bytes(spec: WeightsSpec, exports: DeltaGenerator) -> None:
    """The curves, the crossovers as numbers, and the formula beside what was found."""
    weights = compute(spec)
    pinned = pinned_spec(WeightsSpec)
    before = compute_beside(pinned, "A", slot="pinned") if pinned else None
    table = weights_table(weights)
    draw_exports(exports, section_downloads(spec, weights, table, "bytes", "Bytes of sparse layouts against density"))
    for sentence in crossover_sentences(weights):
        st.markdown(sentence)
    st.caption(
        "This is about bytes. Where a product stops being faster than dense is measured in the section *Timing*."
    )
    st.plotly_chart(draw_weights(weights, shown_theme()), key="sparse.weights.chart", config=CHART)
    draw_key_numbers(weights_numbers(weights), weights_numbers(before) if before else None)
    st.dataframe(table, hide_index=True, width="stretch")
    _draw_every_dtype(spec)
    st.caption(
        "Every point is a real tensor whose arrays were weighed by `nbytes`; the crossover was found by bisection over "
        "such tensors. The formula stands beside it as a second way."
    )


def _draw_every_dtype(spec: WeightsSpec) -> None:
    asked = st.toggle(
        "The same for every dtype",
        help="Weighs and bisects once more for each dtype and index dtype",
        **bind("sparse.every_dtype"),
    )
    if not asked:
        return
    rows = []
    for dtype in field_ranges(WeightsSpec)["dtype"].choices:
        row = {"dtype": dtype}
        for index_dtype in field_ranges(WeightsSpec)["index_dtype"].choices:
            asking = msgspec.structs.replace(spec, dtype=dtype, index_dtype=index_dtype)
            found = compute_beside(asking, f"{dtype} with {index_dtype}", slot=f"weights.{dtype}.{index_dtype}")
            row |= _row_of(found, index_dtype) if found else {}
        rows.append(row)
    st.dataframe(pd.DataFrame(rows), hide_index=True, width="stretch")


def _row_of(weights: Weights, index_dtype: str) -> dict[str, str]:
    """COO once, since it always keeps int64; CSR and BSR for each index dtype."""
    names = ("coo", "csr", "bsr") if index_dtype == "int64" else ("csr", "bsr")
    curves: dict[str, WeightCurve] = {curve.layout: curve for curve in weights.curves}
    return {
        name.upper() if name == "coo" else f"{name.upper()}, {index_dtype}": _up_to(
            curves[name].most_nnz, curves[name], weights
        )
        for name in names
    }


def crossover_sentences(weights: Weights) -> list[str]:
    """Where each of COO and CSR stops being smaller than dense."""
    return [f"**{curve.layout.upper()}** {smaller_words(curve, weights)}" for curve in weights.curves[:2]]


def smaller_words(curve: WeightCurve, weights: Weights) -> str:
    """Up to which density a layout takes fewer bytes than dense, in words."""
    if curve.error is not None:
        return f"is refused: {curve.error.message}"
    if curve.most_nnz < 0:
        return "never takes fewer bytes than dense here."
    if curve.most_nnz >= weights.cells:
        return "takes fewer bytes than dense even when every cell is stored."
    density = density_text(curve.most_nnz / weights.cells)
    return (
        f"takes fewer bytes than dense up to a density of **{density}** ({format_count(curve.most_nnz)} of "
        f"{format_count(weights.cells)} cells)."
    )


def weights_numbers(weights: Weights) -> tuple[KeyNumber, ...]:
    """The density in percent up to which each layout is smaller, and the bytes of dense."""
    numbers = [
        KeyNumber(
            f"{curve.layout.upper()} wins to %",
            None if curve.error else 100 * max(curve.most_nnz, 0) / weights.cells,
            "",
            "bisection over real tensors: the highest density at which all arrays together are smaller than dense",
            missing="refused",
        )
        for curve in weights.curves
    ]
    return (*numbers, KeyNumber("Dense bytes", weights.dense_bytes, "bytes", "cells times itemsize"))


def weights_table(weights: Weights) -> pd.DataFrame:
    """One row per layout: what was found and what the formula says."""
    curves = weights.curves
    return pd.DataFrame(
        {
            "layout": [curve.layout.upper() for curve in curves],
            "smaller than dense up to": [_up_to(curve.most_nnz, curve, weights) for curve in curves],
            "entries": [None if curve.error else curve.most_nnz for curve in curves],
            "bytes by formula": [curve.formula for curve in curves],
            "by formula up to": [
                "depends on where entries lie"
                if curve.formula_nnz is None
                else _up_to(min(curve.formula_nnz, weights.cells), curve, weights)
                for curve in curves
            ],
        }
    )


def _up_to(nnz: int, curve: WeightCurve, weights: Weights) -> str:
    if curve.error is not None:
        return f"refused: {curve.error.message}"
    return "never" if nnz < 0 else density_text(nnz / weights.cells)


def draw_times(spec: MatmulTimingSpec, exports: DeltaGenerator) -> None:
    """Ratio over density with its band, the break-even in words, every comparison in a table."""
    timing = compute(spec, slot="timing")
    pinned = pinned_spec(MatmulTimingSpec)
    before = compute_beside(pinned, "A", slot="pinned") if pinned else None
    table = timing_table(timing)
    draw_exports(exports, section_downloads(spec, timing, table, "timing", "Sparse product against dense"))
    for found in timing.break_even:
        st.markdown(f"{break_even_words(found)} {bytes_words(spec, found)}")
    for layout, error in timing.refused:
        st.warning(f"{layout.upper()} is refused: {error.message}", icon=":material/block:")
    for layout, density in timing.left_out:
        st.caption(f"{layout.upper()} was not timed above {density_text(density)}: it was more than 15 times slower.")
    st.plotly_chart(draw_timing(timing, shown_theme()), key="sparse.timing.chart", config=CHART)
    draw_key_numbers(timing_numbers(timing), timing_numbers(before) if before else None)
    st.caption(
        "The verdict is the median of the ratios of paired rounds. It is not the ratio of the two median times beside "
        "it, which may have been taken in different rounds."
    )
    st.dataframe(table, hide_index=True, width="stretch")
    right = f"{spec.size} x {spec.right_columns}" if spec.right_columns else f"a vector of {spec.size}"
    st.caption(
        f"{spec.size} x {spec.size} times {right}, {spec.dtype}, {spec.threads} thread: dense and all layouts in the "
        f"same interleaved rounds, on this machine, now. Conversion to sparse is not counted. The section *Bytes* "
        f"weighs real arrays for the densities at which bytes turn."
    )


def bytes_words(spec: MatmulTimingSpec, found: BreakEven) -> str:
    """Where the bytes of the same matrix turn, as a sentence beside the time's."""
    item = 4 if spec.dtype == "float32" else 8
    most = bytes_formula(found.layout, (spec.size, spec.size), item, block=spec.block)[1]
    if most is None:
        return "Where its bytes turn depends on where entries lie: see the section *Bytes*."
    density = density_text(max(most, 0) / spec.size**2)
    time = "" if found.density is None else f", less time below {density_text(found.density)} (estimated)"
    return f"It takes fewer bytes below **{density}** (by formula){time}."


def timing_numbers(timing: MatmulTiming) -> tuple[KeyNumber, ...]:
    """Break-even of each layout in percent, and its ratio at the lowest density."""
    numbers = []
    for found in timing.break_even:
        name = found.layout.upper()
        where = "estimated on log scales between the two measured densities around it"
        value = None if found.density is None else 100 * found.density
        numbers.append(KeyNumber(f"{name} wins to %", value, "", where, missing=NO_CROSSING[found.verdict]))
    for ratio in timing.points[0].comparison.ratios:
        first = density_text(timing.points[0].density)
        label = f"{ratio.name.upper()} at {first}"
        numbers.append(KeyNumber(label, 1 / ratio.ratio, "", "time of dense / time of this layout: times faster"))
    return tuple(numbers)


def timing_table(timing: MatmulTiming) -> pd.DataFrame:
    """One row per density and layout."""
    rows = [
        (
            density_text(point.density),
            point.nnz,
            ratio.name.upper(),
            format_time(point.comparison.seconds_of(ratio.name)),
            format_time(point.comparison.seconds_of("dense")),
            verdict(ratio),
            f"{ratio.low:.3g} to {ratio.high:.3g}",
            f"{difference:.1e}",
        )
        for point in timing.points
        for ratio, difference in zip(point.comparison.ratios, point.largest_difference, strict=False)
    ]
    titles = ["density", "nnz", "layout", "time", "dense", "verdict", "95 % band of the ratio", "largest difference"]
    return pd.DataFrame(rows, columns=titles)
