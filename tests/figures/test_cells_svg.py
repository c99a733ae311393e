"""Linked cells as SVG: valid, escaped, complete, and of a sane size."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from engine.figures.cells import CellScene, Panel
from engine.figures.cells_layout import SHEET_WIDTH, place_panels, sheet_size
from engine.figures.cells_svg import cells_svg
from tests.figures.test_palette import THEMES

HOSTILE = "</text><script>alert(1)</script>&\x00\ud800\"'>"
NAMESPACE = "{http://www.w3.org/2000/svg}"


def scene():
    first = Panel(
        key="x",
        title="x",
        caption="two blocks",
        columns=3,
        owns=tuple(range(12)),
        shades=tuple(n / 11 for n in range(12)),
        values=tuple(map(str, range(100, 112))),
        words=tuple(f"cell {n}" for n in range(12)),
        row_labels=("r0", "r1"),
        column_labels=("a", "b", "c"),
        block_rows=2,
        block_labels=("first", "second"),
    )
    strip = Panel(
        key="s", title="strip", columns=80, owns=tuple(range(80)), marks=("gap", "overlap") * 40, tick_every=16
    )
    return CellScene(panels=(first, strip, Panel(key="z", title="none", caption="why", columns=1, owns=())))


def texts(svg):
    return [element.text for element in ElementTree.fromstring(svg).iter(f"{NAMESPACE}text")]


@pytest.mark.parametrize("theme", THEMES)
def test_it_is_valid_and_shows_every_text(theme):
    svg = cells_svg(scene(), theme)
    shown = texts(svg)
    for text in ("x", "two blocks", "100", "111", "r1", "c", "second", "strip", "none", "why", "no elements"):
        assert text in shown
    assert "memory that no index reads" in shown
    assert "64-byte cache line" in shown
    titles = [element.text for element in ElementTree.fromstring(svg).iter(f"{NAMESPACE}title")]
    assert "cell 11" in titles
    assert 'fill="url(#hatch-gap)"' in svg


def test_hostile_words_stay_words():
    marked = Panel(
        key=HOSTILE,
        title=HOSTILE,
        caption=HOSTILE,
        columns=1,
        owns=(0,),
        values=(HOSTILE,),
        words=(HOSTILE,),
        row_labels=(HOSTILE,),
        column_labels=(HOSTILE,),
        block_rows=1,
        block_labels=(HOSTILE,),
    )
    svg = cells_svg(CellScene(panels=(marked,), scale=(HOSTILE, HOSTILE), tick_words=HOSTILE))
    root = ElementTree.fromstring(svg)
    assert not list(root.iter(f"{NAMESPACE}script"))
    assert any("<script>" in (text or "") for text in texts(svg))


def test_no_cell_leaves_the_sheet_and_cells_do_not_overlap():
    names = tuple(f"[{n}, 0, 0, 0, :, :]" for n in range(30))
    blocks = Panel(key="b", title="b", columns=5, owns=tuple(range(120)), block_rows=4, block_columns=3)
    named = Panel(key="n", title="n", columns=2, owns=tuple(range(120)), block_rows=2, block_labels=names)
    wide = Panel(key="w", title="w", columns=600, owns=tuple(range(1200)))
    places = place_panels(CellScene(panels=(*scene().panels, blocks, named, wide)))
    width, height = sheet_size(places)
    assert width > SHEET_WIDTH
    for place in places:
        corners = [place.cell(index) for index in range(len(place.panel.owns))]
        assert len(set(corners)) == len(corners)
        assert all(x >= 0 and x + place.cell_width <= width for x, _ in corners)
        assert all(place.body_y <= y and y + place.cell_height <= place.bottom + 0.01 < height for _, y in corners)
        assert place.panel is wide or place.x + place.width <= SHEET_WIDTH


def test_a_strip_is_cut_at_whole_cache_lines():
    (place,) = place_panels(CellScene(panels=(scene().panels[1],)))
    assert place.columns % 16 == 0
    assert place.rows * place.columns >= 80


def test_ten_thousand_cells_stay_small():
    count = 10_000
    fields = {"owns": tuple(range(count)), "shades": tuple(n / count for n in range(count))}
    svg = cells_svg(CellScene(panels=(Panel(key="x", title="x", columns=100, words=("w",) * count, **fields),)))
    assert len(svg) < 400_000
    drawn = sum(len(re.findall("M", element.get("d", ""))) for element in ElementTree.fromstring(svg).iter())
    assert drawn >= count
