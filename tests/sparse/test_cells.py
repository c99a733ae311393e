"""The picture: every stored value stands at its place, and cells know each other across panels."""

from __future__ import annotations

import math
from functools import cache

import pytest

from engine import run
from engine.figures.cells import encode_cells, find_panel
from engine.figures.cells_svg import cells_svg
from engine.figures.sparse_cells import layout_scene
from engine.figures.sparse_entries import place_of, stored_entries
from engine.figures.sparse_lines import Line, lines_panel
from engine.figures.sparse_strips import coalesce_scene, embedding_scene, violation_scene
from engine.sparse.entries import Entry
from engine.sparse.matrix import LAYOUTS, Matrix
from engine.sparse.spec import EmbeddingGradSpec, InvariantsSpec, SparseSpec

PATTERNS = ("random", "duplicates", "blocks", "power-law rows", "one full row", "empty")


@cache
def trace(pattern="random", **fields):
    return run(SparseSpec(matrix=Matrix(pattern=pattern, density=0.3, **fields)), inline=True)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("pattern", PATTERNS)
def test_stored_values_at_their_places_add_up_to_the_dense_matrix(pattern, layout):
    found = trace(pattern)
    arrays = found.layout(layout)
    sums = [0.0] * len(found.dense.texts)
    for one in stored_entries(found, arrays):
        sums[place_of(found, one)] += float(arrays.member("values").texts[one.position])
    assert sums == list(map(float, found.dense.texts))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_dense_cell_and_its_value_are_one_thing(layout):
    found = trace()
    scene = layout_scene(found, (layout,))
    dense, values = find_panel(scene, "dense"), find_panel(scene, f"{layout}.values")
    for place, text in zip(values.owns, values.values, strict=True):
        if text != "0":
            assert dense.values[dense.owns.index(place)] == text
            assert "stored at values[" in dense.words[place]
    empty = [cell for cell in dense.owns if cell not in values.owns]
    assert empty
    assert all(math.isnan(dense.shades[cell]) and "not stored" in dense.words[cell] for cell in empty)


def test_a_row_pointer_reads_its_whole_row_and_the_last_one_nothing():
    found = trace()
    panel = find_panel(layout_scene(found, ("csr",)), "csr.crow_indices")
    columns = found.shape[1]
    for row, reads in enumerate(panel.reads[:-1]):
        assert reads == tuple(range(row * columns, (row + 1) * columns))
    assert panel.reads[-1] == ()
    pointers = found.layout("csr").member("crow_indices").numbers
    assert panel.values == tuple(map(str, pointers))
    assert f"row 0 has {pointers[1]} from 0 to {pointers[1] - 1}" in panel.words[0]


def test_a_column_pointer_reads_its_column_and_a_block_pointer_its_rows():
    found = trace()
    column = find_panel(layout_scene(found, ("csc",)), "csc.ccol_indices").reads[1]
    assert column == tuple(row * 12 + 1 for row in range(8))
    blocks = find_panel(layout_scene(found, ("bsr",)), "bsr.crow_indices").reads[1]
    assert blocks == tuple(range(2 * 12, 4 * 12))


def test_marks_of_duplicates_stored_zeros_and_padding():
    shared = find_panel(layout_scene(trace("duplicates"), ("coo",)), "coo.values")
    for place, mark in zip(shared.owns, shared.marks, strict=True):
        assert (mark == "duplicate") == (shared.owns.count(place) > 1)
    entries = (Entry(0, 0, 0.0), Entry(0, 1, 4.0))
    matrix = Matrix(pattern="typed entries", rows=2, columns=2, entries=entries, block_rows=2, block_columns=2)
    zero = run(SparseSpec(matrix=matrix), inline=True)
    assert find_panel(layout_scene(zero, ("csr",)), "csr.values").marks == ("stored_zero", "")
    block = find_panel(layout_scene(zero, ("bsr",)), "bsr.values")
    assert block.marks == ("stored_zero", "", "padding", "padding")
    assert block.caption == "2 of 4 stored values are padding"


def test_side_by_side_has_every_array_once():
    scene = layout_scene(trace(), ("coo", "csr", "csc", "bsr"))
    assert len(scene.panels) == 1 + 4 * 3
    assert len(scene.rows) == 5


def test_a_refused_layout_leaves_the_dense_picture():
    found = trace(rows=7)
    assert [panel.key for panel in layout_scene(found, ("bsr",)).panels] == ["dense"]


@pytest.mark.parametrize(("rows", "columns"), [(0, 4), (4, 0), (0, 0)])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_matrix_without_cells_can_be_drawn(rows, columns, layout):
    scene = layout_scene(trace(rows=rows, columns=columns, block_rows=1, block_columns=1), (layout,))
    assert encode_cells(scene)


def test_every_scene_can_be_encoded_and_exported():
    found = trace("duplicates")
    violations = run(InvariantsSpec(), inline=True).violations
    scenes = [coalesce_scene(found, found.coalesce), embedding_scene(run(EmbeddingGradSpec(), inline=True))]
    scenes += [violation_scene(violation) for violation in violations if not violation.not_possible]
    for scene in scenes:
        assert encode_cells(scene)
        assert cells_svg(scene, "dark").startswith("<svg")
    broken = scenes[2].panels[0]
    assert broken.row_labels == ("sound", "broken")
    assert [mark == "edited" for mark in broken.marks].index(True) == 2 * broken.columns - 1
    assert broken.marks.count("edited") == 1


@pytest.mark.parametrize("count", [0, 1, 24, 25, 60])
def test_lines_longer_than_a_block_keep_their_columns(count):
    numbers = tuple(range(count))
    texts, labels = tuple(map(str, numbers)), ("row", "value")
    panel = lines_panel("p", "p", [Line(label=label, values=texts, owns=numbers, words=texts) for label in labels])
    assert [owner for owner in panel.owns if owner >= 0].count(0) == (2 if count else 0)
    for cell, owner in enumerate(panel.owns):
        line, column = divmod(cell, panel.columns)
        block = line // 2
        assert owner == (block * panel.columns + column if block * panel.columns + column < count else -1)
        assert panel.values[cell] == (str(owner) if owner >= 0 else "")


@pytest.mark.parametrize("layout", LAYOUTS)
def test_sound_and_broken_cells_have_one_size(layout):
    for violation in run(InvariantsSpec(layout=layout), inline=True).violations:
        panels = violation_scene(violation).panels
        assert len(panels) <= 1 or len({(panel.columns, panel.block_rows) for panel in panels}) == 1


def test_before_and_after_have_the_same_lines():
    found = trace("duplicates")
    for scene in (coalesce_scene(found, found.coalesce), embedding_scene(run(EmbeddingGradSpec(), inline=True))):
        before, after = scene.panels
        assert before.row_labels == after.row_labels
        assert len(before.caption) == len(after.caption)
