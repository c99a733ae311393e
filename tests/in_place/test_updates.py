"""Updates: allocations against torch.profiler's memory events, and what becomes of the parameters."""

from __future__ import annotations

import pytest
import torch

from engine import run
from engine.in_place import updates
from engine.in_place.spec import UpdateSpec

SPEC = UpdateSpec(tensors=3, width=32, steps=2)


@pytest.fixture(scope="module")
def found():
    return {update.name: update for update in run(SPEC, inline=True).updates}


def test_the_articles_form_allocates_nothing_and_keeps_everything(found):
    update = found["in place"]
    assert (update.allocations, update.allocated_bytes, update.peak_bytes) == (0, 0, 0)
    assert (update.keeps_data_ptr, update.keeps_tensor, update.is_leaf) == (True, True, True)
    assert (update.version_before, update.version_after) == (0, 1)


def test_new_data_makes_a_product_and_a_value_per_parameter_and_no_version(found):
    update = found["new data"]
    one = SPEC.width**2 * 4
    assert (update.allocations, update.allocated_bytes) == (2 * SPEC.tensors, 2 * SPEC.tensors * one)
    assert (update.keeps_data_ptr, update.keeps_tensor, update.version_after) == (False, True, 0)
    assert found["in place, with a product"].allocations == SPEC.tensors


def test_rebinding_ends_in_another_tensor_that_is_no_leaf(found):
    update = found["rebinding"]
    assert (update.keeps_tensor, update.is_leaf, update.allocations) == (False, False, 2 * SPEC.tensors)


@pytest.mark.parametrize("name", ["torch.optim.SGD", "torch.optim.SGD foreach"])
def test_torchs_own_sgd_is_the_in_place_form(found, name):
    assert (found[name].allocations, found[name].keeps_data_ptr, found[name].version_after) == (0, True, 1)


@pytest.mark.parametrize("form", [updates.in_place, updates.in_place_product, updates.new_data, updates.rebinding])
def test_bytes_agree_with_the_profilers_memory_events(form):
    parameters = updates.make_parameters(SPEC)
    for parameter in parameters:
        parameter.grad = torch.ones_like(parameter)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as profile:
        kept = form(parameters, SPEC.lr)
    allocated = sum(max(0, event.self_cpu_memory_usage) for event in profile.events() if event.name != "[memory]")
    counted = updates.Allocations()
    for parameter in parameters:
        parameter.grad = torch.ones_like(parameter)
    with counted:
        again = form(parameters, SPEC.lr)
    assert counted.allocated_bytes == allocated
    assert len(kept) == len(again)


def test_all_forms_take_the_same_step():
    result = run(UpdateSpec(dtype="float64", steps=4, tensors=2, width=8), inline=True)
    assert result.largest_difference < 1e-14
    assert result.parameter_bytes == 2 * 8 * 8 * 8
