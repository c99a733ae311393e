"""Linked cells as data: what a scene refuses, what its bytes hold, and the scale of addresses."""

from __future__ import annotations

import array
import itertools
import math

import msgspec
import pytest

from engine.figures.cells import CellScene, Panel, encode_cells, find_panel
from engine.figures.cells_encoding import NOTHING, read_header, shade_step
from engine.figures.palette import ADDRESS_STEPS, BACKGROUND, address_ramp, contrast, from_oklch, luminance, text_on
from tests.figures.test_palette import DEUTERANOPIA, PROTANOPIA, THEMES, seen


def panel(key="x", **fields):
    return Panel(**{"key": key, "title": key, "columns": 3, "owns": (10, 20, 30, 40)} | fields)


def integers(data):
    return list(array.array("i", data)) if data is not None else None


def read_column(encoded, name, panel):
    """One column of one panel as it was written, None when the panel has none."""
    start = 4 + int.from_bytes(encoded[:4], "little")
    for found, owner, offset, length in read_header(encoded)["sections"]:
        if (found, owner) == (name, panel):
            return encoded[start + offset : start + offset + length]
    return None


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"key": ""}, "key must not be empty"),
        ({"columns": 0}, "columns must be at least 1"),
        ({"block_rows": -1}, "no count negative"),
        ({"values": ("1",)}, "`values` has 1 entries for 4 cells"),
        ({"words": ("a",) * 5}, "`words` has 5 entries for 4 cells"),
        ({"owns": (-2, 0, 0, 0)}, "ids start at 0"),
        ({"shades": (0.0, 1.5, 0.0, 0.0)}, "received 1.5"),
        ({"marks": ("gap", "", "sparkle", "")}, "no mark 'sparkle'"),
        ({"row_labels": ("a",)}, "`row_labels` has 1 entries"),
        ({"column_labels": ("a", "b")}, "`column_labels` has 2 entries"),
        ({"block_labels": ("a", "b")}, "`block_labels` has 2 entries"),
    ],
)
def test_a_panel_says_what_does_not_fit(fields, words):
    with pytest.raises(ValueError, match="Panel") as refused:
        panel(**fields)
    assert words in str(refused.value)


def test_a_scene_places_every_panel_once():
    a, b = panel("a"), panel("b")
    assert CellScene(panels=(a, b)).lines == ((0,), (1,))
    assert CellScene(panels=(a, b), rows=(("b", "a"),)).lines == ((1, 0),)
    for rows in ((("a",),), (("a", "b"), ("b",)), (("a", "b", "c"),)):
        with pytest.raises(ValueError, match="exactly one row"):
            CellScene(panels=(a, b), rows=rows)
    with pytest.raises(ValueError, match="key of its own"):
        CellScene(panels=(a, a))
    with pytest.raises(ValueError, match="sparkle"):
        CellScene(panels=(a,), legend=("sparkle",))
    assert find_panel(CellScene(panels=(a, b)), "b") == b
    assert find_panel(CellScene(panels=(a, b)), "c") is None


def test_blocks_and_strips_count_rows():
    blocks = panel(owns=tuple(range(24)), columns=4, block_rows=2, block_labels=("0", "1", "2"))
    assert (blocks.rows, blocks.blocks, blocks.is_strip) == (6, 3, False)
    assert panel(columns=4).is_strip
    assert not panel().is_strip


def test_the_bytes_hold_every_column_with_ids_in_their_order():
    first = panel(
        reads=((), (40, 99), (), (10,)),
        shades=(0.0, 1.0, math.nan, 0.5),
        marks=("", "gap", "overlap", ""),
        values=("1", "2", "", "ü"),
        words=("a", "b", "c", "d\ne"),
    )
    second = panel("y", owns=(-1, 20), columns=2)
    scene = CellScene(panels=(first, second), legend=("overlap",))
    encoded = encode_cells(scene)
    header = read_header(encoded)
    assert [found["cells"] for found in header["panels"]] == [4, 2]
    assert header["ids"] == 5
    assert [mark["key"] for mark in header["marks"]] == ["overlap", "gap"]
    assert integers(read_column(encoded, "owns", 0)) == [0, 1, 2, 3]
    assert integers(read_column(encoded, "owns", 1)) == [-1, 1]
    assert integers(read_column(encoded, "read_starts", 0)) == [0, 0, 2, 2, 3]
    assert integers(read_column(encoded, "read_ids", 0)) == [3, 4, 0]
    assert list(read_column(encoded, "shades", 0)) == [0, ADDRESS_STEPS - 1, NOTHING, ADDRESS_STEPS // 2]
    assert list(read_column(encoded, "marks", 0)) == [NOTHING, 1, 0, NOTHING]
    assert msgspec.json.decode(read_column(encoded, "values", 0)) == ["1", "2", "", "ü"]
    assert msgspec.json.decode(read_column(encoded, "words", 0)) == ["a", "b", "c", "d\ne"]
    assert read_column(encoded, "words", 1) is None
    assert all(start % 4 == 0 for _, _, start, _ in header["sections"])
    assert (4 + int.from_bytes(encoded[:4], "little")) % 4 == 0


def test_the_same_scene_gives_the_same_bytes_and_no_colours_without_shades():
    scene = CellScene(panels=(panel(),))
    assert encode_cells(scene) == encode_cells(msgspec.structs.replace(scene))
    assert read_header(encode_cells(scene))["ramp"] is None
    assert read_header(encode_cells(scene))["tick_words"] == ""


def test_an_empty_panel_can_be_encoded():
    encoded = encode_cells(CellScene(panels=(panel(owns=()),)))
    assert read_header(encoded)["panels"][0]["cells"] == 0
    assert read_column(encoded, "owns", 0) == b""


def test_ten_thousand_cells_take_less_than_a_hundred_bytes_each():
    count = 10_000
    words = tuple(f"x[{n // 100}, {n % 100}] · element {n} · byte {4 * n}" for n in range(count))
    shades = tuple(n / (count - 1) for n in range(count))
    big = Panel(key="x", title="x", columns=100, owns=tuple(range(count)), shades=shades, words=words)
    assert len(encode_cells(CellScene(panels=(big,)))) < 100 * count


def test_shades_reach_both_ends_of_the_scale():
    assert (shade_step(0.0), shade_step(1.0), shade_step(math.nan)) == (0, ADDRESS_STEPS - 1, NOTHING)


@pytest.mark.parametrize("theme", THEMES)
def test_the_scale_of_addresses_runs_one_way_and_text_on_it_can_be_read(theme):
    ramp = address_ramp(theme)
    assert len(set(ramp)) == ADDRESS_STEPS >= 64
    steps = [luminance(colour) for colour in ramp]
    assert steps == sorted(steps, reverse=theme == "light")
    assert min(contrast(text_on(colour), colour) for colour in ramp) >= 4.5
    assert contrast(ramp[-1], BACKGROUND[theme]) > 7 > 3 > contrast(ramp[0], BACKGROUND[theme])


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("matrix", [PROTANOPIA, DEUTERANOPIA])
def test_far_addresses_differ_without_colour_vision(theme, matrix):
    colours = [seen(colour, matrix) for colour in address_ramp(theme)[::16]]
    for first, second in itertools.pairwise(colours):
        assert math.dist(first, second) > 15


def test_oklch_has_the_known_corners():
    assert from_oklch(0.0, 0.0, 0.0) == "#000000"
    assert from_oklch(1.0, 0.0, 0.0) == "#ffffff"
    # sRGB red is L 0.6280, C 0.2577, h 29.23 in OKLCH (CSS Color 4, sample conversions).
    red = from_oklch(0.6279, 0.2576, 29.23)
    assert math.dist([int(red[i : i + 2], 16) for i in (1, 3, 5)], (255, 0, 0)) < 6
