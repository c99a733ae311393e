"""The charts say what the results say."""

from __future__ import annotations

import pytest

from engine import run
from engine.figures.sparse_support import SYMBOLS, cell_text, draw_support, outcome_words
from engine.figures.sparse_timing import break_even_words, draw_timing
from engine.figures.sparse_weights import density_text, draw_weights
from engine.sparse.results import BreakEven
from engine.sparse.spec import MatmulTimingSpec, SupportSpec, WeightsSpec

THEMES = ("light", "dark")


@pytest.mark.parametrize("theme", THEMES)
def test_rings_of_the_bytes_chart_are_the_crossovers(theme):
    weights = run(WeightsSpec(rows=32, columns=48), inline=True)
    figure = draw_weights(weights, theme)
    rings = {trace.legendgroup: trace.x[0] for trace in figure.data if trace.mode == "markers"}
    for curve in weights.curves:
        if curve.layout.upper() in rings:
            assert rings[curve.layout.upper()] == curve.most_nnz / weights.cells
    assert {"COO", "CSR"} <= rings.keys()
    said = [note.text for note in figure.layout.annotations]
    assert f"COO to {density_text(weights.curves[0].most_nnz / weights.cells)}" in said


def test_a_column_layout_with_the_same_bytes_is_folded_into_the_legend():
    square, oblong = (run(WeightsSpec(rows=rows, columns=48), inline=True) for rows in (48, 16))
    hidden = [{t.name for t in draw_weights(w).data if t.visible == "legendonly"} for w in (square, oblong)]
    assert "CSC" in hidden[0]
    assert "CSC" not in hidden[1]


@pytest.mark.parametrize("theme", THEMES)
def test_the_timing_chart_has_a_line_and_a_band_per_layout(theme):
    spec = MatmulTimingSpec(size=32, right_columns=4, densities=(0.1, 0.5), layouts=("csr", "coo"), rounds=5)
    timing = run(spec, inline=True)
    figure = draw_timing(timing, theme)
    lines = {trace.name: trace for trace in figure.data if trace.mode == "lines+markers"}
    assert lines.keys() == {"CSR", "COO"}
    assert list(lines["CSR"].y) == [point.comparison.ratios[0].ratio for point in timing.points]


def test_break_even_is_worded_with_both_measured_densities():
    crossing = break_even_words(BreakEven("csr", "crosses", 0.234, (0.2, 0.3)))
    assert "**23.4 %**" in crossing
    assert "estimated between 20 % (measured faster) and 30 % (measured slower)" in crossing
    assert "slower than dense at every density" in break_even_words(BreakEven("coo", "always slower"))
    assert "faster than dense at every density" in break_even_words(BreakEven("coo", "always faster"))
    assert "straddle" in break_even_words(BreakEven("coo", "unclear"))


@pytest.mark.parametrize("theme", THEMES)
def test_the_matrix_of_outcomes_has_a_symbol_and_words_for_every_probe(theme):
    supports = run(SupportSpec(), inline=True).supports
    heat = draw_support(supports, theme).data[0]
    assert len(heat.y) == len(supports[0].probes)
    for column, support in enumerate(supports):
        for row, probe in enumerate(support.probes):
            assert heat.text[row][column] == cell_text(probe)
            assert heat.text[row][column].startswith(SYMBOLS[probe.outcome])
            assert outcome_words(probe)
    assert len(set(SYMBOLS.values())) == len(SYMBOLS)


@pytest.mark.parametrize(("density", "text"), [(0.2, "20 %"), (0.3307, "33.1 %"), (0.001, "0.1 %"), (1.0, "100 %")])
def test_densities_read_as_percent(density, text):
    assert density_text(density) == text
