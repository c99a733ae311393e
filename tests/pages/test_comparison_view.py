"""What stands around the picture once a run is pinned as A."""

from __future__ import annotations

from engine import run
from engine.figures.comparison import ModuleDifference, compare_graphs
from engine.graph.spec import GraphSpec
from engine.models.spec import Expression, Mlp, ModelSpec
from pages.graph.comparison_view import module_rows
from pages.shared.pin import encode_spec
from tests.app.pages_under_test import PAGES_FOLDER, errors, open_page

PAGE = PAGES_FOLDER / "graph" / "01_autograd_graph.py"


def captions(against: ModelSpec, **query: str) -> list[str]:
    """All captions of the page that opens with `against` pinned as A."""
    app = open_page(PAGE, pinned=encode_spec(GraphSpec(model=against)), **query)
    assert errors(app) == []
    return [found.value.replace("\\", "") for found in [*app.caption, *app.warning]]


def test_a_run_that_failed_is_told_beside_the_headline() -> None:
    told = captions(ModelSpec(architecture=Expression(name="in_place_after_save")))
    assert any("In A, PyTorch raised RuntimeError in backward" in line for line in told)


def test_a_link_to_a_node_of_a_says_to_switch_ghosts_on() -> None:
    a, b = GraphSpec(model=ModelSpec(architecture=Mlp(layers=5, depth=5))), GraphSpec()
    found = compare_graphs(run(a, inline=True).graph, run(b, inline=True).graph)
    ghost = found.union.addresses[found.ids("removed")[0]]
    with_ghosts, without = (captions(a.model, node=ghost, ghosts=on) for on in ("true", "false"))
    assert any("Only A has this node" in line for line in with_ghosts)
    assert not any("Click a box" in line or "cannot be shown" in line for line in with_ghosts)
    assert any("only A has" in line and "Draw removed nodes as ghosts" in line for line in without)


def test_under_a_checkpoint_the_table_says_why_its_rows_do_not_add_up() -> None:
    told = captions(ModelSpec(checkpoint="each_block"))
    assert any("the headline what hooks hold" in line for line in told)
    assert not any("the headline what hooks hold" in line for line in captions(ModelSpec(frozen=("layers.1",))))


def test_bytes_of_modules_are_told_in_binary_units_and_stay_numbers() -> None:
    rows = [ModuleDifference("a", 0, 0, 1, 4096, 3072), ModuleDifference("b", 0, 0, 1, 0, 5 << 20)]
    told = module_rows(rows)
    assert told.data["difference"].tolist() == [-1024, 5 << 20]
    shown = told.to_html()
    for text in ("4.00 KiB", "3.00 KiB", "−1.00 KiB", "+5.00 MiB"):
        assert text in shown
