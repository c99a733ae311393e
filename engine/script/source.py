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
def class_source(module: str, name: str, package: str = "engine.models") -> SourceText:
    """Class `name` of `module`.py of `package` with the classes, functions and constants it refers to."""
    text = resources.files(package).joinpath(f"{module}.py").read_text(encoding="utf-8")
    tree = ast.parse(text)
    defined = {_name_of(node): node for node in tree.body if _name_of(node)}
    needed = closure({name}, defined)
    kept = [node for node in tree.body if _name_of(node) in needed]
    used = set().union(*(names_in(node) for node in kept))
    lines = text.splitlines()
    return SourceText(
        tuple(entry for node in tree.body for entry in imports_of(node) if (entry[2] or entry[1] or entry[0]) in used),
        tuple(text_of(node, lines) for node in kept),
    )


def _name_of(node: ast.stmt) -> str:
    if isinstance(node, ast.ClassDef | ast.FunctionDef):
        return node.name
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
        return node.targets[0].id
    return ""


def closure(wanted: set[str], defined: dict[str, ast.stmt]) -> set[str]:
    """`wanted` and every name of `defined` that they refer to, directly or through others."""
    needed, waiting = set(), [*wanted]
    while waiting:
        current = waiting.pop()
        if current not in needed:
            needed.add(current)
            waiting += names_in(defined[current]) & defined.keys()
    return needed


def names_in(node: ast.AST) -> set[str]:
    """The names that `node` refers to or assigns."""
    return {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}


def imports_of(node: ast.stmt) -> list[tuple[str, str, str]]:
    """(module, name, alias) of an import statement, name "" for a plain import; nothing of another statement."""
    if isinstance(node, ast.Import):
        return [(alias.name, "", alias.asname or "") for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        return [(node.module or "", alias.name, alias.asname or "") for alias in node.names]
    return []


def text_of(node: ast.stmt, lines: list[str]) -> str:
    """A statement as it is written, with its decorators and without comments meant for linters."""
    decorators = node.decorator_list if isinstance(node, ast.ClassDef | ast.FunctionDef) else []
    first = min([node.lineno, *(decorator.lineno for decorator in decorators)])
    return _TOOL_COMMENT.sub("", "\n".join(lines[first - 1 : node.end_lineno]))
