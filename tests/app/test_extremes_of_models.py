"""Pages that show models: every control of the page and of each model at its extremes."""

from __future__ import annotations

import pytest

from tests.app.pages_under_test import ON_EACH_MODEL, failures_at_the_extremes, named


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize(("path", "tag"), ON_EACH_MODEL, ids=named)
def test_every_control_at_its_extremes(path, tag):
    assert failures_at_the_extremes(path, tag) == []
