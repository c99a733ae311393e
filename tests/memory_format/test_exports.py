"""Every file the page saves can be made, holds what was recorded, and needs no network."""

from __future__ import annotations

import json
import re

import pytest

from engine.figures.format_strip import build_strip
from engine.memory_format.spec import FormatSpec
from pages.tensors import memory_formats_exports
from tests.memory_format.tracing import conv_net, lost, traced

SPEC = FormatSpec(model=conv_net("channel_shuffle"))


@pytest.fixture
def files(monkeypatch) -> dict[str, str]:
    monkeypatch.setattr(memory_formats_exports, "shown", lambda: "images")
    monkeypatch.setattr(memory_formats_exports, "strip_of", lambda spec, which: build_strip(traced(spec.model), which))
    made = memory_formats_exports.downloads(SPEC, traced(SPEC.model))
    return {download.file_name: download.content() for download in made}


def test_every_file_is_made(files):
    assert {"formats.svg", "formats-dark.svg", "formats.html", "operations.csv", "formats.json"} <= files.keys()
    assert {"spec.json", "memory_formats.py"} <= files.keys()
    assert all(files.values())


def test_the_report_says_where_it_was_lost_and_loads_nothing(files):
    report = files["formats.html"]
    found = lost(traced(SPEC.model))
    assert f"conv_net.py:{found.source.line}" in report
    assert "channels_last is lost" in report
    assert set(re.findall(r"https?://[^\"\s<]+", report)) <= {"http://www.w3.org/2000/svg"}
    assert "<script" not in report


def test_the_json_is_the_trace(files):
    data = json.loads(files["formats.json"])
    assert data["lost_at"] == traced(SPEC.model).lost_at
    assert len(data["operations"]) == len(traced(SPEC.model).operations)
