"""Tables, numbers and files of the memory pages say what a trace made by hand holds."""

from __future__ import annotations

import csv
import io

import pytest

from engine.memory.blocks import CATEGORIES
from engine.memory.spec import MemorySpec
from pages.memory.memory_ledger_blocks import filter_table, rows_table, rows_told
from pages.memory.memory_ledger_exports import blocks_csv
from pages.memory.memory_ledger_groups import group_table
from pages.memory.memory_ledger_numbers import key_numbers as ledger_numbers
from pages.memory.memory_ledger_view import moment_or_last
from pages.memory.memory_timeline_controls import PICTURES, Shown, named_moments, shown_of
from pages.memory.memory_timeline_details import (
    CHOICES,
    against_table,
    category_table,
    event_before,
    step_table,
)
from pages.memory.memory_timeline_exports import downloads, events_csv
from pages.memory.memory_timeline_numbers import key_numbers, peak_by_step, peak_words
from tests.figures.memory_traces import LIVE, held, trace_of, two_steps

NOTHING = trace_of([], (), 0)


def shown(picture: str = PICTURES[0]) -> Shown:
    return shown_of(two_steps(), picture, "events", "in order of birth", None, "the peak of the run", 11)


def test_block_table_is_filtered_by_text_and_category():
    trace = two_steps()
    table = rows_table(trace, trace.blocks.alive_at(7).tolist(), 7)
    assert table["bytes"].tolist() == [800, 400, 400, 120, 80, 4]
    assert table["share"].sum() == pytest.approx(1)
    assert filter_table(table, "RELU", [])["name"].tolist() == ["ReluBackward0.result"]
    assert filter_table(table, "", ["gradient", "parameter"])["bytes"].tolist() == [400, 400]
    assert filter_table(table, "(", []).empty
    assert rows_told(table, table).startswith("6 of 6 blocks, 1.76 KiB.")


def test_groups_add_up_and_are_sorted_by_the_change_since_a():
    trace = two_steps()
    table = group_table(trace, 8, "category", (trace, 6))
    assert table["bytes"].sum() == LIVE[8]
    assert table["A, bytes"].sum() == LIVE[6]
    assert table["category"].tolist()[:2] == ["optimizer state", "gradient"]
    assert table["difference, bytes"].tolist()[:2] == [800, -400]


def test_numbers_of_a_moment_and_of_a_run():
    trace = two_steps()
    values = {one.label: one.value for one in ledger_numbers(trace, 7)}
    assert values == {
        "Live bytes": LIVE[7],
        "Saved for backward": 120,
        "Weights, grads, state": 1600,
        "Allocator counts": LIVE[7],
        "Largest difference": 0,
    }
    values = {one.label: one.value for one in key_numbers(trace)}
    assert values == {
        "Peak": LIVE[11],
        "Saved at the peak": 240,
        "At the end": LIVE[12],
        "Last step added": 124,
        "Events": 13,
        "Largest difference": 0,
    }
    assert "**1.88 KiB**, comes in **backward, step 2** (event 11), held by optimizer state 800 B (41%)" in peak_words(
        trace
    )
    assert peak_by_step(trace) == [(1, 1804, "optimizer step, step 1"), (2, 1928, "backward, step 2")]
    assert peak_words(NOTHING) == "The allocator gave out no memory in this run."
    assert {one.label for one in key_numbers(NOTHING) if one.value} == set()


def test_moments_have_names_and_what_never_came_is_said():
    trace = two_steps()
    moments = named_moments(trace)
    assert moments["the peak of the run"] == moments["the peak, step 2"] == 11
    assert "after the optimizer step, step 2" not in moments
    assert moment_or_last(trace, "after backward", 1) == (6, "")
    event, words = moment_or_last(trace, "after the optimizer step", 2)
    assert (event, words[:6]) == (12, "Step 2")
    assert moment_or_last(NOTHING, "the peak", 1)[0] is None
    assert [event_before(trace, 5, choice) for choice in CHOICES] == [4, 4, 1]
    assert [event_before(trace, 10, choice) for choice in CHOICES] == [9, 9, 8]
    assert event_before(trace, 0, CHOICES[0]) == -1


def test_tables_of_the_timeline_add_up():
    trace = two_steps()
    table = category_table(trace, 6, 8)
    assert table["change, bytes"].sum() == LIVE[8] - LIVE[6]
    steps = step_table(trace)
    assert steps["added, bytes"].tolist() == [924, 124]
    assert steps["optimizer state added, bytes"].tolist() == [800, 0]
    assert steps["live at its end, bytes"].tolist() == [1404, 1528]
    against = against_table(trace, trace_of([held(100, 0, -1, "saved")], (), 1))
    assert against.iloc[-1].tolist() == ["all", 100, LIVE[11], LIVE[11] - 100]
    assert len(step_table(NOTHING)) == 0


def test_files_hold_every_block_and_every_event():
    trace = two_steps()
    blocks = list(csv.DictReader(io.StringIO(blocks_csv(trace, range(10)))))
    assert [int(row["bytes"]) for row in blocks] == [400, 80, 120, 4, 400, 200, 800, 120, 4, 400]
    assert [row["died"] for row in blocks][4:7] == ["8", "6", ""]
    events = list(csv.DictReader(io.StringIO(events_csv(trace))))
    assert [sum(int(row[name]) for name in CATEGORIES) for row in events] == list(LIVE)
    assert [int(row["allocator_bytes"]) for row in events] == list(LIVE)
    assert events[5]["phase"] == "recompute, step 1"
    for picture in PICTURES:
        files = {one.file_name: one.content for one in downloads(MemorySpec(), trace, shown(picture))}
        assert files["memory-timeline.svg"]().startswith("<svg")
        assert "Step by step" in files["memory-timeline.html"]()
