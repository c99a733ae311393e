"""A control turned in a copy shows what it shows on a fresh page, and leaves the page it was copied from as it was."""

from __future__ import annotations

from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from tests.app.page_copies import turned
from tests.app.pages_under_test import PAGES_FOLDER, open_page, run_to_the_end, widgets

CASES = [
    ("graph/01_autograd_graph", "batch", 8),
    ("backward/03_custom_functions", "function.clip", 0.3),
    ("tensors/04_broadcasting", "broadcast.dtype.a", "float64"),
]


def shown(app: AppTest) -> dict[str, Any]:
    """What a visitor sees and what the page remembers of them, without what was measured."""
    return {
        "settings": {key: widget.value for key, widget in widgets(app).items()},
        "address": app.query_params,
        "numbers": [(metric.label, metric.value) for metric in app.metric],
        "words": [one.value for one in app.markdown if " ms" not in one.value and " s" not in one.value],
        "kept": sorted(app.session_state.to_dict()),
    }


@pytest.mark.parametrize(("page", "key", "value"), CASES, ids=lambda value: str(value))
def test_a_copy_is_a_fresh_page_and_leaves_no_trace(page, key, value):
    path = PAGES_FOLDER / f"{page}.py"
    app = open_page(path)
    before = shown(app)
    copy = turned(app, widgets(app)[key], value)
    assert shown(app) == before
    fresh = open_page(path)
    assert shown(fresh) == before
    widgets(fresh)[key].set_value(value)
    assert shown(run_to_the_end(fresh)) == shown(copy) != before
    assert shown(run_to_the_end(app)) == before
