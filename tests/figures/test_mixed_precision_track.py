"""The track of a run under autocast: its steps, folding, and both pictures of it."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from engine import run
from engine.figures.mixed_precision_chart import chosen_step, track_chart
from engine.figures.mixed_precision_svg import track_svg
from engine.figures.mixed_precision_track import MOST_STEPS, step_words, track_of
from engine.mixed_precision.spec import AutocastSpec
from engine.models.spec import Gpt, ModelSpec


@pytest.fixture(scope="module")
def found():
    architecture = Gpt(layers=6, heads=2, width=16, sequence=8, vocabulary=50)
    return run(AutocastSpec(model=ModelSpec(architecture=architecture, loss="cross_entropy")), inline=True)


def test_folding_loses_no_call_no_cast_and_no_byte(found):
    every, folded = (track_of(found, "bfloat16", backward=True, fold=fold) for fold in (False, True))
    assert len(every.steps) > 2 * MOST_STEPS > 0
    assert len(folded.steps) <= MOST_STEPS
    for name in ("calls", "weight_casts", "cache_reads", "saved_bytes"):
        assert sum(getattr(one, name) for one in every.steps) == sum(getattr(one, name) for one in folded.steps)
    made = sum(operation.saved_bytes for operation in found.operations if operation.outputs[0] != "int64")
    assert sum(step.saved_bytes for step in every.steps) == made
    casts = sum(step.weight_casts + len(step.casts) for step in every.steps)
    assert casts == len(found.casts)
    assert track_of(found, "bfloat16").steps == track_of(found, "bfloat16", fold=None).steps


def test_pictures_hold_every_step_and_escape_what_they_show(found):
    track = track_of(found, "bfloat16")
    for theme in ("light", "dark"):
        root = ElementTree.fromstring(track_svg(track, theme, title="<GPT> & autocast"))
        groups = [one for one in root.iter() if one.tag.endswith("}g")]
        assert len(groups) == len(track.steps)
        assert groups[0][0].text == "\n".join(step_words(track.steps[0]))
    chart = track_chart(track, selected=0)
    marks = {row[0] for trace in chart.data if trace.customdata is not None for row in trace.customdata}
    assert marks == set(range(len(track.steps)))


def test_a_click_names_its_step():
    assert chosen_step({"selection": {"points": [{"customdata": [3]}]}}, 5) == 3
    assert chosen_step({"selection": {"points": [{"customdata": {"0": 3}}]}}, 5) == 3
    for selection in (None, {}, {"selection": {"points": []}}, {"selection": {"points": [{"customdata": [9]}]}}):
        assert chosen_step(selection, 5) is None
