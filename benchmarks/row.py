"""One line of the benchmarks' table: what was measured, what came out, and what it should be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """`value` in `unit` against `target`; smaller is better."""

    what: str
    value: float
    target: float
    unit: str
    detail: str = ""

    @property
    def reached(self) -> bool:
        return self.value <= self.target


def table(rows: Sequence[Row]) -> str:
    """The rows as text, aligned, with "ok" or "MISSED" for each."""
    width = max(len(row.what) for row in rows)
    lines = [f"{'benchmark':<{width}}  {'measured':>14}  {'target':>14}  {'':<6}  detail"]
    for row in rows:
        measured, target = f"{row.value:.4g} {row.unit}", f"<= {row.target:.4g} {row.unit}"
        mark = "ok" if row.reached else "MISSED"
        lines.append(f"{row.what:<{width}}  {measured:>14}  {target:>14}  {mark:<6}  {row.detail}")
    return "\n".join(lines)
