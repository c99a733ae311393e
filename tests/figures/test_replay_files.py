"""Tables, CSV, JSON, SVG and report of a replay, and what a reader points at, against the replay itself."""

from __future__ import annotations

import csv
import io
import json
import math
from xml.etree import ElementTree

import msgspec
import pytest

from engine.figures.palette import meaning
from engine.figures.replay_export import replay_json, replay_report, steps_csv
from engine.figures.replay_lookup import gradients_between, gradients_of, members_of, steps_of
from engine.figures.replay_rows import accumulation_rows, hook_rows, pass_rows, step_rows
from engine.figures.replay_scene import with_scale
from engine.figures.replay_svg import replay_svg, wire_flows
from engine.figures.replay_track import replay_track
from engine.figures.replay_words import Flow, gradient_words
from engine.figures.scene import build_scene
from engine.figures.view import GraphView
from engine.graph.spec import PyTorchError
from engine.replay.spec import HookCall
from tests.figures.graphs import HOSTILE, graph, leaf, linear_relu, node, tied_loop
from tests.figures.replays import played, summary


def test_rows_of_steps_have_their_numbers_and_norms():
    replay = played(linear_relu(), lambda at, slot: 3.0 + slot)
    rows = step_rows(replay)
    assert [row["step"] for row in rows] == list(range(1, len(replay.steps) + 1))
    addmm = next(row for row in rows if row["node"] == "AddmmBackward0")
    assert addmm["returned"] == "(1,) + None + (1,)"
    assert addmm["returned_norm"] == pytest.approx(math.hypot(3.0, 5.0))
    assert {row["kind"] for row in rows} == {"node", "accumulate"}


def test_use_by_use_the_sum_is_what_grad_becomes():
    replay = played(tied_loop(3), lambda at, slot: float(at + 1), passes=2)
    rows = accumulation_rows(replay, "step.weight")
    assert [row["what"] for row in rows] == [".grad before", "use 1", "use 2", "use 3", ".grad after"] * 2
    assert [row["pass"] for row in rows] == [1] * 5 + [2] * 5
    uses = [row["norm"] for row in rows if row["what"].startswith("use")]
    grads = [row["norm"] for row in rows if row["what"] == ".grad after"]
    assert grads == pytest.approx([sum(uses[:3]), sum(uses)])
    assert (rows[0]["gradient"], rows[5]["norm"]) == ("None", grads[0])
    sending = replay.steps[replay.accumulations[0].contributions[0][0]]
    assert rows[1]["from"].startswith(f"step {sending.number + 1} · {sending.name}")


def test_a_roots_own_gradient_is_a_use_without_a_step():
    replay = played(linear_relu())
    one = msgspec.structs.replace(replay.accumulations[0], contributions=((-1, 0),))
    rows = accumulation_rows(msgspec.structs.replace(replay, accumulations=(one,)), one.leaf)
    assert rows[1]["from"] == "the root's own gradient"


def test_hooks_that_changed_nothing_say_so():
    replay = played(linear_relu())
    calls = (
        HookCall(1, "tensor hook", "lin.weight", 0, 1, True),
        HookCall(1, "tensor hook", "lin.weight", 0, 0, True),
        HookCall(2, "post accumulate hook", "lin.weight", 0, None, False),
    )
    rows = hook_rows(msgspec.structs.replace(replay, hook_calls=calls))
    assert [row["gave"] for row in rows] == [gradient_words(replay.gradients[1]), "unchanged", "unchanged"]
    assert [row[".grad was"] for row in rows] == ["None", "None", "there"]


def test_passes_carry_their_errors():
    error = PyTorchError(stage="backward", type="RuntimeError", message="a second time")
    replay = played(linear_relu(), passes=2, errors=(None, error))
    assert [row["error"] for row in pass_rows(replay)] == ["", "RuntimeError"]
    assert [row["backward() call"] for row in pass_rows(replay)] == [1, 2]


def hostile_replay():
    nodes = [node(at, name, name[:100].replace(".", ""), sequence=20 - at) for at, name in enumerate(HOSTILE)]
    nodes.append(leaf(len(nodes), HOSTILE[0]))
    replay = played(graph(nodes, [(at, 0, at + 1) for at in range(len(nodes) - 1)]))
    error = PyTorchError(stage="backward", type="RuntimeError", message=HOSTILE[0])
    return msgspec.structs.replace(replay, passes=(msgspec.structs.replace(replay.passes[0], error=error),))


def test_csv_is_one_row_per_step_that_no_spreadsheet_runs():
    replay = hostile_replay()
    rows = list(csv.reader(io.StringIO(steps_csv(replay))))
    assert len(rows) == len(replay.steps) + 1
    assert len({len(row) for row in rows}) == 1
    assert not [cell for row in rows for cell in row if cell.startswith(("=", "+", "@"))]


def test_json_holds_every_gradient_with_its_values():
    replay = played(linear_relu(), lambda at, slot: math.nan if at == 2 else 2.0)
    told = json.loads(replay_json(replay))
    assert len(told["steps"]) == len(replay.steps)
    assert len(told["gradients"]) == len(replay.gradients)
    assert told["steps"][1]["name"] == replay.steps[1].name
    values = {str(one["values"]) for one in told["gradients"]}
    assert {"[2.0]", "['nan']"} <= values


def test_what_a_reader_points_at_is_what_the_steps_returned():
    replay = played(linear_relu(), lambda at, slot: 1.0 + at + slot / 4)
    assert [step.name for step in steps_of(replay, {2})] == ["AddmmBackward0"]
    addmm = steps_of(replay, {2})[0]
    told = gradients_of(replay, addmm)
    assert [one.where for one in told] == ["received 0", "returned 0", "returned 1", "returned 2"]
    assert told[2].summary is None
    (flowed,) = gradients_between(replay, (1,), (2, 4))
    assert flowed.summary == replay.gradients[steps_of(replay, {1})[0].returned[0]]
    assert gradients_between(replay, (2, 4), (1,)) == (flowed,)
    assert members_of({"a": (1,), "b": (2, 4)}, "a\nb") == ((1,), (2, 4))
    assert members_of({"a": (1,)}, "nonsense") == ((), ())


def test_an_accumulation_shows_grad_before_and_after():
    replay = played(tied_loop(2), passes=2)
    step = replay.steps[replay.accumulations[-1].step]
    told = {one.where: one.summary for one in gradients_of(replay, step)}
    assert told["step.weight.grad after"].norm > told["step.weight.grad before"].norm


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_svg_has_every_wire_in_the_colour_of_its_gradient(theme):
    replay = played(linear_relu(), lambda at, slot: {0: 1.0, 1: 0.0}.get(at, math.nan))
    scene = with_scale(build_scene(replay.graph, GraphView()), replay_track(replay))
    flows = wire_flows(scene, replay)
    assert sorted(flow.state for flow in flows) == [Flow.ZERO, Flow.FINITE]
    text = replay_svg(scene, replay, theme)
    root = ElementTree.fromstring(text)
    space = "{http://www.w3.org/2000/svg}"
    told = {path: path.findtext(f"{space}title", "") for path in root.iter(f"{space}path")}
    drawn = [path.get("stroke") for path, words in told.items() if words.startswith("gradient")]
    assert len(drawn) == len(scene.wires)
    expected = {meaning("zero_gradient").accent(theme), getattr(replay_track(replay).scale[0], theme)}
    assert set(drawn) == expected


def test_the_report_shows_hostile_names_as_text():
    replay = hostile_replay()
    scene = with_scale(build_scene(replay.graph, GraphView()), replay_track(replay))
    svg = replay_svg(scene, replay)
    text = replay_report(svg, svg, replay, title=HOSTILE[0], notes=(), spec="{}", script="import torch")
    assert "<script" not in text
    assert "<img" not in text
    assert "Steps" in text


def test_words_of_gradients():
    assert gradient_words(None) == "None"
    assert gradient_words(summary([0.0, 0.0])) == "(2,) all 0"
    assert gradient_words(summary([3.0, 4.0])) == "(2,) norm 5.00"
    assert gradient_words(summary([3.0, math.inf])) == "(2,) norm 3.00, 1 of 2 not finite"
