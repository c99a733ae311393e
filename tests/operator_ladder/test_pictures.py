"""Pictures, tables and files of the page hold what was measured; every question has settings that can be asked."""

from __future__ import annotations

import csv
import io
import json
from html.parser import HTMLParser
from xml.etree import ElementTree

import msgspec
import pytest

from engine import run
from engine.figures.operator_ladder import error_chart, ladder_chart, speedup_words
from engine.figures.operator_table import COLUMNS, ladder_rows
from engine.figures.roofline import allowed_s, intensity_of, is_compute_bound, roof_of, roof_words, roofline_chart
from engine.operator_ladder.catalogue import CATALOGUE, colour_order
from engine.operator_ladder.results import Ceiling, OperatorLadder, Roofline, Rung
from engine.operator_ladder.spec import OperatorLadderSpec
from engine.timing.band import ratios_to_first
from engine.timing.comparison import Ratio
from pages.performance.operators_controls import values_of
from pages.performance.operators_exports import downloads
from pages.performance.operators_numbers import ladder_numbers, winner_words
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
    assert [is_compute_bound(one.rungs[0], one, ROOFLINE) for one in (by_bytes, by_flops)] == [False, True]
    assert [roof_of(one.rungs[0], one, ROOFLINE) for one in (by_bytes, by_flops)] == ["memory", "peak"]
    small = by_hand(1, 1 << 20)
    assert allowed_s(small.rungs[0], small, ROOFLINE) == pytest.approx((1 << 20) / 80e9)
    assert intensity_of(by_flops.rungs[0], by_flops) == 1000


@pytest.mark.parametrize(
    ("touched", "fresh", "place", "words"),
    [
        (1 << 20, 1 << 10, "L2 cache", "no more than the 1.00 MiB it was measured with"),
        ((1 << 20) + 1, 1 << 10, "last cache", "no more than the 8.00 MiB"),
        (8 << 20, 2 << 20, "memory", "which last cache holds, but allocates 2.00 MiB anew"),
        (1 << 24, 1 << 10, "memory", "more than the caches were measured to hold"),
    ],
)
def test_the_slope_taken_holds_what_is_touched_and_nothing_fresh(touched, fresh, place, words):
    levels = (*ROOFLINE.ceilings, ceiling("copy, last cache", "bytes", 40e9, 8 << 20))
    roofline = msgspec.structs.replace(ROOFLINE, ceilings=levels)
    ladder = by_hand(1, touched)
    rung = msgspec.structs.replace(ladder.rungs[0], peak_bytes=fresh)
    speed = {"L2 cache": 80e9, "last cache": 40e9, "memory": 10e9}[place]
    assert roof_of(rung, ladder, roofline) == place
    assert allowed_s(rung, ladder, roofline) == pytest.approx(touched / speed)
    assert words in roof_words(rung, ladder, roofline)
    ladder = msgspec.structs.replace(ladder, rungs=(rung,))
    chart = roofline_chart(ladder, roofline, "light", order=ORDER, headline=rung)
    (marked,) = [note.text for note in chart.layout.annotations if "taken" in note.text]
    assert f" {place} " in marked


def three_rungs(loop: float, built_in: float, ours: float) -> OperatorLadder:
    """A ladder with constant times: a slow first rung, PyTorch's best, and ours."""
    timed = {"row loop": loop, "built-in": built_in, "atlas avx2": ours}
    comparison = run(SPEC, inline=True).comparison
    names, samples = tuple(timed), tuple((seconds,) * 5 for seconds in timed.values())
    comparison = msgspec.structs.replace(
        comparison,
        names=names,
        calls=(1, 1, 1),
        cpu_s=samples,
        wall_s=samples,
        first_call_s=(),
        ratios=ratios_to_first(names, samples),
        threads_of=(),
        warm_up_cpu_s=(),
        warm_up_wall_s=(),
        faults=(),
        usage=(),
    )
    rungs = tuple(Rung(name=name, code="", outcome="measured", seconds=seconds) for name, seconds in timed.items())
    return msgspec.structs.replace(by_hand(1, 1), rungs=rungs, comparison=comparison)


def test_the_headline_is_against_the_fastest_pytorch_way():
    numbers = {one.label: one.value for one in ladder_numbers(three_rungs(36.0, 0.25, 0.5), None, "row loop")}
    assert numbers["× best PyTorch"] == pytest.approx(0.5)
    assert numbers["× row loop"] == pytest.approx(72.0)
    assert winner_words(three_rungs(36.0, 0.25, 0.5)).startswith("**built-in wins**: atlas avx2 is 2.00× slower")
    assert winner_words(three_rungs(36.0, 1.0, 0.5)).startswith("**atlas avx2 wins**: atlas avx2 is 2.00× faster")
    assert winner_words(three_rungs(36.0, 0.5, 0.5)).startswith("**No winner**")


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
    ElementTree.fromstring(files["roofline.svg"])
    assert files["roofline.svg"].count("<circle") == 2 * len(ladder.comparison.names)
    assert files["roofline-dark.svg"] != files["roofline.svg"]
    assert files["operator.html"].count("<svg") == 4
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
