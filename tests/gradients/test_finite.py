"""Finite differences agree with every family's gradient, and say so where they cannot."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from engine import run
from engine.figures.finite_chart import finite_chart
from engine.gradients.finite import SMALLER, _verdict
from engine.gradients.results import Checked, CheckedEntry
from engine.gradients.spec import FiniteDifferenceSpec
from engine.models.spec import Chain, Expression, Gpt, Mlp, ModelSpec, ResNet
from tests.models.families import NETWORKS, SOUND_EXPRESSIONS, one_of_each_class

STRAIGHT_THROUGH = "custom_function"
UNLIKE_THEIR_FORWARD = {STRAIGHT_THROUGH, "where_sqrt"}


def checked(model: ModelSpec, **settings: int) -> Checked:
    return run(FiniteDifferenceSpec(model=model, **settings), inline=True)


FAMILIES = [
    pytest.param(one, marks=pytest.mark.slow) if isinstance(one, ResNet | Gpt) else one
    for one in one_of_each_class([*NETWORKS, *SOUND_EXPRESSIONS])
]


@pytest.mark.parametrize("architecture", FAMILIES, ids=repr)
def test_every_family_agrees(architecture):
    if getattr(architecture, "name", "") in UNLIKE_THEIR_FORWARD:
        pytest.skip("its backward is not the slope of its forward; tested below")
    found = checked(ModelSpec(architecture=architecture), entries=1 if isinstance(architecture, ResNet) else 2)
    assert found.entries
    assert {entry.verdict for entry in found.entries} <= {"agrees", "bends"}
    assert sum(entry.verdict == "agrees" for entry in found.entries) >= 0.8 * len(found.entries)
    assert found.unchecked == 0 or isinstance(architecture, ResNet)  # its budget is seconds
    assert found.error is None


def test_the_largest_and_smallest_are_among_the_entries_and_none_is_twice():
    model = ModelSpec(architecture=Chain(operations=5, width=4))
    found = checked(model, entries=5)
    places = [(entry.name, entry.index) for entry in found.entries]
    assert len(set(places)) == len(places)
    weights = [entry for entry in found.entries if entry.name.endswith("weight")]
    assert weights[0].chosen == "largest"
    assert weights[1].chosen == "smallest"
    assert abs(weights[0].exact) == max(abs(entry.exact) for entry in weights)
    assert abs(weights[1].exact) == min(abs(entry.exact) for entry in weights)


def test_float32_losses_leave_few_digits():
    found = checked(ModelSpec(architecture=Mlp(layers=2, depth=2, width=16)))
    large = [entry for entry in found.entries if entry.chosen == "largest"]
    assert all(entry.error < 1e-7 * abs(entry.exact) for entry in large)
    assert max(abs(entry.own_numeric - entry.gradient) / abs(entry.gradient) for entry in large) > 1e-4


def test_a_straight_through_estimator_is_told_apart():
    found = checked(ModelSpec(architecture=Expression(name=STRAIGHT_THROUGH)), entries=9)
    passed = [entry for entry in found.entries if entry.exact == 1]
    assert passed
    assert all(entry.numeric == 0 or entry.verdict == "bends" for entry in passed)
    assert any(entry.verdict == "differs" for entry in passed)


def test_an_infinite_slope_is_no_agreement():
    found = checked(ModelSpec(architecture=Expression(name="where_sqrt")), entries=9)
    assert any(entry.verdict == "not finite" for entry in found.entries)


class Bent:
    """abs(x - bend), asked for at x = 0."""

    def __init__(self, bend: float) -> None:
        self.bend = bend

    def moved(self, place: object, by: float) -> float:
        return abs(by - self.bend)


@pytest.mark.parametrize(
    ("bend", "gradient", "verdict"), [(0.0, 1.0, "bends"), (4e-6, -1.0, "bends"), (1.0, 3.0, "differs")]
)
def test_a_kink_at_or_beside_the_point_is_not_called_wrong(bend, gradient, verdict):
    spec, eps = FiniteDifferenceSpec(log10_eps=-5), 1e-5
    assert eps * SMALLER < 4e-6 < eps
    model = Bent(bend)
    up, down, here = model.moved(None, eps), model.moved(None, -eps), model.moved(None, 0.0)
    numeric, one_sided = (up - down) / (2 * eps), abs((up - here) - (here - down)) / eps
    assert _verdict(spec, None, model, here, (gradient, numeric, one_sided, 1e-9)) == verdict


def test_dropout_repeats_its_mask_and_says_so():
    found = checked(ModelSpec(architecture=Gpt(layers=1, heads=2, width=16, sequence=4, vocabulary=20, dropout=0.5)))
    assert {entry.verdict for entry in found.entries} <= {"agrees", "bends"}
    assert any("same seed" in note for note in found.notes)


def test_no_entry_is_begun_after_the_budget():
    spec = FiniteDifferenceSpec(model=ModelSpec(architecture=Mlp(width=8)), entries=9, budget_s=0.1)
    found = run(spec, inline=True)
    assert len(found.entries) + found.unchecked >= 60


def test_a_moved_element_is_put_back_to_the_bit():
    from engine.gradients.finite import _Model, _Place
    from engine.models.build import build

    model = _Model(build(ModelSpec(architecture=Mlp(width=8))))
    before = {name: tensor.clone() for name, tensor in model.built.model.state_dict().items()}
    first = model.moved(_Place("head.weight", (1, 2), "random", ""), 1e-3)
    assert first != model.loss()
    assert all(torch.equal(before[name], tensor) for name, tensor in model.built.model.state_dict().items())


def test_an_eps_that_leaves_no_digits_is_named():
    model = ModelSpec(architecture=Expression(name="grad_of_grad"))
    assert not any("eps" in note for note in checked(model).notes)
    found = checked(model, log10_eps=-12)
    (note,) = [note for note in found.notes if "eps = 1e-12" in note]
    assert found.tolerance >= 0.01 * max(abs(entry.exact) for entry in found.entries)
    assert "1e-5" in note


@settings(max_examples=10)
@given(
    st.lists(st.tuples(st.sampled_from([0.0, 1e-9, 1.0, 3e4]), st.sampled_from([0.0, 1e-13, 1e-6, 2.0])), min_size=1),
    st.sampled_from([0.0, 1e-12, 1e-4, 1.0]),
)
def test_marks_lie_on_the_side_of_the_line_that_their_verdict_says(found, rtol):
    tolerance = 1.4e-9
    entries = tuple(entry_of(exact, error, tolerance + rtol * exact) for exact, error in found)
    outcome = Checked(entries=entries, unchecked=0, forwards=0, loss=1.0, eps=1e-5, tolerance=tolerance)
    figure = finite_chart(outcome, "light", rtol)
    for trace in figure.data:
        for x, y in zip(trace.x, trace.y, strict=True):
            assert y > 0
            if trace.name == "agrees":
                assert y <= (tolerance + rtol * x) * (1 + 1e-9)
            elif trace.name == "differs":
                assert y > tolerance
    for axis in (figure.layout.xaxis, figure.layout.yaxis):
        assert "zeros at" in axis.title.text


def entry_of(exact: float, error: float, allowed: float) -> CheckedEntry:
    off = exact + error
    return CheckedEntry(
        name="x",
        index=(0,),
        chosen="random",
        part="",
        gradient=exact,
        exact=exact,
        numeric=off,
        own_numeric=off,
        one_sided=0.0,
        verdict="agrees" if abs(exact - off) <= allowed else "differs",
    )
