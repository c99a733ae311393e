"""The picture: every drawn operation has one cell, equal blocks fold, marks and files say what was recorded."""

from __future__ import annotations

import csv
import io
import xml.etree.ElementTree as ElementTree

import pytest

from engine.figures.format_export import operations_csv
from engine.figures.format_figure import draw_strip
from engine.figures.format_strip import COLUMNS, build_strip, fitted
from engine.figures.format_svg import strip_svg
from engine.figures.format_words import headline
from engine.memory_format.spec import FormatSpec
from engine.models.spec import ModelSpec, ResNet
from tests.memory_format.tracing import conv_net, differs_in_kind, lost, quick, traced
from tests.models.families import CONV_BLOCKS

RESNET = ModelSpec(architecture=ResNet(image_size=64, classes=7), memory_format="channels_last")
MODELS = [*(conv_net(block) for block in CONV_BLOCKS), RESNET]


def cells_of(strip):
    return [cell for row in strip.rows for cell in row.cells]


@pytest.mark.parametrize("shown", ["images", "every operation"])
@pytest.mark.parametrize(
    "model",
    quick(MODELS, lambda m: m is RESNET or differs_in_kind(m.architecture.block)),
    ids=lambda model: getattr(model.architecture, "block", "resnet18"),
)
def test_every_operation_has_one_cell_or_stands_behind_an_equal_block(model, shown):
    trace = traced(model)
    strip = build_strip(trace, shown)
    cells = cells_of(strip)
    assert len({cell.operation for cell in cells}) == len(cells)
    assert sum(row.times * len(row.cells) for row in strip.rows) == strip.drawn
    assert strip.total == len(trace.operations)
    assert strip.drawn == strip.total or shown == "images"
    places = [(row.top + cell.line, cell.side, cell.column) for row in strip.rows for cell in row.cells]
    assert len(set(places)) == len(places)
    assert max(cell.column for cell in cells) < COLUMNS


def test_equal_blocks_of_a_resnet_fold_and_rows_follow_the_forward():
    labels = [row.label for row in build_strip(traced(RESNET)).rows]
    assert labels[0] == "conv1, bn1, relu, maxpool"
    assert labels[1:3] == ["layer1.0", "layer1.1"] or labels[1] == "layer1.0 to layer1.1"
    assert [label for label in labels if label.startswith("layer4")]
    assert labels[-1] == "avgpool"


def test_marks_are_the_recorded_events():
    trace = traced(conv_net("channel_shuffle"))
    marks = {cell.operation: cell.marks for cell in cells_of(build_strip(trace))}
    assert marks[lost(trace).id] == ("format_lost", "format_copy")
    assert {n for n, found in marks.items() if "format_lost" in found} == {
        op.id for op in trace.operations if op.event == "loses"
    }
    assert {n for n, found in marks.items() if "hidden_copy" in found} == {
        op.id for op in trace.operations if op.hidden_bytes
    }


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_svg_is_well_formed_and_holds_every_cell(theme):
    strip = build_strip(traced(conv_net("channel_softmax")))
    root = ElementTree.fromstring(strip_svg(strip, theme))
    titles = [element.text for element in root.iter("{http://www.w3.org/2000/svg}title")]
    assert sorted(titles[1:]) == sorted(strip.words[cell.operation] for cell in cells_of(strip))


def test_the_figure_has_a_marker_for_every_cell():
    strip = build_strip(traced(conv_net("channel_softmax")))
    drawn = [n for trace in draw_strip(strip).data if trace.hoverinfo == "text" for n in trace.customdata]
    assert sorted(drawn) == sorted(cell.operation for cell in cells_of(strip))


def test_a_scaled_figure_enlarges_every_mark_letter_and_row():
    strip = build_strip(traced(conv_net("channel_softmax")))
    plain, large = draw_strip(strip), draw_strip(strip, scale=1.5)
    assert large.layout.height == 1.5 * plain.layout.height
    assert large.layout.yaxis.tickfont.size == 1.5 * plain.layout.yaxis.tickfont.size
    for one, two in zip(plain.data, large.data, strict=True):
        sizes = [(t.textfont if t.mode == "text" else t.marker).size for t in (one, two)]
        assert pytest.approx(1.5) == max_of(sizes[1]) / max_of(sizes[0])


def max_of(sizes) -> float:
    return sizes if isinstance(sizes, int | float) else max(sizes)


@pytest.mark.parametrize("letters", range(4, 12))
def test_a_backward_label_keeps_its_prime_at_any_width(letters):
    strip = build_strip(traced(RESNET))
    primed = {name for name in strip.names.values() if name.endswith("′")}
    assert {"conv′", "relu′"} <= primed
    for name in strip.names.values():
        assert len(fitted(name, letters)) <= letters
        assert fitted(name, letters).endswith("′") == (name in primed)


def test_the_csv_has_a_row_for_every_operation():
    trace = traced(conv_net("channel_shuffle"))
    rows = list(csv.DictReader(io.StringIO(operations_csv(trace))))
    assert [int(row["id"]) for row in rows] == [op.id for op in trace.operations]
    assert sum(int(row["copied bytes"]) for row in rows) == trace.copied_bytes


@pytest.mark.parametrize(
    ("model", "tone"),
    [
        (conv_net("channel_shuffle"), "lost"),
        (conv_net("conv_bn_relu"), "kept"),
        (conv_net("conv_bn_relu", "contiguous"), "contiguous"),
        (conv_net("one_hot_first", "contiguous"), "gained"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_headline_follows_the_trace(model, tone):
    assert headline(FormatSpec(model=model), traced(model))[0] == tone
