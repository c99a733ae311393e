"""The module tree against counting node by node."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from engine.figures.hierarchy import groups_of
from engine.figures.module_tree import NEVER_RAN, NO_NODE, module_rows
from engine.figures.scene import build_scene, prepare
from engine.figures.units import format_bytes
from engine.figures.view import GraphView
from engine.graph.spec import ModuleCall
from tests.figures.graphs import graph, linear_relu, node, random_graphs, saved


def below(path: str, module: str) -> bool:
    return path == "" or module == path or module.startswith(path + ".")


@settings(max_examples=40, deadline=None)
@given(random_graphs())
def test_nodes_and_bytes_are_those_of_the_module_and_all_below(made):
    for row in module_rows(made):
        inside = [one for one in made.nodes if below(row.path, one.module)]
        kept = {slot.storage_id: slot.storage_bytes for one in inside for slot in one.saved if not slot.dropped}
        assert (row.nodes, row.saved_bytes) == (len(inside), sum(kept.values()))
        assert row.saved == format_bytes(row.saved_bytes)
        assert (row.note, row.calls) == ("", -1)


def test_a_storage_that_two_modules_keep_counts_once_above_them():
    shared = saved(7, 400)
    made = graph(
        [node(i, "MulBackward0", f"a.{i}", sequence=3 - i, slots=[shared]) for i in range(2)],
        [(0, 0, 1)],
    )
    assert {row.path: row.saved_bytes for row in module_rows(made)} == {"": 400, "a": 400, "a.0": 400, "a.1": 400}


def test_modules_come_in_the_order_of_the_model_and_those_without_a_node_say_why():
    calls = [
        ModuleCall("", "Net", 6, 1),
        ModuleCall("drop", "Dropout", 0, 1),
        ModuleCall("lin", "Linear", 4, 1),
        ModuleCall("spare", "Linear", 0, 0),
        ModuleCall("act", "ReLU", 1, 1),
    ]
    rows = module_rows(linear_relu(), calls)
    assert [row.path for row in rows] == ["", "drop", "lin", "spare", "act"]
    assert [row.note for row in rows] == ["", NO_NODE, "", NEVER_RAN, ""]
    assert [row.type for row in rows] == ["Net", "Dropout", "Linear", "Linear", "ReLU"]


@settings(max_examples=40, deadline=None)
@given(random_graphs())
def test_every_row_comes_after_the_one_above_it(made):
    seen: set[str] = set()
    for row in module_rows(made):
        assert row.path == "" or row.path.rpartition(".")[0] in seen
        seen.add(row.path)


@settings(max_examples=40, deadline=None)
@given(random_graphs())
def test_a_group_of_a_row_holds_nodes_of_that_module_only(made):
    view = GraphView(maximum_boxes=5)
    prepared = prepare(made, view)
    groups = groups_of(prepared.tree)
    for row in prepared.modules:
        if row.group:
            group = groups[row.group]
            shown = [prepared.folded.order[place] for place in range(group.first, group.last)]
            assert shown
            assert all(below(row.path, made.nodes[one].module) for one in shown)


@pytest.mark.parametrize("calls", [(), [ModuleCall("", "Net", 0, 1)]])
def test_without_nodes_there_are_only_the_modules_that_ran(calls):
    rows = build_scene(graph([], [], roots=()), modules=calls).modules
    assert [row.path for row in rows] == [call.path for call in calls]
