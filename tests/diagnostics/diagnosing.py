"""Diagnoses made in this process, once per spec, and what is looked up in them."""

from __future__ import annotations

from functools import lru_cache

from engine import run
from engine.diagnostics.results import Birth, Diagnosis, Watched
from engine.diagnostics.spec import DiagnosisSpec, ProgramSpec


@lru_cache(maxsize=256)
def diagnose(spec: DiagnosisSpec | ProgramSpec) -> Diagnosis:
    return run(spec, inline=True)


def program(name: str, mended: bool = False) -> Diagnosis:
    return diagnose(ProgramSpec(program=name, mended=mended))


def tensor(diagnosis: Diagnosis, name: str) -> Watched:
    return next(one for one in diagnosis.watched if one.name == name)


def deciding(one: Watched) -> str:
    """Question and answer that ended a trace, with its evidence."""
    step = next(step for step in one.steps if step.decides)
    return f"{step.question} {step.answer}: {step.evidence}"


def origin(diagnosis: Diagnosis) -> Birth:
    assert diagnosis.origin is not None
    return diagnosis.births[diagnosis.origin]
