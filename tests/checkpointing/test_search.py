"""The search keeps its promises: optimal groups, never worse than sqrt(n), monotone, off where off fits."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.checkpointing.cost import OUTSIDE, BlockCosts, BlockOperation, Groups, Storage
from engine.checkpointing.cost_probe import block_costs
from engine.checkpointing.forecast import Foreseen
from engine.checkpointing.outcome import run_policies
from engine.checkpointing.policy import Policy
from engine.checkpointing.search import search_policy
from engine.checkpointing.search_groups import best_groups, knapsack_groups
from engine.checkpointing.search_options import root_segments, segment_groups
from engine.checkpointing.spec import Forecast, Outcome, PolicySpec, Searched, SearchSpec
from engine.models.architecture import (
    ConvNet,
    DynamicBlock,
    Embedding,
    Expression,
    Gpt,
    LinearStack,
    Mlp,
    Recurrent,
    ResNet,
    TiedLoop,
)
from engine.models.spec import ModelSpec, block_count, describe

STACK = ModelSpec(architecture=LinearStack(layers=6, width=32), batch=16)
FROZEN = ModelSpec(
    architecture=Mlp(layers=5, depth=5), batch=16, frozen=("layers.0", "layers.1", "layers.3"), loss="mean"
)
GPT = ModelSpec(architecture=Gpt(layers=3, width=32, sequence=8, vocabulary=50), batch=2)
MORE = [
    GPT,
    ModelSpec(architecture=Mlp(layers=7, depth=7, dropout=0.1), batch=32),
    ModelSpec(architecture=ConvNet(layers=5, channels=16, image_size=16)),
    ModelSpec(architecture=ResNet(image_size=32), batch=2),
    ModelSpec(architecture=Recurrent(cell="gru", layers=3, steps=3)),
    ModelSpec(architecture=TiedLoop(steps=8), batch=16, autocast="bfloat16"),
    ModelSpec(architecture=Gpt(layers=5, width=32, sequence=8, vocabulary=50, dropout=0.1), autocast="bfloat16"),
]


def quietly(stage: str, fraction: float) -> None:
    pass


@cache
def plain_and_root(model: ModelSpec) -> tuple[Outcome, Outcome]:
    """off and sqrt(n) segments, run for real."""
    root = root_segments(block_count(model.architecture))
    assert root is not None
    off, segments = run_policies(PolicySpec(model=model, policies=(Policy(), root)), quietly).outcomes
    return off, segments


@cache
def found(model: ModelSpec, budget: int, budget_of: str = "held_bytes") -> Searched:
    return search_policy(SearchSpec(model=model, budget_bytes=budget, budget_of=budget_of), quietly)


def of_chosen(searched: Searched) -> Outcome:
    assert searched.measured[0].policy == searched.policy
    assert [one.policy for one in searched.candidates if one.chosen] == [searched.policy]
    return searched.measured[0]


def every_grouping(blocks: int, at: int = 0) -> Iterator[Groups]:
    """Every way to leave blocks plain and to put the others into runs."""
    if at == blocks:
        yield ()
        return
    yield from every_grouping(blocks, at + 1)
    for after in range(at + 1, blocks + 1):
        for rest in every_grouping(blocks, after):
            yield ((at, after), *rest)


def check_optimal(costs: BlockCosts) -> None:
    """No grouping keeps as few bytes as one that was found and runs fewer FLOPs again, and each is what it says."""
    every = sorted(
        (costs.held_bytes(groups), costs.recomputed_flops(groups)) for groups in every_grouping(costs.blocks)
    )
    best: list[tuple[int, int]] = []
    for nbytes, flops in every:
        if not best or flops < best[-1][1]:
            best.append((nbytes, flops))
    got = best_groups(costs)
    assert [(one.held_bytes, one.flops) for one in got] == best
    assert all(costs.recomputed_flops(one.groups) == one.flops for one in got)


sizes = st.integers(0, 50)


@st.composite
def costs_of_a_chain(draw: st.DrawFn) -> BlockCosts:
    """Blocks that save their input, their output, both or neither, and storages of their own."""
    blocks = draw(st.integers(1, 6))
    storages, operations = {}, []
    for number in range(blocks):
        savers = {one for one in (number - 1, number) if one >= 0 and draw(st.booleans())}
        savers |= {OUTSIDE} if draw(st.integers(0, 5)) == 0 else set()
        storages[2 * number] = Storage(draw(sizes), frozenset(savers), frozenset({number}))
        storages[2 * number + 1] = Storage(draw(sizes), frozenset({number}))
        again = BlockOperation("aten.mm.default", draw(sizes), is_run_again=True)
        operations.append([again, BlockOperation("aten.add.Tensor", draw(st.integers(0, 9)))])
    return BlockCosts(storages, set(), operations, draw(st.sets(st.integers(0, blocks - 1))))


@given(costs=costs_of_a_chain())
def test_groups_are_optimal_for_any_chain(costs):
    check_optimal(costs)


@pytest.mark.parametrize("model", [STACK, GPT, FROZEN], ids=lambda model: describe(model.architecture))
def test_the_costs_are_those_of_a_step_and_groups_are_optimal(model):
    foreseen = Foreseen(model)
    costs = block_costs(foreseen)
    blocks = costs.blocks
    for groups in ((), ((0, 2),), ((0, 1), (1, blocks)), segment_groups(blocks, 3)):
        forecast = foreseen.forecast(Policy(kind="groups", groups=groups))
        assert costs.held_bytes(groups) == forecast.held_bytes
        assert costs.recomputed_flops(groups) == forecast.recomputed_flops
        assert costs.peak_bytes(groups) == pytest.approx(forecast.peak_bytes, rel=0.25)
    for keep in (frozenset[str](), frozenset({"aten.addmm.default"})):
        forecast = foreseen.forecast(Policy(kind="selective", keep=tuple(keep)))
        assert costs.selective_bytes(keep) == forecast.held_bytes
        assert costs.selective_flops(keep) == forecast.recomputed_flops
    check_optimal(costs)


@pytest.mark.slow
@pytest.mark.parametrize("model", MORE[1:2] + MORE[4:], ids=lambda model: describe(model.architecture))
def test_groups_are_optimal_for_more_models(model):
    check_optimal(block_costs(Foreseen(model)))


def check_never_worse(model: ModelSpec, budget_of: str) -> None:
    """With exactly the bytes of sqrt(n) segments: measured, no more FLOPs and no more bytes."""
    _, root = plain_and_root(model)
    budget = getattr(root, budget_of)
    chosen = of_chosen(found(model, budget, budget_of))
    assert chosen.recomputed_flops <= root.recomputed_flops
    assert getattr(chosen, budget_of) <= budget
    assert chosen.gradients_identical == root.gradients_identical


def check_monotone(model: ModelSpec) -> None:
    """More bytes, no more FLOPs; and with the bytes of off it is off."""
    off, root = plain_and_root(model)
    between = (root.held_bytes + off.held_bytes) // 2
    budgets = sorted({root.held_bytes // 2, root.held_bytes, between, off.held_bytes, 2 * off.held_bytes})
    results = [found(model, budget) for budget in budgets]
    flops = [of_chosen(one).recomputed_flops for one in results if one.policy is not None]
    assert flops == sorted(flops, reverse=True)
    assert all(of_chosen(one).held_bytes <= one.budget_bytes for one in results if one.policy is not None)
    assert results[-1].policy == results[-2].policy == Policy()
    assert of_chosen(results[-1]).recomputed_flops == 0


def test_a_stack_at_every_budget():
    check_never_worse(STACK, "held_bytes")
    check_never_worse(STACK, "peak_bytes")
    check_monotone(STACK)


@pytest.mark.slow
@pytest.mark.parametrize("budget_of", ["held_bytes", "peak_bytes"])
@pytest.mark.parametrize("model", MORE, ids=lambda model: describe(model.architecture))
def test_never_worse_than_the_root_segments(model, budget_of):
    check_never_worse(model, budget_of)


@pytest.mark.slow
@pytest.mark.parametrize("model", MORE, ids=lambda model: describe(model.architecture))
def test_monotone_in_the_budget(model):
    check_monotone(model)


def test_a_budget_nothing_fits_names_the_least_that_is_possible():
    off, _ = plain_and_root(GPT)
    nothing = found(GPT, 0)
    assert nothing.policy is None
    assert nothing.off_bytes == off.held_bytes
    assert not any(one.fits or one.chosen for one in nothing.candidates)
    least = nothing.smallest_bytes
    assert least == min(one.budgeted_bytes for one in nothing.candidates)
    assert found(GPT, least - 1).policy is None
    exact = found(GPT, least)
    assert of_chosen(exact).held_bytes == least


def test_operations_are_kept_only_where_asked_for():
    off, root = plain_and_root(GPT)
    budget = (root.held_bytes + off.held_bytes) // 2
    without = search_policy(SearchSpec(model=GPT, budget_bytes=budget, selective=False), quietly)
    assert not any(one.policy.kind == "selective" for one in without.candidates)
    searched = found(GPT, budget)
    assert any(one.policy.kind == "selective" and one.policy.keep for one in searched.candidates)
    assert of_chosen(searched).recomputed_flops <= of_chosen(without).recomputed_flops
    names = {name for one in searched.candidates for name in one.found_by.split(", ")}
    assert {"off", "√n segments", "each block", "groups by dynamic programming"} <= names
    assert any(name.startswith("torch dp_knapsack") for name in names)
    assert all(one.recomputed_s is not None and one.recomputed_s >= 0 for one in searched.candidates)
    assert next(one for one in searched.candidates if one.policy == Policy()).recomputed_s == 0


@pytest.mark.parametrize("budget_of", ["held_bytes", "peak_bytes"])
def test_a_forecast_stays_beside_what_was_counted(budget_of, monkeypatch):
    """Forecasts made a tenth too low on purpose: what was counted must not take their place."""
    real = Foreseen.forecast

    def too_low(self: Foreseen, policy: Policy) -> Forecast:
        told = real(self, policy)
        return msgspec.structs.replace(told, **{budget_of: getattr(told, budget_of) * 9 // 10})

    monkeypatch.setattr(Foreseen, "forecast", too_low)
    off, root = plain_and_root(STACK)
    searched = search_policy(SearchSpec(model=STACK, budget_bytes=1 << 30, budget_of=budget_of), quietly)
    told = {one.policy: one for one in searched.candidates}
    foreseen = Foreseen(STACK)
    for outcome in (off, root):
        assert told[outcome.policy].measured_bytes == getattr(outcome, budget_of)
        assert told[outcome.policy].budgeted_bytes == getattr(foreseen.forecast(outcome.policy), budget_of)
        assert told[outcome.policy].budgeted_bytes < told[outcome.policy].measured_bytes
    tight = getattr(off, budget_of) - 1
    passed_over = search_policy(SearchSpec(model=STACK, budget_bytes=tight, budget_of=budget_of), quietly)
    assert passed_over.off_bytes == tight + 1
    assert passed_over.policy != Policy()
    assert not next(one for one in passed_over.candidates if one.policy == Policy()).fits


@pytest.mark.parametrize("architecture", [DynamicBlock(), Embedding()], ids=describe)
def test_models_with_hardly_anything_to_choose(architecture):
    model = ModelSpec(architecture=architecture)
    searched = search_policy(SearchSpec(model=model), quietly)
    assert searched.policy == Policy()
    assert len(searched.candidates) == 1 or block_count(architecture)


def test_what_pytorch_refuses_is_the_result():
    searched = search_policy(SearchSpec(model=ModelSpec(architecture=Expression(name="inference_leaf"))), quietly)
    assert searched.policy is None
    assert searched.error is not None
    assert "Inference tensors cannot be saved for backward" in searched.error.message


def test_a_step_that_only_raises_when_run_for_real_is_the_result():
    model = ModelSpec(architecture=Expression(name="in_place_after_save"))
    searched = search_policy(SearchSpec(model=model), quietly)
    assert searched.policy is None
    assert searched.error is not None
    assert "modified by an inplace operation" in searched.error.message


def test_torch_knapsacks_leave_plain_what_is_worth_it():
    """Two blocks of one size, one ten times the work: with room for one of them the dear one is left alone."""
    storages = {number: Storage(100, frozenset({number})) for number in range(2)}
    operations = [[BlockOperation("aten.mm.default", flops, is_run_again=True)] for flops in (10, 100)]
    costs = BlockCosts(storages, set(), operations, {0, 1})
    assert {groups for _, groups in knapsack_groups(costs, 100)} == {((0, 1),)}
    assert knapsack_groups(costs, 0) == ()
