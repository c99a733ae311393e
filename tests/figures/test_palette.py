"""Colours can be read in both themes and told apart without colour vision."""

from __future__ import annotations

import itertools

import pytest

from engine.figures.colours import as_colour
from engine.figures.palette import (
    BACKGROUND,
    CATEGORICAL,
    MARKS,
    MUTED,
    PALETTE,
    SEQUENTIAL,
    TEXT,
    Meaning,
    channels,
    contrast,
    luminance,
    meaning,
    mix,
)

THEMES = ("light", "dark")

# Viénot, Brettel, Mollon 1999: linear RGB seen without long- or medium-wave cones.
PROTANOPIA = ((0.11238, 0.88762, 0.0), (0.11238, 0.88762, -0.0), (0.00401, -0.00401, 1.0))
DEUTERANOPIA = ((0.29275, 0.70725, 0.0), (0.29275, 0.70725, -0.0), (-0.02234, 0.02234, 1.0))


def seen(colour, matrix):
    linear = [(value / 255) ** 2.2 for value in channels(colour)]
    mixed = [sum(a * b for a, b in zip(row, linear, strict=True)) for row in matrix]
    return [255 * min(1.0, max(0.0, value)) ** (1 / 2.2) for value in mixed]


def test_contrast_follows_wcag():
    assert contrast("#000000", "#ffffff") == pytest.approx(21.0)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)
    assert contrast("#123456", "#123456") == 1.0


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("key", PALETTE)
def test_accents_stand_out_and_labels_can_be_read(theme, key):
    what = meaning(key)
    assert contrast(what.accent(theme), BACKGROUND[theme]) >= 3.0
    assert contrast(TEXT[theme], what.fill(theme)) >= 4.5
    assert contrast(MUTED[theme], what.fill(theme)) >= 4.5
    assert contrast(what.accent(theme), what.fill(theme)) >= 3.0


@pytest.mark.parametrize("number", range(2))
@pytest.mark.parametrize("scale", [CATEGORICAL, SEQUENTIAL])
def test_scales_stand_out(number, scale):
    for pair in scale:
        theme = THEMES[number]
        assert contrast(pair[number], BACKGROUND[theme]) >= 3.0
        fill = as_colour(Meaning("", "", *pair, "square"))
        assert contrast(MUTED[theme], (fill.light_fill, fill.dark_fill)[number]) >= 4.5


def test_the_scale_of_bytes_is_ordered_by_lightness():
    light, dark = zip(*SEQUENTIAL, strict=True)
    assert sorted(light, key=luminance, reverse=True) == list(light)
    assert sorted(dark[1:], key=luminance) == list(dark[1:])


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("matrix", [PROTANOPIA, DEUTERANOPIA])
def test_kinds_that_meet_in_one_picture_differ_in_shape_or_in_simulated_colour(theme, matrix):
    for first, second in itertools.combinations(PALETTE.values(), 2):
        apart = sum(
            (a - b) ** 2
            for a, b in zip(seen(first.accent(theme), matrix), seen(second.accent(theme), matrix), strict=True)
        )
        assert first.mark != second.mark or apart > 20**2 or {first.key, second.key} == {"checkpoint", "dropped"}


def test_every_mark_exists_and_every_meaning_is_reachable():
    for key, what in PALETTE.items():
        assert what.key == key
        assert what.mark in MARKS
    assert meaning("something new").key == "operation"


def test_mixing():
    assert mix("#000000", "#ffffff", 0.0) == "#000000"
    assert mix("#000000", "#ffffff", 1.0) == "#ffffff"
    assert mix("#000000", "#ff0000", 0.5) == "#800000"
