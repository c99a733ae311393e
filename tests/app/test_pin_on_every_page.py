"""Pin A, turn one control: on every page each key number with a value in both runs says how far it is from A."""

from __future__ import annotations

from typing import Any

import pytest

from engine.graph.spec import GraphSpec
from engine.models.spec import Gpt, ModelSpec
from pages.performance.claims_board import KINDS, first_upper
from pages.shared.navigation import discover_pages
from pages.shared.pin import encode_spec
from tests.app.pages_under_test import PAGES_FOLDER, errors, open_page, page_id, run_to_the_end, widgets

Case = tuple[str, dict[str, str], str, Any]
BOARD_LABELS = {first_upper(kind) for kind in (*KINDS, "not run")}
"""Counts over the whole board of claims are no numbers of one run."""
QUICK: tuple[Case, ...] = (
    ("graph/01_autograd_graph", {}, "batch", 8),
    ("tensors/04_broadcasting", {}, "broadcast.dtype.a", "float64"),
    ("backward/04_higher_order", {}, "higher.function", "sin(x)"),
    ("backward/03_custom_functions", {}, "function.clip", 0.3),
    ("memory/06_number_formats", {}, "format.text", "1/3"),
)
SLOW: tuple[Case, ...] = (
    ("memory/01_memory_ledger", {}, "batch", 8),
    ("memory/02_memory_timeline", {}, "batch", 8),
    ("backward/01_replay", {}, "batch", 8),
    ("backward/06_diagnostics", {}, "batch", 8),
    ("backward/02_gradient_values", {}, "batch", 8),
    ("backward/05_in_place", {"in_place.section": "Optimizer update"}, "in_place.width", 128),
    ("memory/03_checkpointing", {"policies.rounds": "5"}, "batch", 8),
    ("memory/05_gradient_scaling", {}, "scaler.steps", 8),
    ("memory/07_profiler", {}, "batch", 8),
    ("memory/04_mixed_precision", {}, "batch", 8),
    ("performance/01_operators", {"operators.rounds": "5"}, "operators.gelu_tanh.rows", 512),
    ("performance/02_timing", {"timing.rounds": "12"}, "timing.rows", 512),
    ("performance/03_claims", {}, "claims.cube.x", 3.0),
    ("tensors/01_storage_and_views", {}, "storage.dtype", "float64"),
    ("tensors/02_memory_formats", {"model": "Convolutional blocks"}, "memory_format", "channels_last"),
    ("tensors/03_sparse_layouts", {}, "sparse.rows", 16),
)


def deltas_after(page: str, query: dict[str, str], key: str, value: Any) -> dict[str, tuple[str, str]]:
    """Pin what the page opens with, turn one control; label -> (value, delta) of every key number."""
    app = open_page(PAGES_FOLDER / f"{page}.py", **query)
    app.button(key="pin").click()
    run_to_the_end(app)
    unturned = {metric.label: metric.delta for metric in app.metric if metric.label not in BOARD_LABELS}
    assert unturned
    assert all(delta.startswith("= ") or delta == "not in both" for delta in unturned.values()), unturned
    widgets(app)[key].set_value(value)
    run_to_the_end(app)
    assert errors(app) == []
    told = [caption.value for caption in app.caption if "→ this:" in caption.value]
    assert len(told) == 1, [caption.value for caption in app.caption]
    assert f"`{value}`" in told[0]
    return {m.label: (m.value, m.delta) for m in app.metric if m.label not in BOARD_LABELS}


@pytest.mark.parametrize(
    "case", [*QUICK, *(pytest.param(case, marks=pytest.mark.slow) for case in SLOW)], ids=lambda case: case[0]
)
def test_each_key_number_says_how_far_it_is_from_a(case):
    found = deltas_after(*case)
    assert found
    assert all(delta for _, delta in found.values()), found
    assert any(delta != "not in both" and not delta.startswith("=") for _, delta in found.values()), found


def test_a_run_that_is_refused_is_told_and_the_page_goes_on():
    large = ModelSpec(architecture=Gpt(layers=12, heads=12, width=768, sequence=512, vocabulary=50257), batch=4096)
    app = open_page(PAGES_FOLDER / "graph/01_autograd_graph.py", pinned=encode_spec(GraphSpec(model=large)))
    assert any("A has no result to compare with" in warning.value for warning in app.warning)
    assert any("→ this:" in caption.value for caption in app.caption)
    assert app.metric
    assert not any(metric.delta for metric in app.metric)
    assert errors(app) == []


def test_no_page_was_forgotten():
    asked = {page_id(entry.path) for entry in discover_pages() if entry.section != "start"}
    assert asked == {case[0] for case in QUICK + SLOW}
