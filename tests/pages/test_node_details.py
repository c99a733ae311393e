"""A node is named as links and search name it, and "#" has that one meaning."""

from __future__ import annotations

import re

from engine import run
from engine.figures.node_facts import node_word, owner_words
from engine.graph.spec import GraphSpec
from engine.models.spec import Mlp, ModelSpec
from pages.graph.node_details import node_title


def test_the_stable_address_comes_first_and_the_id_is_called_one():
    graph = run(GraphSpec(model=ModelSpec(architecture=Mlp(layers=1, depth=1))), inline=True).graph
    for node in graph.nodes:
        title = node_title(node, "head/AddmmBackward0#0")
        assert title.startswith("**`head/AddmmBackward0#0`**")
        assert f"id {node.id} in the walk" in title
        assert "#" not in node_title(node, "") + node_word(node)
    made = [slot for node in graph.nodes for slot in node.saved if slot.owner_kind == "intermediate"]
    assert made
    for slot in made:
        found = re.fullmatch(r"(.*) \(id (\d+)\)", owner_words(slot))
        assert found is not None
        assert graph.nodes[int(found[2])].name == found[1]
