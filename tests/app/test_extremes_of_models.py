"""Pages that show models: every control of the page and of each model at its extremes."""

from __future__ import annotations

import pytest

from tests.app.pages_under_test import (
    DEEP_MODELS,
    DEFAULT_MODEL,
    EVERY_CONTROL_OF_MODELS,
    MODEL_PAGES,
    ON_EACH_MODEL,
    failures_at_the_extremes,
    named,
)

EVERY = 4
"""Beside the deep ones every fourth model on a further page, others on the next; each opens on all pages."""


def _is_turned(path, tag):
    turn = MODEL_PAGES.index(path) + sorted({tag for _, tag in ON_EACH_MODEL}).index(tag)
    return path == EVERY_CONTROL_OF_MODELS or tag in (DEFAULT_MODEL, *DEEP_MODELS) or turn % EVERY == 0


TURNED = [(path, tag) for path, tag in ON_EACH_MODEL if _is_turned(path, tag)]


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize(("path", "tag"), TURNED, ids=named)
def test_every_control_at_its_extremes(path, tag):
    assert failures_at_the_extremes(path, tag) == []
