"""The files that a page saves; what every page offers is made here."""

from __future__ import annotations

import math
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
    """A spec or a result with its field names, indented; nan and inf, which JSON has not, as texts float() reads."""
    return msgspec.json.format(msgspec.json.encode(_spelled(msgspec.to_builtins(value))), indent=2).decode()


def _spelled(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, dict):
        return {name: _spelled(part) for name, part in value.items()}
    return [_spelled(part) for part in value] if isinstance(value, (list, tuple)) else value
