"""Controls that the link holds: how each writes its values there, and why it cannot take another."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import streamlit as st

BOUND = "link.bound"
"""Key -> `Bound` of the controls drawn since the page was opened."""
READ = "link.read"
"""Names of parameters that a page reads itself."""
MOST_NAMED = 8


@dataclass(frozen=True)
class Bound:
    """One control: its values as the link has them, why no other, and why what is not `default` is left out."""

    named: Callable[[Any], str]
    why: Callable[[str], str]
    left_out: str = ""
    default: Any = None


def bind(
    key: str,
    *,
    named: Callable[[Any], str] = str,
    why: Callable[[str], str] = lambda _: "not one of its values here",
    left_out: str = "",
    default: Any = None,
) -> dict[str, Any]:
    """What a widget gets that is kept in the link and over page switches; the rest is said of a link, as in `Bound`."""
    bound_controls()[key] = Bound(named, why, left_out, default)
    return {"key": key, "bind": "query-params", "persist_state": "session"}


def bound_controls() -> dict[str, Bound]:
    """By key, the controls drawn since the page was opened."""
    drawn: dict[str, Bound] = st.session_state.setdefault(BOUND, {})
    return drawn


def read_parameter(name: str) -> str:
    """A parameter that no control owns, "" where the link has none."""
    st.session_state.setdefault(READ, set()).add(name)
    return str(st.query_params.get(name, ""))


def none_but(offered: Iterable[Any]) -> Callable[[str], str]:
    """Why a list does not take a value: what it offers."""
    names = [f"`{name}`" for name in offered]
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    words = f"offered are {', '.join(names[:MOST_NAMED])}{more}"
    return lambda _: words


def within(low: float | None, high: float | None, *, whole: bool) -> Callable[[str], str]:
    """Why a number is not taken: the range."""
    ends = [f" from {low:,.15g}"] if low is not None else []
    ends += [f" to {high:,.15g}"] if high is not None else []
    words = f"it takes a {'whole ' if whole else ''}number{''.join(ends)}"
    return lambda _: words
