"""`python -m benchmarks [name ...]`: run every benchmark of this folder, or those named, and print one table."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from benchmarks.row import table


def benchmark_names() -> list[str]:
    """Modules of this folder that have a `measure() -> list[Row]`."""
    here = Path(__file__).parent
    return sorted(path.stem for path in here.glob("*.py") if "\ndef measure(" in path.read_text(encoding="utf-8"))


def main(names: Sequence[str]) -> int:
    """Exit status 1 when a target was missed."""
    rows = []
    for name in names or benchmark_names():
        print(f"{name} ...", file=sys.stderr, flush=True)
        rows += import_module(f"benchmarks.{name}").measure()
    print(table(rows))
    return int(not all(row.reached for row in rows))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
