"""The operators of the ladder: one row each, without torch.

To add one: a module of its name in `ways` (inputs, and a function for every way), and a row here.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from engine.operators import operator_names

LadderDtype = Literal["float32", "float64", "bfloat16", "float16"]
Work = Literal["forward", "forward + backward"]
FLOATING: tuple[LadderDtype, ...] = ("float32", "float64", "bfloat16", "float16")

COMPOSED, BUILT_IN, INDUCTOR = "composed", "built-in", "torch.compile"
ATLAS: dict[str, str] = {f"atlas {name}": name for name in ("baseline", "avx2", "avx512")}
"""Rung of the compiled operator -> the instruction set its loops are run in."""


class Way(msgspec.Struct, frozen=True):
    """One rung: its name, how one writes it, and the function of the operator's `ways` module it runs."""

    rung: str
    code: str
    function: str
    is_slow: bool = False
    """Tried on a sixteenth of the rows first, and left out where a call would take too long."""


class Cost(msgspec.Struct, frozen=True):
    """Least bytes moved and operations on numbers by formula: sums of products of rows, columns, inner and item.

    Least bytes read every input once and write every result once. Every +, -, *, /, square root and exponential
    counts as one operation.
    """

    bytes_formula: str
    flops_formula: str


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One operator: what it computes, its sizes, the ways to compute it, and what it costs at least.

    `sizes` says in words what rows, columns and inner are ("" where it has none), `default` their first values.
    `reference` is the function of `ways` that gives the float64 result. `backward` is None where nothing is
    differentiated.
    """

    operator: str
    title: str
    computes: str
    ways: tuple[Way, ...]
    forward: Cost
    backward: Cost | None
    sizes: tuple[str, str, str] = ("rows", "columns", "")
    default: tuple[int, int, int] = (1024, 1024, 1)
    reference: str = "built_in"
    dtypes: tuple[LadderDtype, ...] = FLOATING
    is_step: bool = False
    """An optimizer step over lists of tensors, in place: a way makes the callable that does one step."""
    compiled_from: str = COMPOSED
    """The rung that torch.compile is given."""

    @property
    def rungs(self) -> tuple[str, ...]:
        """Every rung in order: what needs no compiler of its own, then the compiled operator."""
        return tuple(way.rung for way in self.ways)

    @property
    def way_function(self) -> str:
        """The function that calls the compiled operator at its best."""
        return self.way(next(iter(ATLAS))).function

    def way(self, rung: str) -> Way:
        return next(way for way in self.ways if way.rung == rung)


def atlas_ways(code: str, function: str = "atlas") -> tuple[Way, ...]:
    """The compiled operator once per instruction set."""
    return tuple(Way(rung, code, function) for rung in ATLAS)


_ROWS = (
    Row(
        operator="gelu_tanh",
        title="GELU, tanh form",
        computes="0.5 x (1 + tanh(√(2/π) (x + 0.044715 x³)))",
        ways=(
            Way(COMPOSED, "0.5 * x * (1 + torch.tanh(c * (x + 0.044715 * x**3)))", "composed"),
            Way(BUILT_IN, 'F.gelu(x, approximate="tanh")', "built_in"),
            *atlas_ways("gelu_tanh(x)"),
        ),
        forward=Cost("2 * rows * columns * item", "9 * rows * columns"),
        backward=Cost("3 * rows * columns * item", "17 * rows * columns"),
    ),
)

CATALOGUE: dict[str, Row] = {row.operator: row for row in _ROWS}


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
