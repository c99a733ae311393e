"""A on a page whose sections ask different things: only an A of the same section is compared with."""

from __future__ import annotations

from typing import Any, TypeVar

import streamlit as st

from engine.runner.contract import Spec
from pages.shared.jobs import compute_beside
from pages.shared.pin import PARAMETER, encode_spec, pinned_spec

S = TypeVar("S", bound=Spec[Any])


def beside(kind: type[S]) -> tuple[S, Any] | None:
    """The pinned spec of this kind with its result; None where A is of another section or has no result."""
    pinned = pinned_spec(kind)
    # Unknown fields are ignored in decoding, so a spec of another kind may read as the default of this one.
    if pinned is None or encode_spec(pinned) != st.query_params.get(PARAMETER):
        return None
    result = compute_beside(pinned, "A", slot="pinned")
    return None if result is None else (pinned, result)
