"""Pin A, compare B: the pinned spec travels in the link, its result comes from the engine's cache."""

from __future__ import annotations

import base64
import binascii
import zlib
from typing import Any, TypeVar

import msgspec
import streamlit as st

from engine.runner.contract import Spec

S = TypeVar("S", bound=Spec[Any])

PARAMETER = "pinned"
LARGEST_LINK = 4096


def encode_spec(spec: Spec[Any]) -> str:
    """A spec with the name of its kind as text for a link."""
    packed = msgspec.msgpack.encode((type(spec).__name__, spec))
    return base64.urlsafe_b64encode(zlib.compress(packed, 9)).decode().rstrip("=")


def decode_spec(text: str, kind: type[S]) -> S | None:
    """The spec in a link, validated like any other; None when it is not one of `kind`."""
    if len(text) > LARGEST_LINK:
        return None
    try:
        packed = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        unpacker = zlib.decompressobj()
        name, spec = msgspec.msgpack.decode(
            unpacker.decompress(packed, 16 * LARGEST_LINK), type=tuple[str, msgspec.Raw]
        )
        return msgspec.msgpack.decode(spec, type=kind) if name == kind.__name__ else None
    except (ValueError, binascii.Error, zlib.error, msgspec.MsgspecError):
        return None


def pinned_spec(kind: type[S]) -> S | None:
    """The spec pinned as A on this page, if there is one of this kind."""
    text = st.query_params.get(PARAMETER)
    return decode_spec(text, kind) if text else None


def draw_pin(spec: Spec[Any]) -> None:
    """The button that pins `spec` as A, or lets go of A; an A that cannot be read is dropped with a word."""
    text = st.query_params.get(PARAMETER)
    if text and decode_spec(text, type(spec)) is None:
        st.toast("The pinned A is no run of this kind, so nothing is compared.", icon=":material/keep_off:")
        _unpin()
        text = None
    if text:
        st.button("Unpin A", icon=":material/keep_off:", on_click=_unpin, key="unpin", help="Stop comparing with A")
    else:
        st.button(
            "Pin as A",
            icon=":material/keep:",
            on_click=_pin,
            args=(spec,),
            key="pin",
            help="Keep this run as A; then change a toggle: every number shows its difference to A",
        )


def _pin(spec: Spec[Any]) -> None:
    st.query_params[PARAMETER] = encode_spec(spec)


def _unpin() -> None:
    st.query_params.pop(PARAMETER, None)
