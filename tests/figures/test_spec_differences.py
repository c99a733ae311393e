"""Settings that differ between two specs are named as the controls name them."""

from __future__ import annotations

import msgspec
import pytest

from engine.figures.spec_differences import spec_differences
from engine.graph.spec import GraphSpec
from engine.models.spec import Gpt, Mlp, ModelSpec


def words(a, b):
    return [found.words for found in spec_differences(a, b)]


def test_equal_specs_differ_in_nothing():
    assert spec_differences(GraphSpec(), GraphSpec()) == ()


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        (ModelSpec(checkpoint="each_block"), ["checkpoint: off → each_block"]),
        (ModelSpec(architecture=Mlp(depth=2), batch=8), ["depth: 3 → 2", "batch: 4 → 8"]),
        (ModelSpec(frozen=("layers.0", "head")), ["frozen: none → layers.0, head"]),
        (ModelSpec(architecture=Gpt()), ["architecture: Mlp → Gpt"]),
        (ModelSpec(train=False), ["train: True → False"]),
    ],
)
def test_a_setting_is_told_by_its_own_name(changed, expected):
    assert words(GraphSpec(model=ModelSpec()), GraphSpec(model=changed)) == expected


class Part(msgspec.Struct, frozen=True):
    shape: str = "4"


class Whole(msgspec.Struct, frozen=True):
    first: Part = Part()
    second: Part = Part()
    steps: tuple[Part, ...] = ()
    limit: float = 0.0


def test_names_that_occur_twice_are_told_with_what_they_belong_to():
    assert words(Whole(), Whole(Part("8"), Part("9"))) == ["first.shape: 4 → 8", "second.shape: 4 → 9"]


def test_parts_of_a_list_are_told_apart_and_another_number_of_them_is_one_difference():
    assert words(Whole(steps=(Part(), Part("2"))), Whole(steps=(Part(), Part("3")))) == ["shape: 2 → 3"]
    assert words(Whole(), Whole(steps=(Part(),))) == ["steps: none → Part"]


def test_not_a_number_is_no_difference_to_itself():
    assert words(Whole(limit=float("nan")), Whole(limit=float("nan"))) == []


def test_long_and_hostile_values_are_cut():
    hostile = "<script>\n" * 1000
    (found,) = spec_differences(Part(), Part(hostile))
    assert len(found.b) <= 40
    assert "\n" not in found.b
