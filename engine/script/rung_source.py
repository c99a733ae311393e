"""The source text of the ladder's rungs, each cut out of its file; nothing of it is imported."""

from __future__ import annotations

import ast
from functools import cache
from importlib import resources


def rung_source(problem: str, rung: str) -> str | None:
    """The function that computes `problem` on `rung`, as it is run; None where it is not written that way.

    torch.compile is given the broadcast form.
    """
    written = "broadcast" if rung == "torch.compile" else rung
    return _functions().get(f"{problem}_{written.replace(' ', '_')}")


@cache
def _functions() -> dict[str, str]:
    text = resources.files("engine.vectorisation").joinpath("problems.py").read_text(encoding="utf-8")
    nodes = [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]
    return {node.name: ast.get_source_segment(text, node) or "" for node in nodes}
