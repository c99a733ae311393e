"""The pictures of memory: areas are bytes, edges are the trace's sums, names stay text."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.figures.memory_beside import LEFT as BARS_LEFT
from engine.figures.memory_beside import RIGHT as BARS_RIGHT
from engine.figures.memory_beside import memory_beside
from engine.figures.memory_frame import HEIGHT, LEFT, TOP, TimeFrame
from engine.figures.memory_lifetimes import STACKINGS, largest_blocks, lifetimes_words, memory_lifetimes
from engine.figures.memory_squarify import Rectangle, squarify
from engine.figures.memory_svg import WIDTH
from engine.figures.memory_timeline import Drawn, memory_timeline
from engine.figures.memory_tree import LEAVES, LEVELS, memory_tree
from engine.figures.memory_treemap import memory_treemap, wrapped
from engine.figures.memory_words import keeps_words
from engine.figures.units import format_exact_bytes
from engine.memory.blocks import CATEGORIES
from engine.memory.ledger import bytes_at, bytes_by, peak_event
from engine.memory.spec import MemorySpec
from engine.models.spec import Gpt, ModelSpec
from tests.figures.memory_traces import LIVE, held, trace_of, two_steps

EVIL = '<script>alert(1)</script> & "quoted" \u202e'
CHECKPOINTED = ModelSpec(architecture=Gpt(), checkpoint="each_block")


def groups_of(svg: str, attribute: str) -> dict[int, ET.Element]:
    found = {}
    for element in ET.fromstring(svg).iter():
        if attribute in element.attrib:
            found[int(element.attrib[attribute])] = element
    return found


@given(st.lists(st.integers(0, 10**9), min_size=1, max_size=40), st.integers(1, 900), st.integers(1, 500))
@settings(max_examples=80, deadline=None)
def test_squarified_areas_are_the_shares_and_stay_inside(sizes, width, height):
    sizes = sorted(sizes, reverse=True)
    places = squarify(sizes, Rectangle(3, 5, width, height))
    assert len(places) == len(sizes)
    total = sum(sizes)
    for size, place in zip(sizes, places, strict=True):
        share = size / total * width * height if total else 0.0
        assert place.width * place.height == pytest.approx(share, rel=1e-6, abs=1e-6)
        assert place.x >= 3 - 1e-6
        assert place.x + place.width <= 3 + width + 1e-6
        assert place.y + place.height <= 5 + height + 1e-6


@pytest.mark.parametrize("levels", LEVELS)
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_treemap_has_every_live_block_with_its_bytes(levels, theme):
    trace = two_steps()
    tree = memory_tree(trace, 7, levels)
    assert tree.bytes == LIVE[7]
    assert sum(leaf.bytes for outer in tree.groups for inner in outer.groups for leaf in inner.leaves) == LIVE[7]
    drawn = groups_of(memory_treemap(trace, 7, levels, theme, selected=6, title="t"), "data-block")
    assert set(drawn) == set(trace.blocks.alive_at(7).tolist())
    rectangle = drawn[6].find("{*}rect").attrib
    other = drawn[4].find("{*}rect").attrib
    ratio = float(rectangle["width"]) * float(rectangle["height"]) / (float(other["width"]) * float(other["height"]))
    assert ratio == pytest.approx(2, rel=0.25), "800 bytes against 400, but for headers and edges"
    assert "44.3% of what is alive" in drawn[6].attrib["data-tip"]


def test_many_small_blocks_share_a_rectangle_and_lose_no_byte():
    rows = [held(100 + number, number, -1, "saved", f"n{number}") for number in range(LEAVES + 30)]
    trace = trace_of(rows, (), len(rows))
    tree = memory_tree(trace, len(rows) - 1, "category, then module")
    leaves = tree.groups[0].groups[0].leaves
    assert sum(leaf.bytes for leaf in leaves) == sum(row.bytes for row in rows)
    (rest,) = [leaf for leaf in leaves if leaf.index < 0]
    assert (rest.blocks, rest.bytes) == (30, sum(100 + number for number in range(30)))


@pytest.mark.parametrize("across", ["events", "seconds"])
def test_the_stack_of_the_timeline_ends_at_the_live_bytes(across):
    trace = two_steps()
    drawn = Drawn(0, 13, peak_event(trace), 7, across)
    svg = memory_timeline(trace, drawn, title="t")
    frame = TimeFrame(trace, 0, 13, max(LIVE), across, "light")
    assert (frame.y(0), frame.y(frame.top_bytes)) == (frame.bottom, TOP)
    assert frame.top_bytes >= max(LIVE)
    (counter,) = [one for one in ET.fromstring(svg).iter() if "data-counter" in one.attrib]
    heights = [float(y) for y in re.findall(r"(?:V|M[\d.]+ )([\d.]+)", counter.attrib["d"])]
    assert heights == [pytest.approx(frame.y(size), abs=0.06) for size in LIVE]
    strips = groups_of(svg, "data-event")
    assert set(strips) <= set(range(13))
    assert "1.76 KiB" in strips[7].attrib["data-tip"]
    assert "backward, step 1" in strips[4].attrib["data-tip"]
    assert "peak 1.88 KiB" in svg
    assert svg.count('url(#memory-hatch)"') == 1


@pytest.mark.parametrize("stacking", STACKINGS)
def test_blocks_lie_from_birth_to_death_and_sink_when_one_below_goes(stacking):
    trace = two_steps()
    drawn = Drawn(0, 13, 11, None)
    svg = memory_lifetimes(trace, drawn, stacking, selected=4, title="t")
    blocks = groups_of(svg, "data-block")
    assert set(blocks) == set(range(10))
    frame = TimeFrame(trace, 0, 13, max(LIVE), "events", "light")
    gradient = blocks[4].find("{*}path").attrib["d"]
    xs = [float(x) for x in re.findall(r"[MLH]([\d.]+)", gradient)]
    assert (min(xs), max(xs)) == (pytest.approx(frame.x(4), abs=0.06), pytest.approx(frame.x(8), abs=0.06))
    state = blocks[6].find("{*}path").attrib["d"]
    moves = len(set(re.findall(r"V([\d.]+)", state)))
    assert moves > 2 if stacking == "in order of birth" else moves <= 2, "the largest but the weight lies at the bottom"
    assert lifetimes_words(trace, drawn) == "All 10 blocks of this stretch."
    assert largest_blocks(trace, Drawn(9, 13, None), most=3)[0].tolist() == [6, 0, 9]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_beside_a_bars_are_bytes_on_one_scale_and_the_largest_difference_is_first(theme):
    trace = two_steps()
    old, new = bytes_at(trace, 6), bytes_at(trace, 8)
    rows = [
        one for one in ET.fromstring(memory_beside(trace, 8, trace, 6, theme, title="t")) if "data-tip" in one.attrib
    ]
    told = [one.attrib["data-tip"].split("\n") for one in rows]
    assert [one[0] for one in told[:2]] == ["optimizer state", "gradient"]
    exactly = [f"A: {format_exact_bytes(LIVE[6])}", f"this run: {format_exact_bytes(LIVE[8])}"]
    assert told[-1] == ["all live bytes", *exactly, "+400 B"]
    assert len(rows) == sum(1 for one in CATEGORIES if old[one] or new[one]) + 1
    longest = max(LIVE[6], LIVE[8])
    bars = [[float(one.attrib["width"]) for one in row.iter() if one.tag.endswith("rect")][1:] for row in rows]
    scale = (BARS_RIGHT - BARS_LEFT) / longest
    assert bars[-1] == [pytest.approx(scale * size, abs=0.06) for size in (LIVE[6], LIVE[8])]
    assert bars[0] == [pytest.approx(scale * 800, abs=0.06)], "A has no optimizer state yet, so it has no bar"
    same = memory_beside(trace, 8, trace, 8, theme, title="t")
    assert same.count("= A</text>") == sum(map(bool, new.values())) + 1
    assert "all live bytes" in memory_beside(trace_of([], (), 1), 0, trace_of([], (), 1), 0, theme, title="t")


def test_names_are_text_and_an_empty_run_says_so():
    trace = trace_of([held(64, 0, -1, "saved", EVIL, module=EVIL, operation=EVIL, holders=(EVIL,))], (), 1)
    drawn = Drawn(0, 1, 0, 0)
    for svg in (
        memory_treemap(trace, 0, "module, then category", title=EVIL),
        memory_timeline(trace, drawn, title=EVIL),
        memory_lifetimes(trace, drawn, title=EVIL),
    ):
        assert not [one for one in ET.fromstring(svg).iter() if one.tag.endswith("script")]
    nothing = trace_of([], (), 0)
    for svg in (
        memory_timeline(nothing, Drawn(0, 0, None), title="t"),
        memory_lifetimes(nothing, Drawn(0, 0, None), title="t"),
    ):
        assert "no memory" in "".join(ET.fromstring(svg).itertext())
    assert "No block is alive" in memory_treemap(two_steps(), -1, "module, then category", title="t")


def test_frames_have_round_bytes_and_stay_inside():
    trace = two_steps()
    for largest in (1, 3, 1000, 1024, 10**6, 17_945_000, 3 * 2**40):
        frame = TimeFrame(trace, 0, 13, largest, "events", "light")
        assert largest <= frame.top_bytes <= max(6.5, 2.1 * largest)
        assert (frame.x(0), frame.x(13)) == (LEFT, WIDTH - 10)
        assert frame.bottom - frame.y(frame.top_bytes) == HEIGHT
        "".join(frame.behind())


def test_long_names_break_after_dots():
    assert wrapped("blocks.attention.weight", 60, 40) == ["blocks.", "attention.", "weight"]
    assert wrapped("blocks.attention.weight", 60, 10) == ["blocks.attention.weight"]
    assert wrapped("a", 5, 0) == ["a"]


def test_a_sentence_names_the_toggle_that_would_free_a_block():
    trace = two_steps()
    words = {
        4: keeps_words(MemorySpec(zero_grad="fill with zeros"), trace, trace.blocks[4], 7),
        6: keeps_words(MemorySpec(), trace, trace.blocks[6], 7),
        2: keeps_words(MemorySpec(kept="the loss of every step"), trace, trace.blocks[2], 7),
    }
    assert "until zero_grad, step 1" in words[4]
    assert "set it to `set_to_none`" in words[4]
    assert "`optimizer` SGD" in words[6]
    assert "to the end of the run" in words[6]
    assert "ReluBackward0.result" in words[2]
    assert "the loop keeps the loss of every step" in words[2]


@pytest.mark.parametrize(
    ("model", "holder", "module", "told", "untold"),
    [
        (ModelSpec(), "AddmmBackward0.mat1", "head", "`no_grad`", "checkpoint"),
        (ModelSpec(architecture=Gpt()), "GeluBackward0.self", "blocks.0.mlp.1", "unless it is what", "`no_grad`"),
        (CHECKPOINTED, "checkpoint input[0]", "blocks.0", "has to keep", "compute it again"),
        (CHECKPOINTED, "checkpoint random number state", "blocks.0", "`preserve_rng_state`", "given"),
    ],
)
def test_of_a_saved_block_only_what_is_true_is_said(model, holder, module, told, untold):
    rows = [held(64, 0, -1, "saved", holder, module=module, holders=(holder,))]
    trace = trace_of(rows, (), 1)
    words = keeps_words(MemorySpec(model=model), trace, trace.blocks[0], 0)
    assert told in words
    assert untold not in words


def test_a_copy_that_autocast_made_is_freed_by_turning_it_off():
    rows = [
        held(64, 0, -1, "saved", "AddmmBackward0.mat2", operation="aten::_to_copy", holders=("AddmmBackward0.mat2",))
    ]
    trace = trace_of(rows, (), 1)
    words = [
        keeps_words(MemorySpec(model=ModelSpec(autocast=how)), trace, trace.blocks[0], 0) for how in ("bfloat16", "off")
    ]
    assert ["`autocast`" in one for one in words] == [True, False]


def test_a_block_that_backward_released_counts_as_what_keeps_it_now():
    rows = [held(64, 0, -1, "saved", "ReluBackward0.result", afterwards="output", released=2), held(8, 1, 3, "input")]
    trace = trace_of(rows, (), 4)
    assert [bytes_at(trace, event)["saved"] for event in range(4)] == [64, 64, 0, 0]
    assert trace.blocks.live_bytes(4)[CATEGORIES.index("output")].tolist() == [0, 0, 64, 64]
    assert bytes_by(trace, 3, "category") == {"output": 64}
    spec = MemorySpec(kept="outputs")
    assert "saved slots are freed" in keeps_words(spec, trace, trace.blocks[0], 2)
    assert "the loop keeps outputs: set `kept` to nothing" in keeps_words(spec, trace, trace.blocks[0], 2)
    assert "saved slots are freed" not in keeps_words(spec, trace, trace.blocks[0], 1)
