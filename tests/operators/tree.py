"""Copies of the project to build in, so that a test can break its sources."""

from __future__ import annotations

import shutil
from pathlib import Path

from engine.operators.library import ROOT

SMALL = ("arguments.h", "arguments.cpp", "cpu/arguments.h", "cpu/instruction_set.h", "cpu/instruction_set.cpp")


def copy_project(target: Path, *folders: str) -> Path:
    for folder in folders:
        shutil.copytree(ROOT / folder, target / folder, ignore=shutil.ignore_patterns("__pycache__"))
    if (target / "tests").exists():
        for package in ("tests", "tests/operators"):
            (target / package / "__init__.py").touch()
    return target


def copy_small(target: Path) -> Path:
    """The project with the two source files every operator needs and one operator: a build of seconds."""
    copy_project(target, "engine")
    for name in SMALL:
        (target / "csrc" / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / "csrc" / name, target / "csrc" / name)
    text = (ROOT / "csrc" / "operators.cpp").read_text(encoding="utf-8")
    kept = [line for line in text.splitlines() if "m.def(" not in line or "instruction_set" in line]
    (target / "csrc" / "operators.cpp").write_text("\n".join(kept) + "\n", encoding="utf-8")
    return target
