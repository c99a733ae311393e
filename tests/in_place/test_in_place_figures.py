"""The timeline: lanes, marks and words against the run, and an SVG that every XML reader takes."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import pytest

from engine.figures.in_place_lanes import timeline
from engine.figures.in_place_svg import timeline_svg
from engine.figures.in_place_table import gradient_rows, saved_rows, state_rows, values_text
from engine.figures.in_place_words import HEADLINES, explanation, grad_fn_changes
from engine.in_place.families import FAMILIES
from engine.in_place.fixes import find_fix
from engine.in_place.results import Verdict
from engine.in_place.spec import DEFAULT_PROGRAM
from engine.in_place.trace import run_program

SHARED = (
    "x = tensor([1.0, 2.0, 3.0], requires_grad=True)\nh = x * 2\nv = h[:2]\ny = h * h\nd = h.data\nd.mul_(2)\n"
    "y.sum().backward()\nv.add_(1)\n"
)
ALL = [(member.title, member.program) for family in FAMILIES.values() for member in family.members]


def drawn(program):
    return timeline(program, run_program(program, 0))


def test_views_share_a_lane_and_data_has_one_of_its_own_in_the_same_memory():
    lanes = {lane.title: lane for lane in drawn(SHARED).lanes}
    assert set(lanes) == {"x", "h, v", "d", "y"}
    assert lanes["h, v"].storage == lanes["d"].storage
    assert lanes["h, v"].versions == ((1, 0), (7, 1))
    assert [(one.row, one.call) for one in lanes["d"].writes] == [(5, "mul_")]
    assert [(one.name, one.of) for one in lanes["h, v"].names] == [("h", ""), ("v", "h")]


def test_what_a_node_keeps_lasts_until_backward_and_turns_at_the_write():
    (kept,) = next(lane.kept for lane in drawn(SHARED).lanes if lane.title == "h, v")
    assert (kept.node, kept.slots, kept.version) == ("MulBackward0", ("other", "self"), 0)
    assert (kept.first, kept.changed, kept.last, kept.ending, kept.breaks) == (3, 5, 6, "overwritten", True)
    (stale,) = next(lane.kept for lane in drawn(DEFAULT_PROGRAM).lanes if lane.title == "s")
    assert (stale.first, stale.changed, stale.last, stale.ending) == (1, 4, 5, "stale")
    program = "x = ones(2, requires_grad=True)\ny = x.exp()\ny.sum().backward()"
    (read,) = next(lane.kept for lane in drawn(program).lanes if lane.kept)
    assert (read.changed, read.last, read.ending) == (-1, 2, "read")


def test_statements_behind_an_error_are_rows_that_did_not_run():
    rows = drawn("x = ones(2, requires_grad=True)\nx.add_(1)\ny = x * 2").rows
    assert [(row.ran, bool(row.error)) for row in rows] == [(True, False), (True, True), (False, False)]


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize(("title", "program"), ALL, ids=[title for title, _ in ALL])
def test_every_program_of_the_page_is_drawn_as_xml(title, program, theme):
    shown = drawn(program)
    root = ElementTree.fromstring(timeline_svg(shown, theme, selected=1))
    lines = [element.get("data-line") for element in root.iter() if element.get("data-line")]
    assert lines == [str(row.line) for row in shown.rows]
    width = float(root.get("width"))
    assert all(float(one.get("x")) < width for one in root.iter("{http://www.w3.org/2000/svg}text"))


def test_markup_in_a_program_stays_text():
    program = "x = ones(2)\ny = x < 3\nz = where(x > 1, x, x * 2)\n"
    root = ElementTree.fromstring(timeline_svg(drawn(program), title="<b> & \x00"))
    texts = [element.text for element in root.iter() if element.text]
    assert "y = x < 3" in texts


def test_the_largest_program_is_drawn():
    program = "\n".join(f"x{i} = ones(2, requires_grad=True)" for i in range(12))
    program += "\n" + "\n".join(f"x{i} = x{i} * x{i + 1}" for i in range(11)) + "\nx0.sum().backward()"
    assert len(drawn(program).rows) == 24
    assert ElementTree.fromstring(timeline_svg(drawn(program)))


def test_the_plain_words_name_node_lines_and_versions():
    words = " ".join(explanation(run_program(DEFAULT_PROGRAM, 0)))
    for part in (
        "`SigmoidBackward0`",
        "line 2",
        "`s = sigmoid(x)`",
        "line 5",
        "`s.add_(1)`",
        "version 0",
        "raised to 1",
    ):
        assert part in words
    assert "`.data`" in " ".join(explanation(run_program(SHARED, 0)))
    assert explanation(run_program("x = ones(2)\nx.add_(1)", 0)) == ()
    assert set(HEADLINES) == set(Verdict.__args__)


@pytest.mark.parametrize(("title", "program"), ALL, ids=[title for title, _ in ALL])
def test_everything_that_breaks_is_explained(title, program):
    run = run_program(program, 0, with_graphs=False)
    assert bool(explanation(run)) == (run.verdict != "runs")


def test_the_tables_say_what_rose_and_what_became_stale():
    run = run_program(DEFAULT_PROGRAM, 0)
    rows = {row[0]: row for row in state_rows(run, run.steps[4], run.steps[3])}
    assert rows["s"][1] == "0 → 1"
    assert rows["t"][1] == "1"
    assert saved_rows(run, run.steps[4])[0][-1] == "stale: backward will raise"
    fix = find_fix(DEFAULT_PROGRAM, 0, run)
    (row,) = gradient_rows(run, fix.run)
    # 5 + s'(x)
    assert row == ("x", "none", "[5.25, 5.20, 5.10]")
    assert values_text(None) == "large"


def test_a_write_through_a_view_changes_the_grad_fn_of_base_and_view():
    run = run_program("r = ones(3, requires_grad=True)\nx = r * 1\nv = x[:2]\nv.mul_(2)", 0)
    changes = {name: (before, after) for name, before, after in grad_fn_changes(run.steps[2], run.steps[3])}
    assert changes == {
        "x": ("MulBackward0", "torch::autograd::CopySlices"),
        "v": ("SliceBackward0", "AsStridedBackward0"),
    }
    names = run.graphs[run.steps[3].graph].node_names
    assert "torch::autograd::CopySlices" in names
    assert "torch::autograd::CopySlices" not in run.graphs[run.steps[2].graph].node_names
