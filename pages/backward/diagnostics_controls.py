"""The controls of the diagnostics page: a model with a fault in it, or one of the broken programs."""

from __future__ import annotations

from typing import get_args

import streamlit as st

from engine.diagnostics.catalogue import PROGRAMS
from engine.diagnostics.spec import OF_WEIGHTS, After, DiagnosisSpec, Fault, ProgramSpec
from engine.models.shape import parameter_groups
from pages.shared.bound import none_but
from pages.shared.choice import draw_choice
from pages.shared.fields import common_arguments, draw_field, field_value
from pages.shared.model_controls import current_architecture, current_model, draw_model_controls

SUBJECT = "diagnose.subject"
SUBJECTS = ("A model", "A broken program")
PROGRAM, MENDED = "diagnose.program", "diagnose.mended"
GROUP = "diagnose.group"
TENSOR = "diagnose.tensor"
WHOLE = "the whole model"
TITLES = {program.title: name for name, program in PROGRAMS.items()}

AnySpec = DiagnosisSpec | ProgramSpec


def draw_subject() -> str:
    """Whether a model or a small program is looked at."""
    return draw_choice("Subject", SUBJECTS, SUBJECT)


def draw_controls(subject: str) -> None:
    """The settings of one subject."""
    if subject == SUBJECTS[1]:
        _draw_program()
    else:
        _draw_fault()
        draw_model_controls()


def _draw_program() -> None:
    st.selectbox("program", list(TITLES), **common_arguments(PROGRAM, "Each is run as it stands", why=none_but(TITLES)))
    fix = PROGRAMS[_program()].fix
    st.toggle("mended", disabled=not fix, **common_arguments(MENDED, fix or "Nothing in it is to be mended"))
    if fix:
        st.caption(f"What mends it: {fix}.")


def _program() -> str:
    return TITLES.get(str(st.session_state.get(PROGRAM)), next(iter(PROGRAMS)))


def _draw_fault() -> None:
    draw_field(Fault, "kind", "diagnose.kind", label="fault put in on purpose")
    kind = field_value(Fault, "kind", "diagnose.kind")
    if kind.startswith("scale"):
        draw_field(Fault, "exponent", "diagnose.exponent", label="times 10 to the power of")
    if kind in OF_WEIGHTS:
        st.selectbox("where", [WHOLE, *_groups()], **common_arguments(GROUP, "Parameter group the fault is put into"))
    with st.expander("Around backward", key="diagnose.around"):
        draw_field(DiagnosisSpec, "retain_grad", "diagnose.retain_grad", label="retain_grad() on module outputs")
        draw_field(DiagnosisSpec, "example_hooks", "diagnose.example_hooks", label="register a hook of every kind")
        draw_field(DiagnosisSpec, "after", "diagnose.after", label="after backward")


def _groups() -> tuple[str, ...]:
    try:
        return parameter_groups(current_architecture())
    except ValueError:
        return ()


def current_spec(subject: str) -> AnySpec:
    """What the controls describe; ValueError in words where they contradict each other."""
    if subject == SUBJECTS[1]:
        return ProgramSpec(program=_program(), mended=bool(st.session_state.get(MENDED)))  # type: ignore[arg-type]
    after: After = field_value(DiagnosisSpec, "after", "diagnose.after")
    return DiagnosisSpec(
        model=current_model(),
        fault=_fault(),
        retain_grad=field_value(DiagnosisSpec, "retain_grad", "diagnose.retain_grad"),
        example_hooks=field_value(DiagnosisSpec, "example_hooks", "diagnose.example_hooks"),
        after=after if after in get_args(After) else "nothing",
    )


def _fault() -> Fault:
    """Settings that the kind does not use stay at their defaults, so that equal faults are one spec."""
    kind = field_value(Fault, "kind", "diagnose.kind")
    group = str(st.session_state.get(GROUP) or WHOLE)
    return Fault(
        kind=kind,
        exponent=field_value(Fault, "exponent", "diagnose.exponent") if kind.startswith("scale") else Fault().exponent,
        group=group if kind in OF_WEIGHTS and group in _groups() else "",
    )


def values_of(spec: AnySpec) -> dict[str, object]:
    """Widget key -> value that makes the page's own controls show `spec`."""
    if isinstance(spec, ProgramSpec):
        return {SUBJECT: SUBJECTS[1], PROGRAM: PROGRAMS[spec.program].title, MENDED: spec.mended}
    return {
        SUBJECT: SUBJECTS[0],
        "diagnose.kind": spec.fault.kind,
        "diagnose.exponent": spec.fault.exponent,
        GROUP: spec.fault.group or WHOLE,
        "diagnose.retain_grad": spec.retain_grad,
        "diagnose.example_hooks": spec.example_hooks,
        "diagnose.after": spec.after,
    }
