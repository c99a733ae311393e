"""Pin A, compare B: the pinned spec travels in the link, its result comes from the engine's cache."""

from __future__ import annotations

import base64
import binascii
import zlib
from collections.abc import Sequence
from typing import Any, TypeVar

import msgspec
import streamlit as st

from engine.figures.spec_differences import spec_differences
from engine.runner.contract import Spec
from pages.shared.bound import read_parameter

S = TypeVar("S", bound=Spec[Any])

PARAMETER = "pinned"
LARGEST_LINK = 4096
TOLD = 5
"""Differing settings named in one line."""


def encode_spec(spec: Spec[Any]) -> str:
    """A spec with the name of its kind as text for a link."""
    packed = msgspec.msgpack.encode((type(spec).__name__, spec))
    return base64.urlsafe_b64encode(zlib.compress(packed, 9)).decode().rstrip("=")


def decode_spec(text: str, kind: type[S]) -> S | None:
    """The spec in a link, validated like any other; None when it is not one of `kind`."""
    named = _named(text)
    if named is None or named[0] != kind.__name__:
        return None
    try:
        spec: S = msgspec.msgpack.decode(named[1], type=kind)
    except (ValueError, msgspec.MsgspecError):
        return None
    return spec


def kind_in(text: str) -> str | None:
    """Name of the kind of spec that a link's text holds, None when it holds none."""
    named = _named(text)
    return None if named is None else named[0]


def _named(text: str) -> tuple[str, msgspec.Raw] | None:
    """(name of the kind, the packed spec), None for text that is neither."""
    if len(text) > LARGEST_LINK:
        return None
    try:
        packed = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        named = zlib.decompressobj().decompress(packed, 16 * LARGEST_LINK)
        return msgspec.msgpack.decode(named, type=tuple[str, msgspec.Raw])
    except (ValueError, binascii.Error, zlib.error, msgspec.MsgspecError):
        return None


def pinned_spec(kind: type[S]) -> S | None:
    """The spec pinned as A on this page, if there is one of this kind."""
    text = read_parameter(PARAMETER)
    return decode_spec(text, kind) if text else None


def draw_pin(spec: Spec[Any], name: str = "A") -> None:
    """The button that pins `spec` as A, or lets go of A; an A that cannot be read is dropped with a word.

    `name` is what a page calls the pinned run whose own two sides are A and B.
    """
    text = _kept(type(spec))
    called = name if name == "A" else f"the {name} run"
    if text:
        st.button(
            "Unpin A" if name == "A" else "Unpin",
            icon=":material/keep_off:",
            on_click=unpin,
            args=(type(spec),),
            key="unpin",
            help=f"Stop comparing with {called}",
        )
    else:
        st.button(
            "Pin as A" if name == "A" else "Pin this run",
            icon=":material/keep:",
            on_click=pin_as_a,
            args=(spec,),
            key="pin",
            help=f"Keep this run as {called}; then change a toggle: every number shows its difference to {called}",
        )


def draw_differing(spec: Spec[Any], name: str = "A") -> None:
    """One line with the settings in which pinned A differs from `spec`; nothing without an A of this kind."""
    pinned = pinned_spec(type(spec))
    if pinned is None:
        return
    found = spec_differences(pinned, spec)
    called = name if name == "A" else f"The {name} run"
    with st.container(key="differing"):
        if found:
            told = [f"`{code_text(one.name)}`: `{code_text(one.a)}` → `{code_text(one.b)}`" for one in found]
            rest = f" and {len(told) - TOLD} more" if len(told) > TOLD else ""
            st.caption(f":material/keep: {called} → this: " + " · ".join(told[:TOLD]) + rest, help=_all_told(told))
        else:
            st.caption(f":material/keep: {called} has these very settings: turn one to compare.")


def _all_told(told: Sequence[str]) -> str | None:
    return "  \n".join(told) if len(told) > TOLD else None


def code_text(text: str) -> str:
    """`text` inside a code span, where nothing else is read as markup."""
    return text.replace("`", "ˋ") or " "


def _kept(kind: type[Spec[Any]]) -> str | None:
    """A of this kind: the link's, else the one last pinned in this window, which then stands in the link again."""
    text = read_parameter(PARAMETER)
    if text and decode_spec(text, kind) is not None:
        _pins()[kind.__name__] = text
        return text
    if text and kind_in(text) in (None, kind.__name__):
        st.toast("The pinned A in this link cannot be read, so nothing is compared.", icon=":material/keep_off:")
    kept = _pins().get(kind.__name__)
    if kept:
        st.query_params[PARAMETER] = kept
    else:
        st.query_params.pop(PARAMETER, None)
    return kept


def _pins() -> dict[str, str]:
    """By kind of spec, as text for the link: a page change takes the link's parameters away."""
    pins: dict[str, str] = st.session_state.setdefault("pins", {})
    return pins


def pin_as_a(spec: Spec[Any]) -> None:
    """Compare with this run from now on; call it from a widget callback."""
    st.query_params[PARAMETER] = _pins()[type(spec).__name__] = encode_spec(spec)


def unpin_text(text: str) -> None:
    """Let go of the run that this text of a link stands for, wherever it is kept; another run that is A stays.

    The link need not hold it: a page change and a picture of another kind of run take it out, and it would come back.
    """
    kind = kind_in(text) or ""
    if _pins().get(kind) == text:
        del _pins()[kind]
    if st.query_params.get(PARAMETER) == text:
        st.query_params.pop(PARAMETER, None)


def unpin(kind: type[Spec[Any]]) -> None:
    """Compare no run of this kind any more; call it from a widget callback."""
    _pins().pop(kind.__name__, None)
    st.query_params.pop(PARAMETER, None)
