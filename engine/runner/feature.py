"""Feature: one protection of a worker process, as reported on the machine's status."""

from __future__ import annotations

from typing import NamedTuple


class Feature(NamedTuple):
    """In force or not, and in words what it does or why it is missing."""

    name: str
    applied: bool
    detail: str
