"""What stands around the picture once a run is pinned as A."""

from __future__ import annotations

from engine.graph.spec import GraphSpec
from engine.models.spec import Expression, ModelSpec
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
