"""trace_program, compare_programs, compare_updates: run them and read what PyTorch recorded."""

from __future__ import annotations

from engine.in_place.families import FAMILIES
from engine.in_place.fixes import find_fix
from engine.in_place.results import Outcome, ProgramRun
from engine.in_place.spec import Family, FamilySpec, ProgramSpec, Traced, UpdateSpec
from engine.in_place.trace import run_program
from engine.in_place.updates import compare_updates
from engine.runner.contract import Price, ProgressSink

__all__ = ["compare_programs", "compare_updates", "price", "trace_program"]

COPIES = 8
"""Of all parameters alive at once, as gradients, new values and those of other forms: an upper bound."""


def price(spec: ProgramSpec | FamilySpec | UpdateSpec) -> Price | None:
    """Of updates: what parameters and gradients need; programs are limited by their grammar."""
    if not isinstance(spec, UpdateSpec):
        return None
    itemsize = {"float32": 4, "float64": 8, "bfloat16": 2}[spec.dtype]
    return Price(
        predicted_bytes=COPIES * spec.tensors * spec.width**2 * itemsize,
        what=f"{spec.tensors} parameters of {spec.width} x {spec.width}",
        remedy="Take fewer parameters or a smaller width: the counts per parameter stay the same.",
    )


def trace_program(spec: ProgramSpec, progress: ProgressSink) -> Traced:
    """Run the program, then look for the corrected one."""
    progress("running the program", 0.0)
    run = run_program(spec.program, spec.seed)
    progress("looking for a correction", 0.5)
    return Traced(run=run, fix=find_fix(spec.program, spec.seed, run))


def compare_programs(spec: FamilySpec, progress: ProgressSink) -> Family:
    """Run every program of a family."""
    family = FAMILIES[spec.name]
    outcomes = []
    for place, member in enumerate(family.members):
        progress(member.title, place / len(family.members))
        outcomes.append(_outcome(run_program(member.program, 0, with_graphs=False), family.told))
    return Family(outcomes=tuple(outcomes))


def _outcome(run: ProgramRun, told: tuple[str, ...]) -> Outcome:
    end = run.steps[-1]
    names = {node.number: node.name for node in run.nodes}
    return Outcome(
        verdict=run.verdict,
        line=end.line if run.error is not None else 0,
        error=run.error or run.probe,
        states=tuple(state for state in end.tensors if state.name in told),
        gradients=tuple((one.name, one.grad) for one in end.tensors if one.is_leaf and one.grad is not None),
        culprits=tuple(f"{names[slot.node]}.{slot.slot}" for slot in run.culprits),
    )
