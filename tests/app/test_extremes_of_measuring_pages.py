"""Pages that measure: every control at its extremes."""

from __future__ import annotations

import pytest

from tests.app.pages_under_test import MODEL_PAGES, PAGE_FILES, failures_at_the_extremes, page_id
from tests.app.test_extremes_of_pages import MEASURING

PATHS = [path for path in PAGE_FILES if path not in MODEL_PAGES and path.parent.name == MEASURING]


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("path", PATHS, ids=page_id)
def test_every_control_at_its_extremes(path):
    assert failures_at_the_extremes(path, only_ends=True) == []
