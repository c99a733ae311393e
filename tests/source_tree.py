"""The project's own source files and what they import, read by ast: what the architecture tests judge."""

from __future__ import annotations

import ast
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PRODUCT = ("engine", "pages", "benchmarks")
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True)
class Import:
    """One import statement: every module it names, and whether it runs when the file is imported."""

    modules: tuple[str, ...]
    line: int
    at_import: bool

    def touches(self, *prefixes: str) -> bool:
        return any(module == p or module.startswith(p + ".") for module in self.modules for p in prefixes)


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@cache
def product_files() -> tuple[Path, ...]:
    """app.py and every Python file of the product's folders."""
    found = [ROOT / "app.py"]
    for folder in PRODUCT:
        found += sorted((ROOT / folder).rglob("*.py"))
    return tuple(path for path in found if path.exists())


@cache
def project_files() -> tuple[Path, ...]:
    """Every text file that belongs to the project: tracked, or new and not ignored."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    ).stdout.decode()
    paths = [ROOT / name for name in listed.split("\0") if name]
    return tuple(path for path in paths if path.is_file() and path.suffix not in {".png", ".svgz", ".ico"})


@cache
def parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def imports(path: Path) -> tuple[Import, ...]:
    """Imports at any depth, those under TYPE_CHECKING left out."""
    return tuple(_walk_imports(parse(path), path, at_import=True))


def _walk_imports(node: ast.AST, path: Path, at_import: bool) -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            for other in child.orelse:
                yield from _walk_imports(other, path, at_import)
        elif isinstance(child, ast.Import):
            yield Import(tuple(alias.name for alias in child.names), child.lineno, at_import)
        elif isinstance(child, ast.ImportFrom):
            base = _base_of(child, path)
            names = tuple(f"{base}.{alias.name}" for alias in child.names)
            yield Import((base, *names), child.lineno, at_import)
        else:
            yield from _walk_imports(child, path, at_import and not isinstance(child, DEFINITIONS))


def _base_of(node: ast.ImportFrom, path: Path) -> str:
    if not node.level:
        return node.module or ""
    package = path.relative_to(ROOT).parent.parts
    package = package[: len(package) - node.level + 1]
    return ".".join((*package, node.module) if node.module else package)


@cache
def file_of(module: str) -> Path | None:
    """The project's file for a dotted module name, or None for anything outside it."""
    base = ROOT.joinpath(*module.split("."))
    for candidate in (base.with_suffix(".py"), base / "__init__.py"):
        if module and candidate.is_file():
            return candidate
    return None


def loaded_by(path: Path) -> frozenset[Path]:
    """Project files that importing `path` runs, `path` itself and packages on the way included."""
    seen: set[Path] = set()
    waiting = [path]
    while waiting:
        current = waiting.pop()
        if current in seen:
            continue
        seen.add(current)
        waiting += _packages_of(current)
        modules = {module for found in imports(current) if found.at_import for module in found.modules}
        waiting += [found for module in modules if (found := file_of(module)) is not None]
    return frozenset(seen)


def _packages_of(path: Path) -> list[Path]:
    parents = [parent / "__init__.py" for parent in path.parents if parent != ROOT and parent.is_relative_to(ROOT)]
    return [parent for parent in parents if parent.is_file()]


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(parse(path)):
        if isinstance(node, DEFINITIONS):
            yield node
