"""Where the figures say an element lies is where PyTorch has it: checked by data_ptr over random chains."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine import run
from engine.figures.cells import CellScene, Panel, encode_cells, find_panel
from engine.figures.cells_sampling import count_reads, sample_indices
from engine.figures.cells_svg import cells_svg
from engine.figures.storage_cells import panel_key, step_of, storage_scene
from engine.storage.addresses import addresses
from engine.storage.operations import Step
from engine.storage.spec import LayoutSpec
from tests.storage.chains import build, chains

STRIDES = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 6)), max_size=4)


def traced(shape, steps=(), dtype="int32"):
    return run(LayoutSpec(shape=shape, steps=tuple(steps), dtype=dtype), inline=True)


def whole(trace, **options) -> CellScene:
    return storage_scene(trace, range(len(trace.layouts)), **options)


def end_panel(scene, trace) -> Panel:
    return find_panel(scene, panel_key(len(trace.layouts) - 1))


def strip_of(scene, layout) -> Panel:
    return find_panel(scene, f"storage {layout.storage_id}")


def bytes_read(tensor):
    """First byte of every index in its storage, asked of PyTorch."""
    start = tensor.untyped_storage().data_ptr()
    return [tensor[index].data_ptr() - start for index in itertools.product(*map(range, tensor.shape))]


@settings(max_examples=60, deadline=None)
@given(chains())
def test_every_cell_is_where_pytorch_has_the_element(chain):
    trace, tensor = traced(*chain), build(*chain)
    scene = whole(trace)
    strip = strip_of(scene, trace.layouts[-1])
    cells = end_panel(scene, trace)
    places = [strip.owns.index(own) for own in cells.owns]
    assert [4 * place for place in places] == bytes_read(tensor)
    assert [strip.values[place] for place in places] == [str(value) for value in tensor.flatten().tolist()]
    assert cells.values == tuple(strip.values[place] for place in places)
    reads = Counter(places)
    marks = ["gap" if not reads[n] else "overlap" if reads[n] > 1 else "" for n in range(len(strip.owns))]
    assert list(strip.marks or [""] * len(marks)) == marks
    assert encode_cells(scene)


@settings(max_examples=60, deadline=None)
@given(chains())
def test_ids_are_of_one_storage_and_one_place(chain):
    trace = traced(*chain)
    scene = whole(trace)
    strips = [panel for panel in scene.panels if step_of(panel.key) is None]
    ids = [own for strip in strips for own in strip.owns]
    assert ids == list(range(len(ids)))
    for number, layout in enumerate(trace.layouts):
        assert set(find_panel(scene, panel_key(number)).owns) <= set(strip_of(scene, layout).owns)


@pytest.mark.parametrize(
    ("shape", "dtype", "steps", "unit_bytes"),
    [
        ((4, 4), "float32", [Step("view_dtype", ("uint8",))], 1),
        ((2, 8), "float32", [Step("slice", (1, 2, 6, 1)), Step("view_dtype", ("float64",))], 4),
        ((2, 3), "complex64", [Step("real")], 4),
        ((2, 3), "complex128", [Step("imag"), Step("transpose", (0, 1))], 8),
    ],
)
def test_elements_of_another_size_cover_the_same_bytes(shape, dtype, steps, unit_bytes):
    trace = traced(shape, steps, dtype)
    assert len(trace.layouts) == len(steps) + 1, trace.outcomes
    scene = whole(trace)
    strip = strip_of(scene, trace.layouts[-1])
    assert len(strip.owns) * unit_bytes == trace.layouts[0].storage_bytes
    assert strip.tick_every * unit_bytes == 64
    for number, layout in enumerate(trace.layouts):
        panel = find_panel(scene, panel_key(number))
        firsts = addresses(layout.shape, layout.stride, layout.storage_offset)
        for cell, first in enumerate(firsts):
            covered = {panel.owns[cell], *(panel.reads[cell] if panel.reads else ())}
            start = first * layout.itemsize
            assert {unit_bytes * strip.owns.index(own) for own in covered} == set(
                range(start, start + layout.itemsize, unit_bytes)
            )


def test_words_name_the_index_the_element_and_who_reads_it():
    trace = traced((12,), [Step("as_strided", ((4, 3), (2, 1), 1))])
    scene = whole(trace, names=("a", "b"))
    strip = strip_of(scene, trace.layouts[-1])
    assert end_panel(scene, trace).words[3] == "b[1, 0] · element 3 · byte 12 · value 3"
    assert strip.words[3] == "element 3 · byte 12 · value 3\nread by a[3], b[0, 2], b[1, 0] (3 indices)"
    assert strip.words[0] == "element 0 · byte 0 · value 0\nread by a[0] (1 index)"
    assert "3 not read by b" in strip.caption
    assert "3 read more than once by b" in strip.caption
    only = storage_scene(trace, [1])
    assert strip_of(only, trace.layouts[1]).words[0] == "element 0 · byte 0 · value 0\nread by no index of t1"


def test_blocks_are_the_outer_indices():
    panel = end_panel(whole(trace := traced((2, 3, 4, 5))), trace)
    assert (panel.block_rows, panel.block_columns, panel.blocks) == (4, 3, 6)
    assert panel.block_labels[4] == "[1, 1, :, :]"
    assert panel.words[4 * 20 + 7].startswith("x[1, 1, 1, 2] ")
    assert panel.path


def test_a_number_is_one_cell_and_no_elements_are_explained():
    trace = traced((4, 3), [Step("slice", (0, 2, 2, 1)), Step("select", (1, 0))])
    scene = whole(trace)
    assert find_panel(scene, panel_key(1)).owns == ()
    assert find_panel(scene, panel_key(1)).caption == "dim 0 has size 0: no index exists, so no memory is read."
    assert set(strip_of(scene, trace.layouts[0]).marks) == {"gap"}
    scalar = traced((4,), [Step("select", (0, 2))])
    panel = end_panel(whole(scalar), scalar)
    assert (panel.owns, panel.words) == ((2,), ("t1 · element 2 · byte 8 · value 2",))
    nothing = traced((0, 3))
    assert strip_of(whole(nothing), nothing.layouts[0]).owns == ()
    assert cells_svg(whole(nothing))


def test_a_lazy_conjugate_says_how_its_memory_is_read():
    trace = traced((2, 2), [Step("conj")], "complex64")
    assert "(read as its conjugate)" in end_panel(whole(trace), trace).words[1]


def test_a_large_tensor_is_sampled_and_says_so():
    trace = traced((2048, 2048), [Step("transpose", (0, 1))])
    scene = whole(trace, maximum_cells=2048)
    panel, strip = end_panel(scene, trace), strip_of(scene, trace.layouts[1])
    assert "showing 32×32 of 2048×2048: every 64th row, every 64th column" in panel.caption
    assert panel.row_labels[1] == "64"
    assert panel.words[1] == f"t1[0, 64] · element {64 * 2048} · byte {64 * 2048 * 4}"
    assert set(panel.owns) == set(strip.owns)
    assert len(strip.owns) <= 2048
    assert f"{2048 * 2048 - len(strip.owns):,}".replace(",", "\u202f") + " others" in strip.caption
    assert strip.tick_every == 0
    assert strip.marks == ()


def test_a_hundred_by_hundred_is_drawn_whole():
    trace = traced((100, 100), [Step("transpose", (0, 1))])
    assert [len(panel.owns) for panel in whole(trace).panels] == [10_000] * 3


def test_reads_are_counted_beyond_what_is_drawn():
    trace = traced((3, 1), [Step("expand", ((3, 5000),))])
    scene = storage_scene(trace, [1], maximum_cells=100)
    strip = strip_of(scene, trace.layouts[1])
    assert "(5\u202f000 indices)" in strip.words[2]
    assert strip.marks == ("overlap",) * 3


@settings(max_examples=200, deadline=None)
@given(STRIDES, st.integers(0, 5))
def test_counting_reads_agrees_with_listing_them(dims, start):
    shape, stride = tuple(size for size, _ in dims), tuple(step for _, step in dims)
    places = start + 1 + sum(max(0, size - 1) * step for size, step in dims)
    listed = Counter(addresses(shape, stride, start)) if math.prod(shape) else Counter()
    assert count_reads(shape, stride, start, places) == [listed[place] for place in range(places)]


@pytest.mark.parametrize("shape", [(), (7,), (0, 5), (10_000, 3), (33, 65, 129), (1, 1_000_000), (9, 9, 9, 9, 9)])
def test_samples_are_even_and_within_the_limit(shape):
    sample = sample_indices(shape, 500)
    assert math.prod(sample.shape) <= 500
    assert len(sample.indices()) == math.prod(sample.shape)
    assert bool(sample.words) == (math.prod(shape) > 500)
    for kept, size in zip(sample.kept, shape, strict=True):
        assert not kept or (kept[0] == 0 and kept[-1] < size)


@pytest.mark.parametrize("steps", [[], [5], [-1]])
def test_steps_that_are_not_there_are_refused(steps):
    with pytest.raises(ValueError, match="Steps are numbers of tensors, 0 to 0"):
        storage_scene(traced((2, 2)), steps)


def test_keys_and_steps_belong_together():
    assert step_of(panel_key(3)) == 3
    assert step_of("storage 3") is None
