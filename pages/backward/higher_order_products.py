"""The section on Hessian-vector products: every way measured, how it grows, and an article's claim."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from engine.figures.higher_order_charts import CLAIMED_MEMORY, CLAIMED_TIMES, growth_chart, savings
from engine.figures.higher_order_words import powers
from engine.figures.timing_chart import ratio_chart
from engine.figures.units import format_bytes, format_count, format_significant, format_time
from engine.higher_order.results import Growth, Product, Products
from engine.higher_order.spec import ProductSpec
from pages.backward.higher_order_numbers import numbers_of
from pages.shared.key_numbers import draw_key_numbers
from pages.shared.theme import shown_theme

CHART = {"displaylogo": False, "toImageButtonOptions": {"format": "svg"}}
TABS = ("Growth with n", "The article's claim", "Every way", "How it is measured")
HOW_MEASURED = (
    "Every way computes H @ v for the same f, x and v. Time: interleaved rounds on thread CPU time, ratios are medians "
    "of paired samples with their 95 % band; no difference is claimed where the band holds 1. Peak bytes: the largest "
    "running sum of the CPU allocator's events that `torch.profiler` records during one call, so what lived before "
    "counts as nothing and the result counts. Errors are against {reference}. The exponent beside a line is fitted to "
    "four sizes: estimated. The graph of the gradient, which double backward runs through, keeps {saved}."
)


def draw_products(spec: ProductSpec, found: Products, before: tuple[ProductSpec, Products] | None) -> None:
    """Ratios of time, numbers, growth and the claim."""
    names = [one.name for one in found.products]
    if found.full_refused:
        st.warning("The full Hessian was refused; the products ran.", icon=":material/block:")
        estimated = found.full_estimated_s
        seconds = f" n products one after the other: about {format_time(estimated)} (estimated)." if estimated else ""
        st.text(found.full_refused + seconds)
    if found.comparison is not None:
        st.plotly_chart(ratio_chart(found.comparison, shown_theme(), order=names), key="product.ratios", config=CHART)
    for one in found.products:
        if one.error is not None:
            st.caption(f":material/block: {one.name} raised {one.error.type}; its words are under *Every way*.")
    draw_key_numbers(numbers_of(spec, found), numbers_of(*before) if before else None)
    tabs = st.tabs(TABS, key="product.details", on_change="rerun")
    for tab, show in zip(tabs, (_draw_growth, _draw_claim, _draw_ways, _draw_how), strict=True):
        if tab.open:
            with tab:
                show(found)


def _draw_growth(found: Products) -> None:
    if not found.growth or len(found.growth[0].sizes) < 2:
        st.caption("Too few sizes to show growth: choose a larger n.")
        return
    names = [one.name for one in found.products]
    for column, what in zip(st.columns(2, gap="medium"), ("bytes", "seconds"), strict=True):
        chart = growth_chart(found.growth, names, what, shown_theme())
        column.plotly_chart(chart, key=f"product.growth.{what}", config=CHART)
    if told := predicted(found):
        st.markdown(told)


def predicted(found: Products) -> str:
    """What the fitted powers say of an n ten times as large, seconds from the least to the greatest; "" without."""
    told = [
        f"{one.name} about **{format_bytes(one.peak_bytes[-1] * 10**one.bytes_exponent)}** and {_seconds(one, ends)}"
        for one in found.growth
        if one.bytes_exponent is not None and (ends := powers(one)) is not None
    ]
    if not told:
        return ""
    parts = "; ".join(told)
    return (
        f"At n = {format_count(10 * found.n)} (estimated from the fits): {parts}. The seconds are uncertain: "
        f"the first is by the power fitted to all sizes or to the two largest, whichever is less, the second by the "
        f"other. While the fixed cost of a call dominates, no small n foretells a large one."
    )


def _seconds(one: Growth, ends: tuple[float, float]) -> str:
    least, most = (format_time(one.seconds[-1] * 10**power) for power in ends)
    return f"**{least}**" if least == most else f"**{least}** to **{most}**"


def claim_rows(found: Products) -> pd.DataFrame:
    """One row per n: less memory and times as fast, and whether that is what the article says."""
    rows = [
        (
            n,
            f"{share:.0%}",
            "at least" if share >= CLAIMED_MEMORY - 0.005 else "less than",
            f"{format_significant(times)}×",
            "below" if times < CLAIMED_TIMES[0] else "above" if times > CLAIMED_TIMES[1] else "within",
        )
        for n, share, times in savings(found)
    ]
    return pd.DataFrame(rows, columns=["n", "less memory", "claimed 90 %", "times as fast", "claimed 3 to 5×"])


def _draw_claim(found: Products) -> None:
    rows = claim_rows(found)
    if rows.empty:
        st.caption("The full Hessian was not made, so there is nothing to compare with: choose a smaller n.")
        return
    st.markdown(
        "*“about 90 % less memory, 3 to 5 times as fast than the full Hessian”*: a single number cannot hold. "
        "The full Hessian takes n products and n * n numbers, so both advantages grow with n:"
    )
    st.dataframe(rows, hide_index=True, width="stretch")


def way_rows(found: Products) -> pd.DataFrame:
    """One row per way: time, bytes, error, or why not."""
    return pd.DataFrame(
        {
            "way": [one.name for one in found.products],
            "time per call": ["" if one.seconds is None else format_time(one.seconds) for one in found.products],
            "peak": ["" if one.peak_bytes is None else format_bytes(one.peak_bytes) for one in found.products],
            "off by": [
                "" if one.max_abs_error is None else format_significant(one.max_abs_error) for one in found.products
            ],
            "call": [one.code for one in found.products],
            "why not": [_why_not(one) for one in found.products],
        }
    )


def _why_not(one: Product) -> str:
    return one.reason if one.error is None else f"{one.error.type}: {one.error.message}"


def _draw_ways(found: Products) -> None:
    st.dataframe(way_rows(found), hide_index=True, width="stretch")
    for one in found.products:
        if one.error is not None:
            st.code(f"{one.name}\n{one.error.type}: {one.error.message}", language=None, wrap_lines=True)


def _draw_how(found: Products) -> None:
    st.markdown(HOW_MEASURED.format(reference=found.reference, saved=format_bytes(found.saved_bytes)))
