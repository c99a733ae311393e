"""The timeline in presenter mode: its text grows with the rest of the page."""

from __future__ import annotations

import streamlit as st

from pages.backward import in_place_timeline


def test_the_picture_is_scaled_as_a_whole_and_keeps_its_view_box(monkeypatch):
    svg = '<svg width="700" height="300" viewBox="0 0 700 300"><rect width="700" height="300"/></svg>'
    monkeypatch.setattr(st, "session_state", {})
    assert in_place_timeline.presented(svg) == (svg, 318)
    monkeypatch.setattr(st, "session_state", {"present": True})
    larger, height = in_place_timeline.presented(svg)
    assert larger.startswith('<svg width="920" height="394" viewBox="0 0 700 300"><rect width="700" height="300"')
    assert height == 412
    small, wide = svg.replace('"700"', '"500"'), svg.replace('"700"', '"1000"')
    assert in_place_timeline.presented(small)[0].startswith('<svg width="700" height="420"')
    assert in_place_timeline.presented(wide)[0] == wide
