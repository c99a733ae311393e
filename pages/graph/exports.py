"""The files this page saves: picture, data and report."""

from __future__ import annotations

import msgspec

from engine.graph.spec import GraphSpec, Traced
from engine.script import script_for
from pages.shared.frame import Download


def downloads(spec: GraphSpec, traced: Traced, pinned: GraphSpec | None) -> tuple[Download, ...]:
    """SVG and HTML of the picture as it is folded now; DOT, JSON and CSV of every node; the spec and the script."""
    return (
        Download("Spec (JSON)", "spec.json", "application/json", lambda: msgspec.json.encode(spec)),
        Download("Script (Python)", "graph.py", "text/x-python", lambda: script_for(spec)),
    )
