"""Toggling one thing of a real model moves little: where common boxes stand in their frames before and after."""

from __future__ import annotations

from collections import defaultdict
from functools import cache
from statistics import median

import msgspec
import pytest

from engine.figures.opening import expand_automatically
from engine.figures.scene import build_scene, prepare
from engine.figures.view import GraphView
from engine.graph.experiment import trace_model
from engine.graph.spec import GraphSpec
from engine.models.architecture import Chain, Gpt, Mlp, Recurrent, ResNet
from engine.models.spec import ModelSpec

STAYS = 8.0
"""Pixels at zoom 1 that nobody notices."""
MLP, GPT, RESNET = ModelSpec(), ModelSpec(architecture=Gpt(layers=2)), ModelSpec(architecture=ResNet())


@cache
def traced(model):
    return trace_model(GraphSpec(model=model, backward=False), lambda *_: None).graph


def places(scene):
    """Frame, middle from its left rim, middle (of a frame: top) from its top, of every box and frame by address."""
    frames = [box for box in scene.boxes if box.role == "frame"]
    found = {}
    for box in scene.boxes:
        around = [f for f in frames if f is not box and f.first <= box.first and box.last <= f.last]
        inner = min(around, key=lambda f: (f.last - f.first, f.width * f.height)) if around else None
        x, y, name = (inner.x, inner.y, inner.address) if inner else (0.0, 0.0, "")
        down = 0.0 if box.role == "frame" else box.height / 2
        found[box.address] = name, box.x + box.width / 2 - x, box.y + down - y
    return found


def moves(before, after):
    """(sideways, down) of every common box in its frame, after the median of the frame is taken off."""
    old, new = places(before), places(after)
    frames = defaultdict(list)
    for address in old.keys() & new.keys():
        if old[address][0] == new[address][0]:
            frames[old[address][0]].append([b - a for a, b in zip(old[address][1:], new[address][1:], strict=True)])
    found = []
    for shifts in frames.values():
        common = [median(shift[axis] for shift in shifts) for axis in (0, 1)]
        found += [(abs(x - common[0]), abs(y - common[1])) for x, y in shifts]
    return found


def with_(model, **changes):
    return msgspec.structs.replace(model, **changes)


TOGGLES = {
    "MLP, residual": (MLP, with_(MLP, architecture=Mlp(residual=False)), 0.7, 0.85),
    "MLP, depth + 1": (MLP, with_(MLP, architecture=Mlp(layers=4, depth=4)), 0.8, 0.8),
    "MLP, checkpoint": (MLP, with_(MLP, checkpoint="each_block"), 0.9, 0.9),
    "MLP, autocast": (MLP, with_(MLP, autocast="bfloat16"), 0.55, 0.6),
    "MLP, freeze": (MLP, with_(MLP, frozen=("layers.0",)), 0.7, 0.9),
    "MLP, input gradient": (MLP, with_(MLP, input_requires_grad=True), 0.9, 0.9),
    "GPT, depth + 1": (GPT, with_(GPT, architecture=Gpt(layers=3)), 0.9, 0.9),
    "GPT, checkpoint": (GPT, with_(GPT, checkpoint="each_block"), 0.95, 0.95),
    "GPT, freeze": (GPT, with_(GPT, frozen=("blocks.0",)), 0.55, 0.95),
    "ResNet, checkpoint": (RESNET, with_(RESNET, checkpoint="each_block"), 0.95, 0.95),
    "ResNet, freeze": (RESNET, with_(RESNET, frozen=("layer1",)), 0.7, 0.8),
    "ResNet, autocast": (RESNET, with_(RESNET, autocast="bfloat16"), 0.45, 0.75),
}
"""Two models, the least share of common boxes that stay, and the least share that do not move sideways."""


@pytest.mark.parametrize("columns", [True, False], ids=["columns", "one column"])
@pytest.mark.parametrize("toggle", TOGGLES)
def test_toggling_one_thing_moves_little(toggle, columns):
    a, b, stay, upright = TOGGLES[toggle]
    view = GraphView(columns=columns)
    found = moves(build_scene(traced(a), view), build_scene(traced(b), view))
    assert len(found) >= 10
    assert sum(max(move) <= STAYS for move in found) >= stay * len(found)
    assert sum(move[0] <= STAYS for move in found) >= upright * len(found)


def test_autocast_of_a_gpt_moves_nothing_sideways_in_one_column():
    view = GraphView(columns=False)
    found = moves(build_scene(traced(GPT), view), build_scene(traced(with_(GPT, autocast="bfloat16")), view))
    assert sum(move[0] <= STAYS for move in found) >= 0.95 * len(found)


def opened(architecture, budget):
    tree = prepare(traced(ModelSpec(architecture=architecture)), GraphView(maximum_boxes=budget)).tree
    groups, stack = [], list(tree.groups)
    found = expand_automatically(tree, budget)
    while stack:
        group = stack.pop()
        groups += [group] if group.address in found else []
        stack.extend(group.groups)
    return len(tree.kids) + sum(len(group.kids) - 1 for group in groups), groups


@pytest.mark.parametrize("budget", [30, 40, 60])
def test_of_the_parts_of_a_list_the_first_opens(budget):
    groups = opened(Chain(operations=5000), budget)[1]
    chunks = [group for group in groups if group.role == "chunk"]
    assert chunks or budget == 30
    assert [group for group in chunks if group.parent.groups[0] not in groups] == []


def test_a_large_budget_is_used_up():
    shown, groups = opened(Recurrent(cell="hand_written_lstm", steps=200), 2000)
    assert 1900 < shown <= 2000
    steps = sorted(group.first for group in groups if group.role == "step")
    assert len(steps) > 140
    assert steps == list(range(steps[0], steps[0] + 13 * len(steps), 13))
