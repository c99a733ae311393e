"""A job hands over the result of a smaller spec before its own."""

from __future__ import annotations

import time

import pytest

from engine.graph.spec import GraphSpec
from engine.models.spec import Gpt, LinearStack, Mlp, ModelSpec, Recurrent, ResNet
from engine.runner.faults import Fault
from tests.runner.misbehaving.spec import EchoSpec, TwoPartsSpec


def _spec(**fields):
    return TwoPartsSpec(number=time.monotonic_ns(), **fields)


def test_the_part_can_be_had_while_the_rest_is_computed(forking):
    job = forking.submit(spec := _spec(seconds=18))
    assert job.wait_for_first(60)
    assert (job.has_arrived, job.state) == (True, "running")
    assert forking.submit(spec.on_the_way).result().text == "part"
    assert job.state == "running"
    job.cancel()


def test_the_whole_result_follows(forking):
    job = forking.submit(spec := _spec())
    assert job.result().text == "whole"
    assert job.has_arrived
    assert forking.submit(spec).result().text == "whole"
    assert forking.submit(spec.on_the_way).result().text == "part"


def test_everyone_who_joined_hears_of_the_part_also_late(forking):
    spec = _spec(seconds=18)
    first, second = forking.submit(spec), forking.submit(spec)
    assert first.wait_for_first(60)
    assert second.wait_for_first(60)
    late = forking.submit(spec)
    assert late.has_arrived
    for job in (first, second, late):
        job.cancel()


def test_a_part_stays_when_the_rest_fails(forking):
    job = forking.submit(spec := _spec(ends="raising"))
    with pytest.raises(Fault, match="the rest"):
        job.result()
    assert forking.submit(spec.on_the_way).result().text == "part"


def test_a_part_too_large_to_send_is_left_out(forking):
    job = forking.submit(_spec(ends="too_big_part"))
    assert job.result().text == "whole"
    assert not job.has_arrived


def test_a_spec_without_a_part_ends_as_ever(forking):
    job = forking.submit(EchoSpec(text="a"))
    assert job.wait_for_first(60)
    assert (job.state, job.has_arrived) == ("done", False)


@pytest.mark.parametrize("architecture", [Mlp(), Gpt(layers=1), Recurrent(steps=3), ResNet()], ids=repr)
def test_the_graph_handed_over_is_what_a_trace_without_backward_finds(forking, architecture):
    spec = GraphSpec(model=ModelSpec(architecture=architecture, seed=3, train=False))
    forking.submit(spec).result()
    early = forking.submit(spec.on_the_way).result()
    assert early == forking.submit(spec.on_the_way, fresh=True).result()
    assert {leaf.why for leaf in early.leaves} <= {"not_run", "frozen", "unused", "not_leaf"}


def test_under_checkpointing_nothing_is_handed_over():
    model = ModelSpec(architecture=LinearStack(layers=2, width=8), checkpoint="each_block")
    assert GraphSpec(model=model).on_the_way is None
    assert GraphSpec(backward=False).on_the_way is None
