"""Every row of the table, found by looking through this folder."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from tests.operators.case import Case

CASES: tuple[Case, ...] = tuple(
    case
    for path in sorted(Path(__file__).parent.glob("[a-z]*.py"))
    for case in import_module(f"{__name__}.{path.stem}").CASES
)
