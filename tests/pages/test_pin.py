"""A pinned spec survives the link and a broken link is only ignored."""

import base64
import zlib

import pytest

from engine.graph.spec import GraphSpec
from engine.machine.spec import MachineSpec
from engine.models.spec import Gpt, ModelSpec
from pages.shared.pin import LARGEST_LINK, decode_spec, encode_spec

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


def test_a_spec_of_another_page_does_not_become_this_page() -> None:
    assert decode_spec(encode_spec(MachineSpec()), GraphSpec) is None
    assert decode_spec(encode_spec(GraphSpec()), MachineSpec) is None
