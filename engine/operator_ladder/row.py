"""How a row of the ladder's catalogue is written: sizes, ways, and costs by formula; no torch import."""

from __future__ import annotations

from typing import Literal

import msgspec

from engine.operator_ladder.formulas import operations_in

LadderDtype = Literal["float32", "float64", "bfloat16", "float16"]
Work = Literal["forward", "forward + backward"]
FLOATING: tuple[LadderDtype, ...] = ("float32", "float64", "bfloat16", "float16")

COMPOSED, BUILT_IN, INDUCTOR = "composed", "built-in", "torch.compile"
ATLAS: dict[str, str] = {"atlas baseline set": "baseline", "atlas avx2": "avx2", "atlas avx512": "avx512"}
"""Rung of the compiled operator -> the instruction set its loops are run in; the first any processor has."""

PYTORCH = (COMPOSED, BUILT_IN, INDUCTOR, "foreach", "row loop")
"""Rungs that need PyTorch alone: what a compiled operator has to beat."""

OPTIMIZER = "atlas optimizer"
"""Rung of the optimizer class over a compiled step."""
NEEDS_LIBRARY = "atlas"
"""How the names of rungs begin that run compiled operators."""


class Way(msgspec.Struct, frozen=True):
    """One rung: its name, how one writes it, and the function of the operator's `ways` module it runs."""

    rung: str
    code: str
    function: str
    is_slow: bool = False
    """Tried on a sixteenth of the rows first, and left out where a call would take too long."""
    has_own_mask: bool = False
    """Its random numbers are others than the reference's, so their results are not compared."""

    @property
    def needs_library(self) -> bool:
        """Whether it is timed only where the operators are compiled."""
        return self.rung.startswith(NEEDS_LIBRARY)


class Cost(msgspec.Struct, frozen=True):
    """Least bytes moved by formula, and the statements done once per so many elements.

    `moved` is a sum of products of rows, columns, inner and item: every input read once, every result written once.
    `work` pairs such a product with Python statements, whose operations are counted.
    """

    moved: str
    work: tuple[tuple[str, str], ...]

    @property
    def flops_formula(self) -> str:
        """As in "7 * rows * columns + 3 * rows"."""
        return " + ".join(f"{operations_in(statements)} * {elements}" for elements, statements in self.work)


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
    lesson: str = ""
    """What to know of it before its verdicts are read."""

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
