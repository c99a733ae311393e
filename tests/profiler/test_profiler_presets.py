"""What the questions of the profiler page claim, and what its pictures and words say of a profile."""

from __future__ import annotations

from functools import cache
from xml.etree import ElementTree

import pytest

from engine import run
from engine.figures import profiler_time
from engine.figures.profiler_flow import bands
from engine.figures.profiler_memory import byte_ticks, log_ticks, memory_chart, memory_svg
from engine.figures.profiler_rows import SHOWN, default_row, labels_of, memory_bars, node_first
from engine.figures.profiler_svg import flow_svg, self_svg
from engine.figures.profiler_time import MOST_BOXES, boxes, links, self_rows, stretches, time_chart, time_svg
from engine.figures.profiler_words import COLUMNS, called, row_words, sum_words
from engine.profiler.spec import MEMORY_ROW, Profiled, ProfileSpec, ProfilingCostSpec
from pages.memory.profiler_controls import current_spec
from pages.memory.profiler_exports import profile_downloads
from pages.memory.profiler_presets import ISSUE, MM_BACKWARD, PRESETS, SPECS, STEP, WITHOUT
from pages.memory.profiler_row import ROW

ARTICLE = ProfileSpec()


@cache
def profiled(spec: ProfileSpec) -> Profiled:
    return run(spec, inline=True)


def place_of(found: Profiled, name: str) -> int:
    return labels_of(found.rows).index(name)


def test_every_question_asks_for_a_spec_and_a_row_that_exist():
    assert {preset.question for preset in PRESETS} == set(SPECS)
    assert len(PRESETS) >= 7
    assert callable(current_spec)


def test_the_issue_and_what_its_rows_say():
    found = profiled(ISSUE)
    words = {name: row_words(found, place_of(found, name)) for name in (MM_BACKWARD, MEMORY_ROW, "aten::matmul")}
    assert "freed 524\u202f288 B in 2 blocks" in words[MM_BACKWARD]
    assert "`aten::threshold_backward` (256 KiB)" in words[MM_BACKWARD]
    assert "4 frees" in words[MEMORY_ROW]
    assert "no operation" in words[MEMORY_ROW]
    assert "Self Mem is 0" in words["aten::matmul"]
    assert "`aten::mm` (256 KiB)" in words["aten::matmul"]
    assert "add up to 262\u202f144 B" in sum_words(found)
    assert "gradients 256 KiB" in sum_words(found)
    assert found.rows[default_row(found)].name == MM_BACKWARD
    assert {flow[1] for flow in bands(found) if flow[0] == "aten::mm"} == {
        MEMORY_ROW,
        MM_BACKWARD,
        "still alive at the end",
    }
    assert sum(band[3] for band in bands(found)) == found.allocated_bytes


def test_pictures_hold_every_byte_and_files_can_be_read():
    found = profiled(ISSUE)
    bars = memory_bars(found)
    assert sum(bar.net for bar in bars) == found.alive_bytes
    assert len(bars) <= SHOWN + 1
    assert {place for bar in bars for place in bar.places} == {
        place for place, row in enumerate(found.rows) if row.allocations or row.frees
    }
    for theme in ("light", "dark"):
        ElementTree.fromstring(memory_svg(found, theme))
        ElementTree.fromstring(time_svg(found, theme))
    chosen = place_of(found, MM_BACKWARD)
    assert "<b>" in str(memory_chart(found, "light", chosen, log=True).layout.yaxis.ticktext)
    assert len(links(found, chosen)) == 1
    assert any("its backward" in (trace.name or "") for trace in time_chart(found, "light", chosen).data)
    assert node_first(MM_BACKWARD) == "MmBackward0 (evaluate_function)"
    assert node_first("aten::mm") == "aten::mm"
    assert 0 in byte_ticks([5 * 1024**2], [3])
    assert len(byte_ticks([10**12], [10**12])) < 12
    assert log_ticks(2048, 1024) == [-1024, 0, 1024]
    for download in profile_downloads(ISSUE, found):
        content = download.content()
        assert content
        if download.file_name.endswith(".svg"):
            ElementTree.fromstring(content)
    assert flow_svg(found).count("<title>allocated") == len(bands(found))
    assert self_svg(found).count("<rect") == 1 + len(self_rows(found))


def test_where_operations_are_too_short_to_be_drawn_is_no_gap(monkeypatch):
    found = profiled(ISSUE)
    assert stretches(found, boxes(found)) == []
    monkeypatch.setattr(profiler_time, "MOST_BOXES", 3)
    shown, operations = boxes(found), found.operations
    left_out = [p for p in range(len(operations)) if operations.depths[p] == 0 and p not in shown]
    drawn = stretches(found, shown)
    assert sum(many for *_, many in drawn) == len(left_out) > 0
    for place in left_out:
        start, phase = operations.starts_ns[place], operations.phases[place]
        end = start + operations.durations_ns[place]
        assert any(one[0] <= start <= end <= one[1] and one[2] == phase for one in drawn)
    assert any("shorter operations" in str(trace.customdata) for trace in time_chart(found).data)
    assert "shorter operations" in time_svg(found)


@pytest.mark.slow
def test_what_the_questions_about_the_article_claim():
    found, plain = profiled(ARTICLE), profiled(WITHOUT)
    rows = {row.name: row for row in found.rows}
    assert (rows["aten::linear"].calls, rows["aten::linear"].cpu_bytes, rows["aten::linear"].self_cpu_bytes) == (
        60,
        240 * 1024,
        0,
    )
    assert called(found, place_of(found, "aten::linear")) == [("aten::addmm", 240 * 1024)]
    assert (rows["aten::addmm"].calls, rows["aten::addmm"].recomputed_calls) == (60, 10)
    assert found.allocated_bytes > plain.allocated_bytes
    mm = max(found.rows, key=lambda row: row.allocated_bytes)
    assert mm.name == "aten::mm"
    assert mm.allocated_bytes > 0.99 * found.allocated_bytes
    assert plain.peak_bytes < found.peak_bytes < 1.001 * plain.peak_bytes
    shown = found.table.splitlines()[3:13]
    assert len(shown) == 10
    assert not any(" -" in line.replace(" --", "") for line in shown)
    assert sum(row.self_cpu_bytes < 0 for row in found.rows) >= 3
    assert 25 <= len(found.rows) <= 40
    assert len(boxes(found)) == MOST_BOXES < len(found.operations)


@pytest.mark.slow
def test_what_the_question_about_the_optimizer_claims():
    found = profiled(STEP)
    kinds = {one.name.partition(" of ")[0] for one in found.alive if " of " in one.name}
    assert {"exp_avg", "exp_avg_sq", "step"} <= kinds
    gradients = sum(one.bytes for one in found.alive if one.name.endswith(".grad"))
    moments = sum(one.bytes for one in found.alive if one.name.startswith("exp_avg"))
    assert moments == 2 * gradients
    makers = {found.rows[one.allocated_by].name for one in found.alive if one.name.startswith("exp_avg")}
    assert makers <= {"aten::empty_strided", "aten::empty_like"}
    assert len(COLUMNS) == len({column.title for column in COLUMNS})


@pytest.mark.slow
@pytest.mark.parametrize("preset", PRESETS, ids=lambda preset: preset.question)
def test_the_row_of_a_question_is_in_its_table(preset):
    spec = SPECS[preset.question]
    if not isinstance(spec, ProfilingCostSpec):
        assert preset.settings[ROW] in labels_of(profiled(spec).rows)
