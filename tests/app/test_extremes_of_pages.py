"""Pages with controls of their own: every control at its extremes."""

from __future__ import annotations

import pytest

from tests.app.pages_under_test import MODEL_PAGES, PAGE_FILES, failures_at_the_extremes, page_id

MEASURING = "performance"
"""Their pages wait for a measurement at every turn of a control; they have a file, and so a process, of their own."""
OTHERS = [path for path in PAGE_FILES if path not in MODEL_PAGES and path.parent.name != MEASURING]


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("path", OTHERS, ids=page_id)
def test_every_control_at_its_extremes(path):
    assert failures_at_the_extremes(path) == []
