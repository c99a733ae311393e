"""Pictures, tables and files of the page hold what was measured; every question has settings that can be asked."""

from __future__ import annotations

import csv
import io
import json
from html.parser import HTMLParser

import pytest

from engine import run
from engine.figures.operator_ladder import error_chart, ladder_chart, speedup_words
from engine.figures.operator_table import COLUMNS, ladder_rows
from engine.figures.roofline import allowed_s, intensity_of, is_compute_bound, roofline_chart
from engine.operator_ladder.catalogue import CATALOGUE, colour_order
from engine.operator_ladder.results import Ceiling, OperatorLadder, Roofline, Rung
from engine.operator_ladder.spec import OperatorLadderSpec
from engine.timing.comparison import Ratio
from pages.performance.operators_controls import values_of
from pages.performance.operators_exports import downloads
from pages.performance.operators_presets import PRESETS, SPECS

SPEC = OperatorLadderSpec(rows=8, columns=16, rounds=5)
ORDER = colour_order(SPEC.row)


def ceiling(name: str, kind: str, per_s: float, working_set: int) -> Ceiling:
    return Ceiling(
        name=name, kind=kind, per_call=int(per_s), working_set_bytes=working_set, samples_s=(1.0,), code="by hand"
    )


ROOFLINE = Roofline(
    ceilings=(
        ceiling("copy, L2 cache", "bytes", 80e9, 1 << 20),
        ceiling("copy, memory", "bytes", 10e9, 1 << 29),
        ceiling("torch.mm", "flops", 100e9, 0),
    ),
    cache_bytes=1 << 21,
    shared_cache_bytes=0,
    threads=1,
)


@pytest.fixture(scope="module")
def ladder() -> OperatorLadder:
    return run(SPEC, inline=True)


def by_hand(flops: int, moved: int) -> OperatorLadder:
    rung = Rung(name="composed", code="", outcome="measured", seconds=1.0, traffic_bytes=moved)
    return OperatorLadder(
        rungs=(rung,),
        comparison=None,
        input_shapes=(),
        output_bytes=1,
        flops=flops,
        least_bytes=moved,
        total=0.0,
        is_compiled=True,
    )


def test_a_roofline_allows_the_slower_of_bytes_and_operations():
    by_bytes, by_flops = by_hand(10**9, 10**10), by_hand(10**12, 10**9)
    assert allowed_s(by_bytes.rungs[0], by_bytes, ROOFLINE) == pytest.approx(1.0)
    assert allowed_s(by_flops.rungs[0], by_flops, ROOFLINE) == pytest.approx(10.0)
    assert [is_compute_bound(one.least_bytes, one, ROOFLINE) for one in (by_bytes, by_flops)] == [False, True]
    small = by_hand(1, 1 << 20)
    assert allowed_s(small.rungs[0], small, ROOFLINE) == pytest.approx((1 << 20) / 80e9)
    assert intensity_of(by_flops.rungs[0], by_flops) == 1000


def test_speedups_are_worded_with_their_band():
    assert speedup_words(Ratio("b", "a", 0.25, 0.2, 0.5)) == "4.00× faster (2.00\u20135.00)"
    assert speedup_words(Ratio("b", "a", 2.0, 1.5, 2.5)) == "2.00× slower (1.50\u20132.50)"
    assert speedup_words(Ratio("b", "a", 1.0, 0.9, 1.1)) == "no difference shown"


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_pictures_show_every_measured_rung(ladder, theme):
    timed = [rung.name for rung in ladder.rungs if rung.seconds]
    bars = ladder_chart(ladder.comparison, theme, rungs=SPEC.row.rungs, order=ORDER, bounds_s=1e-6)
    assert [bar.x[0] for bar in bars.data] == [rung.seconds for rung in ladder.rungs if rung.seconds]
    points = [trace for trace in roofline_chart(ladder, ROOFLINE, theme, order=ORDER).data if trace.mode == "markers"]
    assert [point.name for point in points] == timed
    assert [point.y[0] for point in points] == [ladder.flops / r.seconds for r in ladder.rungs if r.seconds]
    errors = error_chart(ladder.rungs, "float32", theme, order=ORDER)
    assert len(errors.data) == 2 * len(timed)


def test_a_row_per_rung(ladder):
    rows = ladder_rows(ladder, ladder.comparison, ROOFLINE)
    assert [row[0] for row in rows] == list(SPEC.row.rungs)
    assert all(len(row) == len(COLUMNS) for row in rows)


def test_files_hold_what_was_measured(ladder):
    files = {one.file_name: str(one.content()) for one in downloads(SPEC, ladder, ROOFLINE)}
    assert [row["rung"] for row in csv.DictReader(io.StringIO(files["rungs.csv"]))] == list(SPEC.row.rungs)
    assert len(json.loads(files["operator.json"])["ladder"]["rungs"]) == len(ladder.rungs)
    assert files["ladder.svg"].count("<rect") == 1 + len(ladder.comparison.names)
    assert len(files["samples.csv"].splitlines()) == 1 + 5 * len(ladder.comparison.names)
    HTMLParser().feed(files["operator.html"])
    assert "http" not in files["operator.html"].replace("http://www.w3.org/2000/svg", "").replace("http-equiv", "")
    assert downloads(SPEC, ladder, None)


def test_questions_are_asked_of_every_kind_of_operator():
    assert len(SPECS) >= 7
    assert {preset.question for preset in PRESETS} <= set(SPECS)
    assert all(question.endswith("?") for question in SPECS)
    for spec in SPECS.values():
        assert spec.operator in CATALOGUE
        assert values_of(spec)["operators.operator"] == spec.operator
