"""The functions that measure a claim, cut out of their module with everything of the project they use."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import resources

from engine.script.source import closure, imports_of, names_in, text_of

ENTRIES = ("unavailable", "counts", "calls", "pairs", "notes")
Imports = set[tuple[str, str, str]]
PUBLIC = {("engine.recorded", "DispatchMode"): ("torch.utils._python_dispatch", "TorchDispatchMode", "DispatchMode")}
"""Names of the project's adapter to PyTorch, as PyTorch calls them."""


@dataclass
class Cut:
    """`definitions` in the order they are needed; `arguments` of every entry function that the module has."""

    imports: Imports = field(default_factory=set)
    definitions: list[str] = field(default_factory=list)
    arguments: dict[str, tuple[str, ...]] = field(default_factory=dict)


@lru_cache
def cut_out(module: str) -> Cut:
    """Every entry function of `module` with what it refers to, there and in the modules of engine it imports from."""
    cut, tree = Cut(), _parsed(module)[0]
    defined = {name for node in tree.body for name in _names_of(node)}
    entries = [name for name in ENTRIES if name in defined]
    _add(module, set(entries), cut, set())
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name in entries:
            cut.arguments[node.name] = tuple(argument.arg for argument in node.args.args)
    return cut


def _add(module: str, wanted: set[str], cut: Cut, seen: set[tuple[str, str]]) -> None:
    tree, lines = _parsed(module)
    defined = {name: node for node in tree.body for name in _names_of(node)}
    needed = closure(wanted & defined.keys(), defined)
    used = set().union(*(names_in(defined[name]) for name in needed), wanted)
    for node in tree.body:
        for source, name, alias in imports_of(node):
            if (alias or name or source.split(".")[0]) not in used or source == "__future__":
                continue
            if source.split(".")[:2] == ["engine", "operators"]:
                cut.imports.add((source, name, alias))
            elif (source, name) in PUBLIC:
                cut.imports.add(PUBLIC[source, name])
            elif source.startswith("engine."):
                _add(source, {name}, cut, seen)
            else:
                cut.imports.add((source, name, alias))
    for node in dict.fromkeys(defined[name] for name in defined if name in needed):
        place = (module, str(node.lineno))
        if place not in seen:
            seen.add(place)
            cut.definitions.append(text_of(node, lines))


@lru_cache
def _parsed(module: str) -> tuple[ast.Module, list[str]]:
    package, _, name = module.rpartition(".")
    text = resources.files(package).joinpath(f"{name}.py").read_text(encoding="utf-8")
    return ast.parse(text), text.splitlines()


def _names_of(node: ast.stmt) -> list[str]:
    """What a statement of a module defines; of a `with`, what its body does."""
    if isinstance(node, ast.ClassDef | ast.FunctionDef):
        return [node.name]
    if isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return [inner.id for target in targets for inner in ast.walk(target) if isinstance(inner, ast.Name)]
    return [name for inner in node.body for name in _names_of(inner)] if isinstance(node, ast.With) else []
