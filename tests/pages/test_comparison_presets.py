"""The questions that open as a comparison show exactly what they tell people to notice."""

from __future__ import annotations

from collections import Counter
from functools import cache

import pytest

from engine import run
from engine.figures.comparison import Compared, compare_graphs
from engine.graph.spec import GraphSpec, Traced
from pages.graph.autograd_graph_presets import PRESETS
from pages.graph.comparison_presets import COMPARISONS
from tests.app.pages_under_test import PAGES_FOLDER, errors, open_page, run_to_the_end

BY_START = {preset.question.split(":")[0]: preset for preset in COMPARISONS}


@cache
def both(start: str) -> tuple[Traced, Traced]:
    preset = BY_START[start]
    assert preset.against is not None
    return run(preset.against, inline=True), run(GraphSpec(model=preset.model), inline=True)


@cache
def compared(start: str) -> Compared:
    a, b = both(start)
    return compare_graphs(a.graph, b.graph)


def names(start: str, mark: str) -> Counter[str]:
    found = compared(start)
    return Counter(found.union.graph.node_names[i].rpartition("::")[2] for i in found.ids(mark))


def counted(graph, name: str) -> int:
    return sum(found == name for found in graph.node_names)


def test_checkpointing_adds_nothing_and_drops_every_slot_of_the_blocks() -> None:
    found = compared("What does checkpointing change?")
    assert not found.ids("added")
    assert not found.ids("removed")
    changed = set(found.ids("changed"))
    saving = {i for i, node in enumerate(found.a.nodes) if node.saved and node.module.startswith("blocks.")}
    assert {found.b.nodes[i].module.split(".")[0] for i in changed} == {"blocks"}
    assert len(changed) == len(saving)
    slots = [slot for i in changed for slot in found.b.nodes[i].saved if not slot.unavailable.startswith("empty")]
    assert all(slot.dropped for slot in slots)


def test_amp_adds_two_casts_per_linear() -> None:
    found = compared("What does AMP add?")
    linears = counted(found.a, "AddmmBackward0")
    assert names("What does AMP add?", "added") == {"ToCopyBackward0": 2 * linears}
    assert not found.ids("removed")
    words = [found.changes[i] for i in found.ids("changed") if found.union.graph.node_names[i] == "AddmmBackward0"]
    assert len(words) == linears
    assert all("float32 → bfloat16" in told for told in words)
    assert all(two.saved_bytes == one.saved_bytes / 2 for one, two in [(found.a, found.b)])


def test_freezing_takes_two_accumulators_and_a_transpose_and_one_saved_input() -> None:
    start = "What does freezing remove?"
    found = compared(start)
    assert names(start, "removed") == {"AccumulateGrad": 2, "TBackward0": 1}
    assert not found.ids("added")
    (changed,) = found.ids("changed")
    assert found.b.nodes[changed].name == "AddmmBackward0"
    assert "mat1: kept → not saved" in found.changes[changed]
    a, b = both(start)
    assert a.graph.saved_bytes - b.graph.saved_bytes == 4 * 64 * 4  # one activation: batch, width, float32


def test_one_layer_more_is_six_nodes_in_that_layer() -> None:
    start = "One layer deeper"
    found = compared(start)
    assert names(start, "added") == {
        "AddmmBackward0": 1,
        "ReluBackward0": 1,
        "AddBackward0": 1,
        "TBackward0": 1,
        "AccumulateGrad": 2,
    }
    assert not found.ids("removed")
    assert not found.ids("changed")
    assert all(found.b.nodes[i].module.startswith("layers.3") for i in found.ids("added"))
    assert found.b.saved_bytes - found.a.saved_bytes == 64 * 64 * 4 + 2 * 4 * 64 * 4


def test_without_the_residual_three_sums_go_and_three_linears_save_something_else() -> None:
    start = "Without the residual"
    found = compared(start)
    assert names(start, "removed") == {"AddBackward0": 3}
    assert names(start, "changed") == {"AddmmBackward0": 3}
    assert all(found.changes[i] == ("mat1: of Add → of Relu",) for i in found.ids("changed"))
    assert found.a.saved_bytes - found.b.saved_bytes == 3 * 4 * 64 * 4


@pytest.mark.parametrize("preset", COMPARISONS, ids=lambda preset: preset.question)
def test_the_other_way_round_added_and_gone_change_places(preset) -> None:
    start = preset.question.split(":")[0]
    there = compared(start)
    back = compare_graphs(there.b, there.a)
    assert len(back.ids("added")) == len(there.ids("removed"))
    assert len(back.ids("removed")) == len(there.ids("added"))
    assert len(back.ids("changed")) == len(there.ids("changed"))


def test_a_chosen_question_arrives_pinned_and_another_one_lets_go() -> None:
    page = PAGES_FOLDER / "graph" / "01_autograd_graph.py"
    app = open_page(page)
    questions = [preset.question for preset in PRESETS]
    app.selectbox(key="question").set_value(questions.index("What does AMP add?"))
    run_to_the_end(app)
    assert errors(app) == []
    assert any("8 nodes added, 14 changed" in text.value for text in app.markdown)
    assert any("`autocast`: `off` → `bfloat16`" in text.value for text in app.caption)
    assert app.button(key="unpin")
    app.selectbox(key="question").set_value(0)
    run_to_the_end(app)
    assert app.button(key="pin")
    assert errors(app) == []
