"""The questions of the page claim what torch does; scripts print and files hold what the page shows."""

from __future__ import annotations

import contextlib
import io
import subprocess
import sys
from fractions import Fraction
from functools import cache
from xml.etree import ElementTree

import pytest

from engine import run
from engine.figures.number_format_bits import bit_words, bits_html, bits_svg
from engine.figures.number_format_charts import gap_of, range_ends
from engine.figures.number_format_words import limit_rows, run_rows, stored_rows
from engine.number_format.formats import BY_NAME
from engine.number_format.spec import NumberFormatSpec, RunningSumSpec
from engine.script import script_for
from pages.memory.number_formats_controls import values_of
from pages.memory.number_formats_exports import format_downloads, sum_downloads
from pages.memory.number_formats_presets import PRESETS, SPECS

SAVED = "Does a scale of 65536 save 1e-8?"
GONE = "Why is 2049 gone?"
STOPS = "Why does a sum of 0.1 stop growing in fp16?"
CLOSER = "Which is closer to 0.1: fp16 or bf16?"
BEYOND = "What is beyond the largest number?"
TWICE = "Is nearest really nearest?"
SIGNS = "Which formats have a minus sign, a zero?"
FINFO = "Is torch.finfo right?"
ONES = "How many ones fit into a float8?"


@cache
def outcome(question: str):
    return run(SPECS[question], inline=True)


def stored(question: str, text: str) -> dict:
    value = next(one for one in outcome(question).values if one.text == text)
    return {one.dtype: one for one in value.stored}


def test_every_question_sets_every_control_and_can_be_saved():
    assert set(SPECS) == {SAVED, GONE, STOPS, CLOSER, BEYOND, TWICE, SIGNS, FINFO, ONES}
    for preset in PRESETS:
        spec = SPECS[preset.question]
        assert preset.question.endswith("?")
        assert dict(preset.settings) == values_of(spec)
        files = sum_downloads if isinstance(spec, RunningSumSpec) else format_downloads
        for one in files(spec, outcome(preset.question)):
            content = one.content()
            assert content
            if one.file_name.endswith(".svg"):
                ElementTree.fromstring(content)


def test_what_the_notices_say_of_single_numbers():
    tiny = stored(SAVED, "1e-8")
    assert (tiny["float16"].value, f"{tiny['float16'].scaled_back:.3e}") == (0.0, "9.997e-09")
    assert tiny["bfloat16"].relative_error == pytest.approx(0.0012, abs=5e-5)
    assert (stored(GONE, "2049")["float16"].value, stored(GONE, "257")["bfloat16"].value) == (2048.0, 256.0)
    assert stored(GONE, "2051")["float16"].value == 2052.0
    tenth = stored(CLOSER, "0.1")
    assert tenth["bfloat16"].relative_error / tenth["float16"].relative_error == pytest.approx(4)
    assert tenth["float16"].relative_error == pytest.approx(0.00024, abs=5e-6)
    large = {name: one.value for name, one in stored(BEYOND, "1000").items()}
    assert (large["float8_e4m3fn"], large["float8_e5m2"], large["float8_e5m2fnuz"]) == (448.0, 1024.0, 1024.0)
    assert stored(BEYOND, "1000")["float8_e4m3fnuz"].outcome == "nan"
    assert stored(BEYOND, "inf")["float8_e4m3fn"].value == 448.0
    assert stored(TWICE, "1+2**-11+2**-40")["float16"].rounding == "by way of float32"
    assert stored(SIGNS, "-3")["float8_e8m0fnu"].value == 4.0
    assert stored(SIGNS, "0")["float8_e8m0fnu"].value == 2.0**-127
    assert stored(SIGNS, "-0.0")["float8_e5m2fnuz"].bits == "0x00"


def test_finfo_is_wrong_in_one_place_only():
    marked = [row for row in limit_rows(outcome(FINFO)) if "≠" in row[6]]
    assert [(row[0], row[5], row[6].split()[0]) for row in marked] == [("float8_e5m2fnuz", "0.25", "0.125")]
    assert stored(FINFO, "1.25")["float8_e5m2fnuz"].below == 1.0


def test_where_the_sums_end():
    found = {run.dtype: run for run in outcome(STOPS).runs}
    assert (found["float16"].total, found["float16"].stops_at) == (256.0, 2208)
    assert (found["bfloat16"].total, found["bfloat16"].stops_at) == (32.0, 277)
    assert found["float16"].torch_sum == 1000.0
    assert {one.dtype: one.total for one in outcome(ONES).runs} == {
        "float32": 300.0, "bfloat16": 256.0, "float16": 300.0, "float8_e5m2": 8.0, "float8_e4m3fn": 16.0,
    }  # fmt: skip


def test_pictures_hold_the_bits_and_the_gap():
    value = outcome(CLOSER).values[0]
    half = next(one for one in value.stored if one.dtype == "float16")
    assert bit_words(BY_NAME["float16"], half.bits) == ("0", "01011", "1001100110")
    below, above = gap_of(half, Fraction(1, 10))
    assert (float(below), float(above)) == (half.value, half.above)
    assert below < Fraction(1, 10) < above
    assert range_ends(BY_NAME["float64"])[0] == -1074
    for theme in ("light", "dark"):
        assert "1001100110" in bits_html(value, theme)
        assert bits_svg(value, theme).startswith("<svg")


def expected(spec) -> list[str]:
    found = run(spec, inline=True)
    if isinstance(spec, RunningSumSpec):
        return [
            f"{r.dtype} total {r.total} stands still from addition {r.stops_at} torch.sum {r.torch_sum}"
            for r in found.runs
        ]
    lines = [
        f"{value.value} {one.dtype} {hex(int(one.bits, 16))} {one.value} scaled and back {one.scaled_back}"
        for value in found.values
        for one in value.stored
    ]
    return lines + [
        f"{one.dtype} max {one.largest} smallest normal {one.smallest_normal} eps {one.eps}" for one in found.limits
    ]


def test_the_scripts_print_what_the_page_shows():
    for spec in (
        NumberFormatSpec(text="0.1, -3, inf, 1e-8"),
        RunningSumSpec(count=300),
        RunningSumSpec(addend="1", start="2040", count=40),
    ):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(script_for(spec), "script.py", "exec"), {"__name__": "__main__"})
        assert printed.getvalue().splitlines() == expected(spec)


@pytest.mark.slow
def test_a_script_runs_in_a_clean_interpreter():
    spec = NumberFormatSpec(text="1/3, nan")
    done = subprocess.run([sys.executable, "-c", script_for(spec)], capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == expected(spec)


def test_tables_have_their_columns():
    assert all(len(row) == 10 for row in stored_rows(outcome(SIGNS).values[0]))
    assert all(len(row) == 6 for row in run_rows(outcome(ONES)))
