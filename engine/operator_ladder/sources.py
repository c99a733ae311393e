"""The source text of an operator: formulas, loops, bindings, CUDA and Python, found by name and by includes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import msgspec

from engine.operators.library import ROOT, SOURCES

Kind = Literal["formula", "loops", "CPU", "CUDA", "Python"]
_INCLUDE = re.compile(r'#(?:include|define ATLAS_\w+) "([\w/.]+)"')
_SHARED = {
    "numeric.h",
    "arguments.h",
    "instruction_set.h",
    "each_instruction_set.h",
    "reduced_precision.h",
    "fresh_output.h",
}
"""What every operator includes; it says nothing of one."""
ORDER: tuple[Kind, ...] = ("formula", "loops", "CPU", "CUDA", "Python")


class Source(msgspec.Struct, frozen=True):
    """One file: what it holds, where it is in the repository, and its text."""

    kind: Kind
    path: str
    text: str

    @property
    def about(self) -> str:
        """What its first comment says it is, to the colon or the full stop; "" when it says only how it is compiled."""
        first = self.text.partition("\n")[0]
        says = first.startswith("// ") and not first.startswith("// Compiled once")
        return re.split(r"[:.;,(]", first.removeprefix("// "))[0].strip() if says else ""

    @property
    def language(self) -> str:
        return "python" if self.kind == "Python" else "cpp"


def sources_of(operator: str) -> tuple[Source, ...]:
    """Every file of an operator in the order one reads them; nothing for an operator without files."""
    own = [
        path for folder in ("cpu", "cuda") for path in sorted((SOURCES / folder).glob("*")) if _named(path, operator)
    ]
    found = dict.fromkeys(path for start in own for path in (start, *_included(start)))
    definition = ROOT / "engine" / "operators" / "definitions" / f"{operator}.py"
    listed = [*found, *([definition] if definition.exists() else [])]
    read = [Source(_kind(path), path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")) for path in listed]
    return tuple(sorted(read, key=lambda source: ORDER.index(source.kind)))


def _named(path: Path, operator: str) -> bool:
    """By its name, or because it binds the operator beside others."""
    name = operator.rstrip("_")
    if not path.is_file():
        return False
    is_its_own = path.stem == name or path.stem.startswith(f"{name}_")
    return is_its_own or f'm.impl("{operator}"' in path.read_text(encoding="utf-8")


def _included(path: Path) -> Iterator[Path]:
    for name in _INCLUDE.findall(path.read_text(encoding="utf-8")):
        target = SOURCES / name
        if target.is_file() and target.name not in _SHARED and not name.startswith("torch/"):
            yield target
            yield from _included(target)


def _kind(path: Path) -> Kind:
    if path.suffix == ".py":
        return "Python"
    folder = path.parent.name
    if folder == "math":
        return "formula"
    return "CUDA" if folder == "cuda" else "loops" if path.suffix == ".h" else "CPU"
