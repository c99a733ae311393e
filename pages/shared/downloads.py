"""The files that a page saves; what every page offers is made here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec

from engine.runner.contract import Spec
from engine.script import script_for


@dataclass(frozen=True)
class Download:
    """One export: what the button says, the file it saves, and the function that makes it when clicked."""

    label: str
    file_name: str
    mime: str
    content: Callable[[], str | bytes]


def spec_downloads(spec: Spec[Any], name: str) -> tuple[Download, ...]:
    """The settings and the script that computes them in plain torch."""
    return (
        Download("Settings (JSON)", "spec.json", "application/json", lambda: as_json(spec)),
        Download("Script (Python)", f"{name}.py", "text/x-python", lambda: script_for(spec)),
    )


def as_json(value: msgspec.Struct) -> str:
    """A spec or a result with its field names, indented."""
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
