"""The text of a model, cut out of its file: the class asked for and what it needs of the same file."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources

_TOOL_COMMENT = re.compile(r"  # (type: ignore|noqa).*$", re.MULTILINE)


@dataclass(frozen=True)
class SourceText:
    """`imports` are (module, name, alias) with name "" for a plain import; `definitions` in the order of the file."""

    imports: tuple[tuple[str, str, str], ...]
    definitions: tuple[str, ...]


@lru_cache
def class_source(module: str, name: str) -> SourceText:
    """Class `name` of engine/models/`module`.py with the classes, functions and constants it refers to."""
    text = resources.files("engine.models").joinpath(f"{module}.py").read_text(encoding="utf-8")
    tree = ast.parse(text)
    defined = {_name_of(node): node for node in tree.body if _name_of(node)}
    needed = _closure(name, defined)
    kept = [node for node in tree.body if _name_of(node) in needed]
    used = set().union(*(_names_in(node) for node in kept))
    lines = text.splitlines()
    return SourceText(
        tuple(entry for node in tree.body for entry in _imports_of(node) if (entry[2] or entry[1] or entry[0]) in used),
        tuple(_TOOL_COMMENT.sub("", _text_of(node, lines)) for node in kept),
    )


def _name_of(node: ast.stmt) -> str:
    if isinstance(node, ast.ClassDef | ast.FunctionDef):
        return node.name
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
        return node.targets[0].id
    return ""


def _closure(name: str, defined: dict[str, ast.stmt]) -> set[str]:
    needed, waiting = set(), [name]
    while waiting:
        current = waiting.pop()
        if current not in needed:
            needed.add(current)
            waiting += _names_in(defined[current]) & defined.keys()
    return needed


def _names_in(node: ast.AST) -> set[str]:
    return {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}


def _imports_of(node: ast.stmt) -> list[tuple[str, str, str]]:
    if isinstance(node, ast.Import):
        return [(alias.name, "", alias.asname or "") for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        return [(node.module or "", alias.name, alias.asname or "") for alias in node.names]
    return []


def _text_of(node: ast.stmt, lines: list[str]) -> str:
    decorators = node.decorator_list if isinstance(node, ast.ClassDef | ast.FunctionDef) else []
    first = min([node.lineno, *(decorator.lineno for decorator in decorators)])
    return "\n".join(lines[first - 1 : node.end_lineno])
