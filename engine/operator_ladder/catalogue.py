"""The operators of the ladder without torch: how a row is written, and all of them.

To add one: a module of its name in `ways` (inputs, and a function for every way), and a row in `rows`.
"""

from __future__ import annotations

from engine.operator_ladder.row import ATLAS, BUILT_IN, COMPOSED, INDUCTOR, Row
from engine.operator_ladder.rows import ROWS
from engine.operators import operator_names

CATALOGUE: dict[str, Row] = {row.operator: row for row in ROWS}


def offered() -> tuple[str, ...]:
    """The operators that csrc has now and the ladder has a row of, in the order of csrc."""
    return tuple(name for name in operator_names() if name in CATALOGUE)


def colour_order(row: Row) -> tuple[str, ...]:
    """A rung's place here is its colour and symbol in every picture: alike over operators, distinct within one."""
    places = [COMPOSED, BUILT_IN, INDUCTOR, "", *ATLAS, ""]
    others = [rung for rung in row.rungs if rung not in places]
    free = [number for number, rung in enumerate(places) if not rung or rung not in (*row.rungs, INDUCTOR)]
    for number, rung in zip(free, others, strict=False):
        places[number] = rung
    return tuple(places)
