"""What opens, inside a time limit; and what one more open group leaves as it was."""

from __future__ import annotations

import itertools

import pytest

from engine.figures import drawings
from engine.figures.arrange import AUTOMATIC_S, NAMED_S, arrange
from engine.figures.compound import HEADER, PAD_X
from engine.figures.level import OutOfTime
from engine.figures.reveal import toggled
from engine.figures.scene import build_scene, prepare
from engine.figures.view import GraphView
from tests.figures.graphs import chain, graph, node, random_graph

OPERATIONS = tuple(f"Op{i}Backward0" for i in range(5))


@pytest.fixture(autouse=True)
def _no_drawings_kept():
    drawings.forget()
    yield
    drawings.forget()


class Ticking:
    """A clock that moves on by `step_s` each time it is looked at."""

    def __init__(self, step_s: float) -> None:
        self.now_s, self.step_s = 0.0, step_s

    def __call__(self) -> float:
        self.now_s += self.step_s
        return self.now_s


def blocks(count=12, inner=5):
    """A chain through modules blocks.0, blocks.1 ..., loss first."""
    total = count * inner
    nodes = [
        node(i, OPERATIONS[i % inner], f"blocks.{count - 1 - i // inner}", sequence=total - i) for i in range(total)
    ]
    return graph(nodes, [(i, 0, i + 1) for i in range(total - 1)])


def arranged(made, view, clock):
    prepared = prepare(made, view)
    return arrange(prepared.labels, prepared.tree, view, clock)


def test_in_time_nothing_is_said():
    found = arranged(blocks(), GraphView(), Ticking(0.0))
    assert found.opened == {"blocks"} | {f"blocks.{i}" for i in range(12)}
    assert found.notes == ()


def ticks_needed(made, view):
    clock = Ticking(1e-9)
    arranged(made, view, clock)
    drawings.forget()
    return round(clock.now_s / 1e-9)


@pytest.mark.parametrize("view", [GraphView(), GraphView(expanded=("blocks", *(f"blocks.{i}" for i in range(12))))])
def test_what_overruns_is_drawn_coarser_and_said(view):
    limit_s = AUTOMATIC_S if view.expanded is None else NAMED_S
    # The first attempt needs twice its limit; a coarser one, with half as much, has to do with a quarter of the rows.
    found = arranged(blocks(), view, Ticking(2 * limit_s / ticks_needed(blocks(), view)))
    full = arranged(blocks(), view, Ticking(0.0))
    assert 0 < len(found.visible) < len(full.visible)
    assert found.picture.boxes
    assert found.notes == (f"Drawn coarser: the layout of 60 boxes took over {limit_s:g} s.",)


@pytest.mark.parametrize("view", [GraphView(), GraphView(expanded=("blocks",)), GraphView(expanded=())])
def test_in_the_end_there_are_words_instead_of_a_picture(view):
    found = arranged(blocks(), view, Ticking(10.0))
    assert (found.visible, found.wired.bundles, found.picture.boxes) == ([], [], {})
    (note,) = found.notes
    assert note.startswith("No picture: the layout of 1 boxes took over ")
    assert note.endswith(" s. The table has all nodes.")


def test_a_scene_without_a_picture_says_what_there_is(monkeypatch):
    def never(level, deadline):
        raise OutOfTime

    monkeypatch.setattr(drawings, "lay_out", never)
    scene = build_scene(blocks())
    assert (scene.boxes, scene.wires, scene.nodes_shown, scene.nodes_total) == ((), (), 0, 60)
    assert scene.summary == "Autograd graph of 60 nodes and 59 edges, too large to draw in time"
    assert scene.notes[-1].startswith("No picture: ")


def test_the_limit_is_looked_at_all_along():
    """A layout of many boxes looks at the clock for every row of every sweep: none can run on for long."""
    made = random_graph(7, 400)
    assert ticks_needed(made, GraphView(maximum_boxes=2000, columns=False)) > 1000


def frames_drawn(monkeypatch):
    """The levels that were laid out rather than remembered, as they come."""
    levels = []
    inner = drawings.lay_out

    def counting(level, deadline):
        levels.append(level)
        return inner(level, deadline)

    monkeypatch.setattr(drawings, "lay_out", counting)
    return levels


def test_opening_a_group_lays_out_only_it_and_the_frames_around_it(monkeypatch):
    levels = frames_drawn(monkeypatch)
    made = blocks(12, 5)
    view = GraphView(expanded=("blocks", *(f"blocks.{i}" for i in range(0, 12, 2))), columns=False)
    scene = build_scene(made, view)
    # blocks.0, which nothing leads into; one drawing for the five others, which are alike; blocks; the root.
    assert len(levels) == 4
    levels.clear()
    view = toggled(view, scene, "blocks.5")
    scene = build_scene(made, view)
    assert len(levels) == 2  # it is like the five: only blocks and the root are drawn anew
    levels.clear()
    build_scene(made, view)
    assert levels == []


def inner_places(scene):
    """Places of boxes from the corner of the frame around them, by frame and box."""
    frames = [box for box in scene.boxes if box.role == "frame"]
    found = {}
    for box in scene.boxes:
        around = [f for f in frames if f is not box and f.first <= box.first and box.last <= f.last]
        if around:
            inner = min(around, key=lambda f: (f.last - f.first, f.width * f.height))
            found[inner.address, box.address] = (round(box.x - inner.x, 0), round(box.y - inner.y, 0))
    return found


def test_opening_a_group_leaves_the_inside_of_every_other_frame():
    made = blocks(12, 5)
    view = GraphView(expanded=("blocks", *(f"blocks.{i}" for i in range(0, 12, 2))))
    before = build_scene(made, view)
    after = build_scene(made, toggled(view, before, "blocks.5"))
    old, new = inner_places(before), inner_places(after)
    inside = [key for key in old if key[0] not in ("blocks", "")]
    assert len(inside) == 30
    assert {key: new[key] for key in inside} == {key: old[key] for key in inside}


def test_closing_everything_again_gives_the_first_view():
    made = random_graph(3, 120)
    view = GraphView(expanded=(), ceiling_boxes=5000)
    first = scene = build_scene(made, view)
    opened = []
    for _ in range(8):
        closed = next((box.address for box in scene.boxes if box.role == "group"), None)
        if closed is None:
            break
        opened.append(closed)
        view = toggled(view, scene, closed)
        scene = build_scene(made, view)
    for address in reversed(opened):
        view = toggled(view, scene, address)
        scene = build_scene(made, view)
    assert opened
    assert scene.boxes == first.boxes
    assert scene.wires == first.wires


def test_a_frame_is_as_wide_as_what_it_holds():
    scene = build_scene(chain(6, "m", OPERATIONS), GraphView(columns=False))
    (frame,) = [box for box in scene.boxes if box.role == "frame"]
    widest = max(box.width for box in scene.boxes if box.role == "node")
    assert frame.width >= widest + 2 * PAD_X
    assert min(box.y for box in scene.boxes if box.role == "node") >= frame.y + HEADER - 0.1
    assert all(a.y < b.y for a, b in itertools.pairwise(sorted(scene.boxes, key=lambda box: box.first)[1:]))
