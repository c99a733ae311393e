"""One line of the benchmarks' table: what was measured, what came out, and what it should be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """`value` in `unit` against `target`, or without one; smaller is better unless `at_least`."""

    what: str
    value: float
    target: float | None
    unit: str
    detail: str = ""
    at_least: bool = False

    @property
    def reached(self) -> bool:
        return self.target is None or (self.value >= self.target if self.at_least else self.value <= self.target)


def table(rows: Sequence[Row]) -> str:
    """The rows as text, aligned, with "ok" or "MISSED" for each."""
    width = max(len(row.what) for row in rows)
    lines = [f"{'benchmark':<{width}}  {'measured':>14}  {'target':>14}  {'':<6}  detail"]
    for row in rows:
        measured = f"{row.value:.4g} {row.unit}"
        target = "" if row.target is None else f"{'>=' if row.at_least else '<='} {row.target:.4g} {row.unit}"
        mark = "" if row.target is None else "ok" if row.reached else "MISSED"
        lines.append(f"{row.what:<{width}}  {measured:>14}  {target:>14}  {mark:<6}  {row.detail}")
    return "\n".join(lines)
