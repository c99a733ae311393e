"""A on a page whose sections ask different things: only an A of the same section is compared with."""

from __future__ import annotations

from typing import Any, TypeVar

from engine.runner.contract import Spec
from pages.shared.jobs import compute_beside
from pages.shared.pin import pinned_spec

S = TypeVar("S", bound=Spec[Any])


def beside(kind: type[S]) -> tuple[S, Any] | None:
    """The pinned spec of this kind with its result; None where A is of another section or has no result."""
    pinned = pinned_spec(kind)
    result = compute_beside(pinned, "A", slot="pinned") if pinned is not None else None
    return None if pinned is None or result is None else (pinned, result)
