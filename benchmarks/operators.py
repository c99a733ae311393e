"""The compiled operators against what PyTorch offers, with what bounds them on this machine.

`python -m benchmarks operators` runs everything but torch.compile, which needs up to a minute to compile;
`python -m benchmarks.operators --compile` adds it, `--threads 1` and names of operators leave the rest out.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from benchmarks.row import Row, table
from engine.machine.experiment import inspect_machine
from engine.machine.spec import MachineSpec
from engine.operator_ladder.catalogue import CATALOGUE
from engine.operator_ladder.formulas import ITEM_BYTES, value_of
from engine.operator_ladder.problem import Problem, build
from engine.operator_ladder.results import Roofline
from engine.operator_ladder.roofline import measure_roofline
from engine.operator_ladder.row import ATLAS, BUILT_IN, COMPOSED, INDUCTOR, OPTIMIZER, Work
from engine.operator_ladder.spec import RooflineSpec
from engine.operators import operator_names
from engine.operators.load import load
from engine.timing import compare
from engine.timing.comparison import Comparison
from engine.timing.compiled import compile_function

OURS = "atlas"
FUNCTION = "torch.optim's own function"
"""Of an optimizer's step over lists, without the class around it; no rung, as the ladder shows whole steps."""
ROUNDS = 15
BUDGET_S = 12.0
"""Wall seconds for the rounds of one operator at one size."""


@dataclass(frozen=True)
class Target:
    """`operator` at `sizes` (rows, columns, inner): how many times faster than each rung `ours` should be."""

    operator: str
    sizes: tuple[int, int, int]
    least: dict[str, float]
    work: Work = "forward + backward"
    ours: str = next(iter(ATLAS))

    def __str__(self) -> str:
        which = f" ({OPTIMIZER})" if self.ours == OPTIMIZER else ""
        return f"{self.operator}{which} {' x '.join(str(size) for size in self.sizes if size > 1)}"


def _steps(operator: str, optimizer: dict[str, float]) -> Iterator[Target]:
    """A whole optimizer's step against one, the bare functions apart; over many small tensors and a few large ones."""
    for sizes, few in (((300, 1000, 1), False), ((300, 4096, 1), False), ((4, 4_000_000, 1), True)):
        yield Target(operator, sizes, dict.fromkeys(optimizer, 0.95) if few else optimizer, "forward", OPTIMIZER)
        yield Target(operator, sizes, {FUNCTION: 0.95 if few else 1.0}, "forward")


GELU = {BUILT_IN: 2.2, COMPOSED: 6.0, INDUCTOR: 2.2}
TARGETS = (
    Target("gelu_tanh", (1024, 1024, 1), GELU),
    Target("gelu_tanh", (4000, 4000, 1), GELU),
    Target("bias_gelu_dropout_residual", (4096, 1024, 1), {COMPOSED: 4.5}),
    Target("geglu", (4096, 512, 1), {COMPOSED: 2.8}),
    Target("cross_entropy", (1024, 32000, 1), {BUILT_IN: 3.0}),
    Target("layer_norm_residual", (4096, 1024, 1), {BUILT_IN: 1.2}),
    Target("gemm", (1024, 256, 512), {BUILT_IN: 0.9}, "forward"),
    Target("gemm", (2048, 2048, 2048), {BUILT_IN: 0.85}, "forward"),
    *_steps("adamw_step_", {BUILT_IN: 4.0}),
    *_steps("sgd_step_", {"foreach": 4.0}),
)


def measure(*, names: Sequence[str] = (), threads: Sequence[int] = (1, 2), compiled: bool = False) -> list[Row]:
    """One row per target and number of threads; speedups are medians of paired ratios over interleaved rounds."""
    if not load().compiled:
        print(f"operators: {load().reason}", file=sys.stderr)
        return []
    _tell(machine())
    rows = []
    for target in TARGETS:
        if names and target.operator not in names:
            continue
        if target.operator not in operator_names() or target.operator not in CATALOGUE:
            _tell(f"{target.operator}: not there yet")
            continue
        for count in threads:
            _tell(f"{target}, {_threads(count)}")
            rows += _rows(target, count, compiled)
    return rows


def machine() -> str:
    """Where the figures were measured."""
    found = inspect_machine(MachineSpec(), lambda stage, fraction: None)
    return f"{found.cpu}, {found.cores} cores, torch {found.torch_version}; {found.operators.detail}"


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _rows(target: Target, threads: int, compiled: bool) -> Iterator[Row]:
    problem = build(CATALOGUE[target.operator], target.sizes, "float32", target.work, 0)
    rungs = [rung for rung in target.least if rung != INDUCTOR or compiled]
    functions = {OURS: problem.function(problem.row.way(target.ours).function)}
    functions |= {rung: _function(problem, rung) for rung in rungs}
    works = {name: problem.prepare(function).work for name, function in functions.items()}
    comparison = compare(works, rounds=ROUNDS, threads=threads, warm_up_rounds=2, budget_s=BUDGET_S)
    reached = _reached(target, comparison, threads)
    for ratio in comparison.ratios:
        detail = f"95 % band {ratio.low:.2f} to {ratio.high:.2f}, {comparison.clock} time; {reached}"
        what = f"{target}, {_threads(threads)}: faster than {ratio.name}"
        yield Row(what, ratio.ratio, target.least[ratio.name], "x", detail, at_least=True)


def _threads(count: int) -> str:
    return "1 thread" if count == 1 else f"{count} threads"


def _function(problem: Problem, rung: str) -> object:
    """What a rung runs; for torch.compile, compiled now from the composed formula."""
    row = problem.row
    if rung == FUNCTION:
        return problem.function("function")
    if rung == INDUCTOR:
        return compile_function(problem.function(row.way(row.compiled_from).function))
    return problem.function(row.way(rung).function)


def _reached(target: Target, comparison: Comparison, threads: int) -> str:
    """Time, rate, and the share of the nearest limit: the least time that bytes or operations need here."""
    row, (rows, columns, inner) = CATALOGUE[target.operator], target.sizes
    sizes = {"rows": rows, "columns": columns, "inner": inner, "item": ITEM_BYTES["float32"]}
    costs = [row.forward] + ([row.backward] if row.backward and target.work != "forward" else [])
    moved = sum(value_of(cost.moved, sizes) for cost in costs)
    flops = sum(value_of(cost.flops_formula, sizes) for cost in costs)
    limits, taken_s = roofline(threads), comparison.seconds_of(OURS)
    by_bytes, by_flops = limits.bandwidth(moved), limits.peak
    bytes_s, flops_s = moved / by_bytes.per_s, flops / by_flops.per_s
    if bytes_s >= flops_s:
        rate, least_s, limit = f"{moved / taken_s / 1e9:.1f} GB/s", bytes_s, by_bytes
        bound = f"{limit.per_s / 1e9:.1f} GB/s ({limit.name})"
    else:
        rate, least_s, limit = f"{flops / taken_s / 1e9:.1f} GFLOP/s", flops_s, by_flops
        bound = f"{limit.per_s / 1e9:.1f} GFLOP/s ({limit.name})"
    return f"{1e3 * taken_s:.3g} ms, {rate}, {least_s / taken_s:.0%} of {bound}"


@cache
def roofline(threads: int) -> Roofline:
    """What this machine can move and compute, measured once per number of threads."""
    _tell(f"limits of this machine, {_threads(threads)}")
    return measure_roofline(RooflineSpec(threads=threads), lambda stage, fraction: None)


def main(arguments: Sequence[str]) -> int:
    """Exit status 1 when a target was missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.operators")
    parser.add_argument("names", nargs="*", help="operators; all when none is named")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--compile", action="store_true", help="also against torch.compile")
    asked = parser.parse_args(arguments)
    rows = measure(names=asked.names, threads=asked.threads, compiled=asked.compile)
    if rows:
        print(f"{machine()}\n{table(rows)}")
    return int(not rows or not all(row.reached for row in rows))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
