"""Over all model families and toggles: recording changes no bit, and what it tells is what a second method gives."""

from __future__ import annotations

import warnings
from unittest import mock

import pytest
import torch

from engine import run
from engine.graph import record_forward
from engine.models.build import build
from engine.models.spec import Expression, ModelSpec, ResNet
from engine.replay import experiment, record_backward
from engine.replay.spec import Replay, ReplaySpec
from engine.summarise import summarise
from tests.models.families import NETWORKS, RAISING, SOUND_EXPRESSIONS, label, one_of_each_class
from tests.replay.recording import leaves_of, plain_gradients
from tests.script.test_graph_script import TOGGLED

LARGE = ResNet(image_size=32, classes=10)
FAMILIES = [
    pytest.param(one, marks=pytest.mark.slow) if one == LARGE else one
    for one in one_of_each_class((*NETWORKS, *SOUND_EXPRESSIONS))
]


def bits(tensor: torch.Tensor | None) -> object:
    """What two gradients have in common exactly when they are the same bit for bit."""
    if tensor is None:
        return None
    if tensor.is_sparse:
        return bits(tensor.to_dense())
    plain = tensor.detach().resolve_conj().contiguous()
    return str(plain.dtype), plain.shape, plain.reshape(-1).view(torch.uint8).numpy().tobytes()


def recorded(model: ModelSpec) -> tuple[Replay, dict[str, torch.Tensor | None]]:
    """The replay by the library form, and `.grad` of every leaf after it."""
    built = build(model)
    with record_forward(built.model):
        loss = built.loss(built.forward())
    replay = record_backward(loss, model=built.model, inputs=built.inputs)
    return replay, {name: leaf.grad for name, leaf in leaves_of(built).items()}


def check_against_a_plain_run(model: ModelSpec) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        replay, found = recorded(model)
        expected = plain_gradients(model)
    assert {name: bits(grad) for name, grad in found.items()} == {n: bits(grad) for n, grad in expected.items()}
    assert all(one.is_exact for one in replay.accumulations)
    told = {one.leaf: replay.gradients[one.after] for one in replay.accumulations if one.after is not None}
    for name, grad in expected.items():
        if grad is not None:
            assert told[name] == summarise(grad, detail=told[name].values is not None or bool(told[name].histogram))


@pytest.mark.parametrize("architecture", FAMILIES, ids=label)
def test_recording_changes_no_bit_and_the_contributions_add_up_to_grad(architecture):
    check_against_a_plain_run(ModelSpec(architecture=architecture))


@pytest.mark.slow
@pytest.mark.parametrize("model", TOGGLED, ids=lambda model: f"{label(model.architecture)}-{model.checkpoint}")
def test_under_every_toggle_too(model):
    check_against_a_plain_run(model)


@pytest.mark.parametrize("architecture", FAMILIES, ids=label)
def test_every_node_runs_once_after_all_that_feed_it(architecture):
    """The order is one the engine may take: a node waits for every node that passes it a gradient."""
    replay = run(ReplaySpec(model=ModelSpec(architecture=architecture), roots="loss"), inline=True)
    place = {step.node: step.number for step in replay.steps}
    assert len(place) == len(replay.steps)
    assert set(place) | set(replay.not_run) == set(range(len(replay.graph.nodes)))
    assert not set(place) & set(replay.not_run)
    for edge in replay.graph.edges:
        if edge.source in place and edge.target is not None:
            assert place[edge.source] < place[edge.target]
    for step in replay.steps:
        assert replay.graph.nodes[step.node].name == step.name
        assert len(step.received) == len(replay.graph.nodes[step.node].inputs) or step.kind == "accumulate"


@pytest.mark.parametrize("architecture", FAMILIES, ids=label)
def test_gradients_on_edges_are_autograds_own(architecture):
    """Every incoming gradient against torch.autograd.grad with respect to that output of that node."""
    model = ModelSpec(architecture=architecture, dtype="float64")
    built, replay = build(model), recorded(model)[0]
    loss = built.loss(built.forward())
    nodes = walked(loss.grad_fn)
    assert [node.name() for node in nodes] == replay.graph.node_names
    for step in replay.steps:
        edges = [torch.autograd.graph.GradientEdge(nodes[step.node], nr) for nr in range(len(step.received))]
        asked = [(edge, index) for edge, index in zip(edges, step.received, strict=True) if index is not None]
        found = torch.autograd.grad(loss, [edge for edge, _ in asked], retain_graph=True, allow_unused=True)
        for gradient, (_, index) in zip(found, asked, strict=True):
            told = replay.gradients[index]
            assert told == summarise(gradient, detail=told.values is not None or bool(told.histogram))


def walked(root: object) -> list:
    """The nodes behind `root`, breadth first, as the graph numbers them."""
    nodes = [root]
    for node in nodes:
        nodes += dict.fromkeys(
            following for following, _ in node.next_functions if following is not None and following not in nodes
        )
    return nodes


@pytest.mark.parametrize("architecture", RAISING)
def test_an_error_is_told_where_it_came_up(architecture):
    replay = run(ReplaySpec(model=ModelSpec(architecture=Expression(name=architecture))), inline=True)
    errors = [replay.error, *(one.error for one in replay.passes)]
    (error,) = [one for one in errors if one is not None]
    assert "nference tensors" in error.message or "modified by an inplace operation" in error.message
    assert replay.plain_backward_s is None
    if replay.steps:
        assert [step.duration_s is None for step in replay.steps] == [False] * (len(replay.steps) - 1) + [True]


def test_the_page_records_what_the_library_does():
    """The experiment's own passes leave the same gradients as plain ones, pass after pass."""
    model, kept = ModelSpec(architecture=NETWORKS[0]), {}
    original = experiment.ModelRun

    def remembered(built):
        kept["built"] = built
        return original(built)

    with mock.patch.object(experiment, "ModelRun", remembered), mock.patch.object(experiment, "PLAIN_ROUNDS", 0):
        replay = run(ReplaySpec(model=model, passes=3, new_forward=True), inline=True)
    assert len(replay.passes) == 3
    expected = plain_gradients(model, passes=3)
    norms = {leaf.name: leaf.grad_norm for leaf in replay.leaves}
    for name, grad in expected.items():
        assert norms[name] == (None if grad is None else pytest.approx(grad.double().norm().item(), rel=1e-12))
