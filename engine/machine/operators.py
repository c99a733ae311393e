"""Whether the compiled operators are there: read from the checkout, not assumed."""

from __future__ import annotations

from pathlib import Path

from engine.machine.spec import Capability

SOURCES = Path(__file__).parents[2] / "csrc"


def find_operators(sources: Path = SOURCES) -> Capability:
    """The state of csrc/: no sources, or sources that nothing has built yet."""
    found = sorted(sources.rglob("*.c[pu]*"))
    if not found:
        return Capability(name="compiled operators", available=False, detail="this checkout has no compiled operators")
    detail = f"{len(found)} source files in {sources.name}/, not built"
    return Capability(name="compiled operators", available=False, detail=detail)
