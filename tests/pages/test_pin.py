"""A pinned spec survives the link and a broken link is only ignored."""

import base64
import zlib

import pytest

from engine.graph.spec import GraphSpec
from engine.machine.spec import MachineSpec
from engine.models.spec import Gpt, ModelSpec
from pages.shared.pin import LARGEST_LINK, PARAMETER, decode_spec, encode_spec
from tests.app.pages_under_test import PAGES_FOLDER, errors, open_page, run_to_the_end

SPEC = GraphSpec(model=ModelSpec(architecture=Gpt(layers=3), checkpoint="each_block", frozen=("blocks.0",)))


def test_round_trip() -> None:
    assert decode_spec(encode_spec(SPEC), GraphSpec) == SPEC


def test_link_is_short_and_safe_in_a_url() -> None:
    text = encode_spec(SPEC)
    assert len(text) < 600
    assert text.replace("-", "").replace("_", "").isalnum()


def packed(payload: bytes) -> str:
    return base64.urlsafe_b64encode(zlib.compress(payload)).decode()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "not base64 ☃",
        "AAAA",
        packed(b"\x00"),
        packed(b"\x81\xa5model\x81\xa5batch\x00"),
        packed(b"0" * 10_000_000),
        "A" * (LARGEST_LINK + 1),
        encode_spec(SPEC)[:-9],
    ],
)
def test_a_broken_link_is_ignored(text: str) -> None:
    assert decode_spec(text, GraphSpec) is None


def test_a_value_out_of_range_is_ignored() -> None:
    assert decode_spec(encode_spec(SPEC), GraphSpec) is not None
    import msgspec

    raw = msgspec.msgpack.decode(zlib.decompress(base64.urlsafe_b64decode(encode_spec(SPEC) + "==")))
    raw[1]["model"]["batch"] = 10**9
    assert decode_spec(packed(msgspec.msgpack.encode(raw)), GraphSpec) is None


PAGES = PAGES_FOLDER / "graph" / "01_autograd_graph.py", PAGES_FOLDER / "tensors" / "01_storage_and_views.py"


def test_a_stays_pinned_over_a_visit_to_another_page() -> None:
    graph, storage = (str(path.relative_to(PAGES_FOLDER)) for path in PAGES)
    app = open_page(PAGES[0])
    app.button(key="pin").click()
    run_to_the_end(app)
    assert app.button(key="unpin")
    run_to_the_end(app.switch_page(storage))
    assert app.button(key="pin")
    run_to_the_end(app.switch_page(graph))
    assert all(metric.delta == "= A" for metric in app.metric)
    app.button(key="unpin").click()
    run_to_the_end(app)
    assert PARAMETER not in app.query_params
    assert app.button(key="pin")


@pytest.mark.parametrize("text", [encode_spec(MachineSpec()), "nonsense", encode_spec(SPEC)[:-9]])
def test_an_a_of_another_kind_or_none_leaves_the_link(text) -> None:
    app = open_page(PAGES[0], pinned=text)
    assert app.button(key="pin")
    assert PARAMETER not in app.query_params
    assert errors(app) == []


def test_a_spec_of_another_page_does_not_become_this_page() -> None:
    assert decode_spec(encode_spec(MachineSpec()), GraphSpec) is None
    assert decode_spec(encode_spec(GraphSpec()), MachineSpec) is None
