"""A picture that plays, in a real Chromium: slider, steps, play, keys, colours of edges, folding, large pictures."""

from __future__ import annotations

import math

import msgspec
import numpy as np
import pytest

from engine.figures.index import index_of
from engine.figures.palette import channels, meaning
from engine.figures.replay_scene import with_scale
from engine.figures.replay_svg import wire_flows
from engine.figures.replay_track import replay_track
from engine.figures.replay_words import Flow
from engine.figures.scene import draw, encode_scene, prepare
from engine.figures.view import GraphView
from engine.graph.spec import PyTorchError
from tests.browser.pixels import look
from tests.browser.visitor import CHROMIUM
from tests.component.graph_scenes import blocks
from tests.component.graph_visitor import Picture
from tests.figures.graphs import linear_relu, tied_loop
from tests.figures.replays import played

pytestmark = [
    pytest.mark.slow,
    pytest.mark.browser,
    pytest.mark.skipif(not CHROMIUM, reason="no Chromium: install the system package 'chromium'"),
]
OPEN = GraphView(direction="backward", maximum_boxes=60)


def encoded(replay, view=OPEN, start=-1, asked=0):
    prepared = prepare(replay.graph, view)
    track = msgspec.structs.replace(replay_track(replay, start), asked=asked)
    scene = with_scale(draw(prepared, view), track)
    return encode_scene(scene, index_of(replay.graph, prepared.folded, prepared.names), track)


class Player(Picture):
    """A picture with the bar under it."""

    @property
    def step(self) -> int:
        return int(self.said["atlasStep"])

    @property
    def words(self) -> str:
        return self.page.locator("[data-atlas-replay] [role=status]").inner_text()

    def button(self, name: str):
        return self.page.locator(f'[data-atlas-replay-action="{name}"]')

    def state(self) -> dict:
        """What the canvas has worked out for the step it shows."""
        return self.page.evaluate(
            """() => {
              const { ran, runs, states, norms, scene } = view.replay;
              const name = (number) => scene.boxes[number].address;
              return {
                ran: Object.fromEntries(scene.boxes.map((box) => [box.address, [ran[box.index], runs[box.index]]])),
                wires: scene.wires.map(({ source, target, order }) =>
                  [name(source), name(target), states[order], norms[order]]),
                current: view.replay.current?.address ?? null,
              };
            }"""
        )


@pytest.fixture
def player(canvas_page):
    def open_replay(replay, view=OPEN, start=-1, theme="light"):
        canvas_page.goto("about:blank")
        return Player(canvas_page, encoded(replay, view, start), theme)

    return open_replay


def test_it_opens_at_the_end_and_every_edge_has_its_gradient(player):
    replay = played(blocks(2), lambda node, slot: 2.0**-node)
    picture = player(replay)
    assert picture.step == len(replay.steps) - 1
    view = prepare(replay.graph, OPEN)
    scene = draw(view, OPEN)
    drawn = zip(scene.wires, wire_flows(scene, replay), strict=True)
    expected = {(scene.boxes[w.source].address, scene.boxes[w.target].address): (f.state, f.norm) for w, f in drawn}
    shown = {(source, target): (state, norm) for source, target, state, norm in picture.state()["wires"]}
    assert shown.keys() == expected.keys()
    for ends, (state, norm) in expected.items():
        assert shown[ends] == (int(state), pytest.approx(norm, rel=1e-12))


def test_buttons_and_slider_step_through_in_the_engines_order(player):
    replay = played(linear_relu())
    picture = player(replay)
    picture.button("first").click()
    assert picture.step == -1
    assert "to come" in picture.words
    assert picture.button("back").is_disabled()
    seen = []
    for step in replay.steps:
        picture.button("on").click()
        assert picture.step == step.number
        assert f"step {step.number + 1} of {len(replay.steps)}" in picture.words
        assert step.name.removeprefix("torch::autograd::") in picture.words
        seen.append(picture.state()["current"])
    assert len(set(seen)) > 2
    assert picture.button("on").is_disabled()
    picture.button("back").click()
    assert picture.step == len(replay.steps) - 2
    picture.page.locator("[data-atlas-replay] input").fill("2")
    assert picture.step == 1
    picture.page.wait_for_function("() => window.told.at(-1)?.join() === 'step,1'")


def test_keys_step_on_bar_and_canvas(player):
    picture = player(played(linear_relu()))
    last = picture.step
    picture.press(",", ",")
    assert picture.step == last - 2
    picture.press(".")
    assert picture.step == last - 1
    picture.page.locator("[data-atlas-replay] input").focus()
    for key, step in (("Home", -1), ("ArrowRight", 0), (".", 1), ("ArrowLeft", 0), ("End", last), (",", last - 1)):
        picture.page.keyboard.press(key)
        assert picture.step == step, key


def test_play_runs_to_the_end_and_tells_the_app_once(player):
    replay = played(blocks(2))
    picture = player(replay)
    picture.page.locator("[data-atlas-replay] select").select_option("60")
    before = len(picture.told)
    picture.button("play").click()
    assert picture.page.evaluate("view.replay.playing > 0 && view.replay.done < view.replay.count")
    picture.page.wait_for_function("() => !view.replay.playing && view.replay.done === view.replay.count")
    picture.page.wait_for_function(f"() => window.told.length > {before}")
    assert picture.told[before:] == [["step", len(replay.steps) - 1]]


def test_space_pauses_where_it_is(player):
    picture = player(played(blocks(2)))
    picture.button("first").click()
    picture.page.locator("[data-atlas-replay] select").select_option("1")
    picture.canvas.focus()
    picture.page.keyboard.press(" ")
    assert picture.page.evaluate("Boolean(view.replay.playing)")
    picture.page.keyboard.press(" ")
    assert not picture.page.evaluate("Boolean(view.replay.playing)")
    assert picture.step <= 1


def test_what_has_not_run_is_faint_and_what_flowed_has_colour(player):
    replay = played(linear_relu(), lambda node, slot: 1.0)
    picture = player(replay)
    picture.page.evaluate("view.replay.go(1)")
    state = picture.state()
    ran = [address for address, (done, _) in state["ran"].items() if done]
    assert ran == [state["current"]]
    place = picture.places
    shot = look(picture.canvas)
    brightness = {}
    for address, box in place.items():
        part = shot.crop((int(box["x"]) + 1, int(box["y"]) + 6, int(box["x"]) + 4, int(box["y"] + box["height"]) - 6))
        brightness[address] = np.asarray(part.convert("L"), float).mean()
    faint = [address for address in place if address not in ran and address in state["ran"]]
    assert faint
    assert min(brightness[address] for address in faint) > brightness[ran[0]] + 20


@pytest.mark.parametrize(("value", "key", "theme"), [(0.0, "zero_gradient", "light"), (math.nan, "non_finite", "dark")])
def test_zero_and_non_finite_have_their_own_colour_and_a_legend(player, value, key, theme):
    picture = player(played(linear_relu(), lambda node, slot: value), theme=theme)
    assert picture.said
    accent = channels(meaning(key).accent(theme))
    shot = look(picture.canvas)
    found = shot.getcolors(shot.width * shot.height)
    assert sum(count for count, colour in found if math.dist(colour, accent) < 12) > 20
    label = meaning(key).label
    assert label in picture.page.locator("[data-atlas-legend]").inner_text()


def test_opening_a_group_keeps_the_step(player):
    replay = played(blocks(2))
    picture = player(replay, GraphView(direction="backward", expanded=(), maximum_boxes=20))
    picture.page.evaluate("view.replay.go(9)")
    closed = picture.state()["ran"]
    assert any(0 < done < runs for done, runs in closed.values())
    assert sum(done for done, _ in closed.values()) == 9
    opened = np.frombuffer(encoded(replay), np.uint8).tolist()
    picture.page.evaluate("(bytes) => window.show(Uint8Array.from(bytes))", opened)
    assert picture.step == 8
    assert sum(done for done, _ in picture.state()["ran"].values()) == 9
    other = played(blocks(2), lambda node, slot: 3.0)
    picture.page.evaluate(
        "(bytes) => window.show(Uint8Array.from(bytes))", np.frombuffer(encoded(other), np.uint8).tolist()
    )
    assert picture.step == len(other.steps) - 1


def test_a_second_pass_starts_afresh(player):
    error = PyTorchError(stage="backward", type="RuntimeError", message="a second time")
    replay = played(tied_loop(3), passes=2, errors=(None, error))
    picture = player(replay)
    first = replay.passes[0].last
    picture.page.evaluate(f"view.replay.go({first})")
    assert all(done == runs for done, runs in picture.state()["ran"].values())
    picture.page.evaluate(f"view.replay.go({first + 1})")
    assert sum(done for done, _ in picture.state()["ran"].values()) == 1
    assert "pass 2 of 2" in picture.words


def test_a_link_starts_at_its_step_and_a_click_on_an_edge_is_told(player):
    picture = player(played(linear_relu()), start=1)
    assert picture.step == 1
    x, y, source, target = picture.page.evaluate(
        """() => {
          const { scene, camera, width, height } = view;
          for (const wire of scene.wires) {
            const ends = [scene.boxes[wire.source], scene.boxes[wire.target]];
            const [x, y] = camera.toScreen(ends[0].x + ends[0].width / 2, (ends[0].y + ends[0].height + ends[1].y) / 2);
            if (!view.boxAt(x, y) && view.wireAt(x, y) === wire) return [x, y, ends[0].address, ends[1].address];
          }
        }"""
    )
    picture.canvas.click(position={"x": x, "y": y})
    assert picture.told[-1] == ["wire", f"{source}\n{target}"]


def test_the_app_can_send_the_picture_to_a_step_again_and_again(player):
    replay = played(linear_relu())
    picture = player(replay)
    for asked in (1, 2):
        sent = np.frombuffer(encoded(replay, start=1, asked=asked), np.uint8).tolist()
        picture.page.evaluate("(bytes) => window.show(Uint8Array.from(bytes))", sent)
        assert picture.step == 1
        picture.button("last").click()
        assert picture.step == len(replay.steps) - 1


def test_the_selected_box_leads_to_its_step(player):
    replay = played(linear_relu())
    picture = player(replay)
    address = picture.page.evaluate("view.scene.boxes[view.replay.boxOfStep[1]].address")
    picture.page.evaluate("(address) => view.select(address)", address)
    picture.button("selected").click()
    assert picture.state()["current"] == address


def test_a_large_picture_plays_from_layers_that_look_like_the_whole(player):
    replay = played(blocks(24), lambda node, slot: 2.0 ** (-node / 8))
    picture = player(replay, GraphView(direction="backward", maximum_boxes=5000, ceiling_boxes=5000))
    picture.page.evaluate("view.replay.go(100)")
    assert picture.said
    assert picture.page.evaluate("view.replay.layers.drawn.done") == 100
    for done in (101, 102, 120):
        picture.page.evaluate(f"view.replay.go({done})")
        assert picture.said
    stepped = np.asarray(look(picture.canvas).convert("L"), float)
    picture.page.evaluate("() => { view.replay.layers.drawn = null; view.repaint(); }")
    assert picture.said
    whole = np.asarray(look(picture.canvas).convert("L"), float)
    assert (np.abs(stepped - whole) > 24).mean() < 0.004


def test_a_picture_without_a_recording_has_no_bar(canvas_page):
    made = linear_relu()
    prepared = prepare(made, OPEN)
    index = index_of(made, prepared.folded, prepared.names)
    picture = Picture(canvas_page, encode_scene(draw(prepared, OPEN), index))
    assert picture.page.locator("[data-atlas-replay]").count() == 0
    assert "atlasStep" not in picture.said
    shown = np.frombuffer(encoded(played(made)), np.uint8).tolist()
    picture.page.evaluate("(bytes) => window.show(Uint8Array.from(bytes))", shown)
    assert picture.page.locator("[data-atlas-replay]").count() == 1


def test_a_recording_of_nothing_can_be_played(player):
    replay = msgspec.structs.replace(played(linear_relu()), steps=(), gradients=(), accumulations=(), passes=())
    picture = player(replay)
    assert picture.words == "No step ran."
    picture.button("play").click()
    assert picture.said["atlasStep"] == "-1"


COMES_WHILE_PLAYING = """([bytes, plays]) => {
  if (plays) {
    view.replay.bar.speed.value = 1;
    view.replay.show(view.replay.count - 3);
    view.replay.play();
  }
  window.show(Uint8Array.from(bytes));
  return Boolean(view.replay.playing);
}"""


def test_other_recordings_and_pictures_come_in_while_it_plays(player):
    """Longer, shorter, of fewer passes, of nothing, folded and opened: no step of before is asked of what came."""
    long = played(blocks(2), passes=3)
    picture = player(long)
    failures: list[str] = []
    picture.page.on("pageerror", lambda error: failures.append(str(error)))
    nothing = msgspec.structs.replace(played(linear_relu()), steps=(), gradients=(), accumulations=(), passes=())
    folded = GraphView(direction="backward", expanded=(), maximum_boxes=20)
    open_long, short = (long, encoded(long)), (played(linear_relu()), encoded(played(linear_relu())))
    folded_long, once = (long, encoded(long, folded)), played(blocks(2))
    empty = (nothing, encoded(nothing))
    arrivals = (
        short,
        open_long,
        folded_long,
        open_long,
        (once, encoded(once, folded)),
        empty,
        folded_long,
        empty,
        short,
    )
    count = len(long.steps)
    for plays, (replay, scene) in [(plays, arrival) for plays in (False, True) for arrival in arrivals]:
        again = plays and len(replay.steps) == count
        sent = np.frombuffer(scene, np.uint8).tolist()
        # In one go: between two calls a busy machine can play to the end.
        assert picture.page.evaluate(COMES_WHILE_PLAYING, [sent, plays and count > 0]) is again
        count = len(replay.steps)
        if again:
            picture.page.evaluate("view.replay.go(view.replay.count)")
        assert picture.step == count - 1
        assert (f"step {count} of {count}" if count else "No step ran.") in picture.words
        assert picture.page.evaluate("Number(view.replay.bar.slider.max)") == count
        assert all(done <= runs for done, runs in picture.state()["ran"].values())
    assert not failures


def test_what_is_finite_lies_above_zeros_and_what_is_not_finite_above_both(player):
    picture = player(played(tied_loop(3)))
    flows = picture.page.evaluate(
        """() => {
          const painted = [];
          const replay = Object.create(view.replay, { wire: { value: (pen, wire, state) => painted.push(state) } });
          const near = view.scene.wires.slice(0, 3);
          near.forEach((wire, number) => (view.replay.states[wire.order] = 3 - number));
          replay.wires(null, near);
          return painted;
        }"""
    )
    assert flows == [int(Flow.ZERO), int(Flow.FINITE), int(Flow.NON_FINITE)]
