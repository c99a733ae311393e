"""What is refused, in words: what was wrong, the limit, what was received, how to fix it."""

from __future__ import annotations

import math

import pytest

from engine.custom_function.catalogue import CATALOGUE, TYPED, FunctionName
from engine.custom_function.spec import CustomFunctionSpec

REFUSED = [
    ({"x_from": 2.0, "x_to": 2.0}, "x_from must be below x_to"),
    ({"points": (math.nan,)}, "points must be finite"),
    ({"points": (1e7,)}, "up to 1e\\+06"),
    ({"points": (True,)}, "received True"),
    ({"points": (0.0,) * 13}, "at most 12"),
    ({"points": "1, 2"}, "at most 12 numbers"),
    ({"function": TYPED, "forward": ""}, "forward cannot be read at character 1"),
    ({"function": TYPED, "forward": "y + x"}, "'y' is not known here"),
    ({"function": TYPED, "backward": "g * ("}, "backward cannot be read"),
    ({"function": TYPED, "backward": "__import__('os')"}, "backward cannot be read"),
    ({"function": TYPED, "backward_z": "g.grad"}, "backward_z cannot be read"),
    ({"function": TYPED, "forward": 3}, "forward must be text"),
]


@pytest.mark.parametrize(("fields", "words"), REFUSED)
def test_nonsense_is_refused_in_words(fields, words):
    with pytest.raises(ValueError, match=words) as caught:
        CustomFunctionSpec(**fields)
    assert "received" in str(caught.value)


def test_every_name_has_an_entry_whose_texts_can_be_filled_in():
    assert set(FunctionName.__args__) == set(CATALOGUE)
    for name in CATALOGUE:
        spec = CustomFunctionSpec(function=name, beta=-2.0, scale=-0.5)
        assert "{" not in spec.call + "".join(spec.plain)
        assert set(spec.entry.parameters) <= set(spec.parameters)


def test_the_declared_clip_is_a_parameter_or_a_number():
    assert CustomFunctionSpec(clip=0.2).clips_at == 0.2
    assert CustomFunctionSpec(function="SafeSigmoid").clips_at == 1.0
    assert CustomFunctionSpec(function="HandReLU").clips_at is None


@pytest.mark.parametrize(
    ("forward", "words"),
    [("(-2)**0.5*x", "complex"), ("sum(x, dim=1e999)", "dim is"), ("clamp(x, min=0, min=1)", "more than once")],
)
def test_constants_and_options_that_python_would_trip_over_are_refused_as_text(forward, words):
    with pytest.raises(ValueError, match=words):
        CustomFunctionSpec(function=TYPED, forward=forward)
