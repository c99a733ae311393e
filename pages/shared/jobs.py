"""Results for a page: at once when quick or cached, else with progress and a Stop button, faults in words."""

from __future__ import annotations

from typing import Any, TypeVar

import streamlit as st

from engine import Fault, Job, submit
from engine.runner.contract import Result, Spec
from engine.runner.faults import FaultReport
from pages.shared.page_end import end_page

R = TypeVar("R", bound=Result)
S = TypeVar("S", bound=Spec[Any])

# Long enough for a forked worker to trace a large model without a progress bar flashing up.
FIRST_LOOK_S = 1.5
POLL_S = 0.25
# How long a whole result may take after the part on its way, before that part is drawn first.
PATIENCE_S = 0.25
LOOK_AGAIN_S = 0.05
WAITING_HEIGHT = 540

FAULT_TITLES = {
    "refused": "Too large for the limits, not started",
    "invalid": "These settings do not fit together",
    "timeout": "Stopped at the time limit",
    "cpu": "Stopped at the CPU limit",
    "memory": "Stopped at the memory limit",
    "crash": "The worker process ended",
    "too_big": "The result is too large to send",
    "too_much": "Too much to add up",
    "cancelled": "Stopped",
    "torch_error": "PyTorch raised an error",
    "queue_full": "The queue is full",
    "engine_down": "The compute engine is not running",
}


def compute(spec: Spec[R], *, slot: str = "main", height: int = WAITING_HEIGHT) -> R:
    """The result of `spec`; while it is not there, draws progress or the fault and ends this script run.

    `height` in pixels is the room kept for what will come, so that the page does not jump.
    """
    outcome = _outcome(spec, slot, height)
    if isinstance(outcome, FaultReport):
        draw_fault(outcome, slot)
        end_page()
    return outcome


def compute_early(spec: S, *, slot: str = "main", height: int = WAITING_HEIGHT) -> S:
    """`spec` once it is computed, or before that the part on its way: what `run` has a result of now.

    While the rest is computed, `draw_rest` tells of it and draws the page again; it also tells why no rest came.
    """
    part = spec.on_the_way
    if part is not None and not _has_failed(spec, slot):
        job = _job_for(spec, slot)
        if not job.wait_for_first(FIRST_LOOK_S):
            _draw_progress(slot, height, first=True)
            end_page()
        if not job.wait(PATIENCE_S):
            _parts()[slot] = part
            return part
    outcome = _outcome(spec, slot, height)
    if isinstance(outcome, FaultReport):
        if part is not None and _parts().get(slot) == part:
            return part
        draw_fault(outcome, slot)
        end_page()
    return spec


def draw_rest(spec: Spec[Any], slot: str = "main") -> None:
    """What the rest of a result is waiting for, with a Stop button, or why it did not come; nothing when it did."""
    if slot in _jobs():
        _draw_rest(slot)
    elif _has_failed(spec, slot):
        report = _faults()[slot][1]
        st.caption(f":material/report: {FAULT_TITLES[report.kind]}", help=f"{report.what} {report.remedy}")
        st.button("Try again", key=f"again.rest.{slot}", type="tertiary", on_click=_try_again, args=(slot,))


@st.fragment(run_every=LOOK_AGAIN_S)
def _draw_rest(slot: str) -> None:
    job = _jobs().get(slot)
    if job is None:
        return
    if job.wait(POLL_S):
        st.rerun()
    with st.container(horizontal=True, vertical_alignment="center", key=f"rest.{slot}", width=360):
        st.progress(min(max(job.fraction, 0.0), 1.0), text=f"{_doing(job)} · {job.elapsed_s:.0f} s")
        st.button("Stop", key=f"stop.rest.{slot}", type="tertiary", on_click=_stop, args=(slot,))


def compute_meanwhile(spec: Spec[R], *, slot: str, patience_s: float = PATIENCE_S) -> R | None:
    """The result of `spec`, or None while it is computed and after a fault: the page goes on without it.

    `draw_rest` of the same spec and slot tells of both, and draws the page again once the result is there.
    """
    if _has_failed(spec, slot) or not _job_for(spec, slot).wait(patience_s):
        return None
    outcome = _outcome(spec, slot, WAITING_HEIGHT)
    return None if isinstance(outcome, FaultReport) else outcome


def fault_of(spec: Spec[Any], slot: str) -> FaultReport | None:
    """Why there is no result of `spec`; None where it runs, is done, or was not asked for."""
    return _faults()[slot][1] if _has_failed(spec, slot) else None


def _has_failed(spec: Spec[Any], slot: str) -> bool:
    failed = _faults().get(slot)
    return failed is not None and failed[0] == spec


def compute_beside(spec: Spec[R], name: str, *, slot: str) -> R | None:
    """Like `compute` for a run shown beside the page's own: its fault is a note, and the page goes on with None."""
    outcome = _outcome(spec, slot, WAITING_HEIGHT)
    if isinstance(outcome, FaultReport):
        st.warning(f"{name} has no result to compare with: {outcome.what}", icon=":material/keep_off:")
        return None
    return outcome


def _outcome(spec: Spec[R], slot: str, height: int) -> R | FaultReport:
    if _has_failed(spec, slot):
        return _faults()[slot][1]
    job = _job_for(spec, slot)
    if not job.wait(FIRST_LOOK_S):
        _draw_progress(slot, height)
        end_page()
    # A finished job holds its result; the engine's cache is the one place for those.
    del _jobs()[slot]
    try:
        return job.result()
    except Fault as fault:
        _faults()[slot] = (spec, fault.report)
        return fault.report


def run_again(spec: Spec[Any], slot: str = "main") -> None:
    """Compute `spec` afresh; `compute` of this slot then waits for it instead of taking the cached result."""
    running = _jobs().get(slot)
    if running is not None:
        running.cancel()
    _faults().pop(slot, None)
    _jobs()[slot] = submit(spec, fresh=True)


def _jobs() -> dict[str, Job[Any]]:
    jobs: dict[str, Job[Any]] = st.session_state.setdefault("jobs", {})
    return jobs


def _parts() -> dict[str, Spec[Any]]:
    """By slot, the part of a result that was drawn last."""
    parts: dict[str, Spec[Any]] = st.session_state.setdefault("parts", {})
    return parts


def _faults() -> dict[str, tuple[Spec[Any], FaultReport]]:
    faults: dict[str, tuple[Spec[Any], FaultReport]] = st.session_state.setdefault("faults", {})
    return faults


def _job_for(spec: Spec[R], slot: str) -> Job[R]:
    running = _jobs().get(slot)
    if running is not None and running.spec == spec:
        return running
    if running is not None:
        running.cancel()
    job = submit(spec)
    _jobs()[slot] = job
    return job


@st.fragment(run_every=LOOK_AGAIN_S)
def _draw_progress(slot: str, height: int, first: bool = False) -> None:
    """Until the job is done, or with `first` until there is a part to draw."""
    job = _jobs().get(slot)
    if job is None:
        return
    # Waiting here shows a result as soon as it is there, not at the next look.
    if job.wait_for_first(POLL_S) if first else job.wait(POLL_S):
        st.rerun()
    with st.container(border=True, height=height, vertical_alignment="center", key=f"waiting.{slot}"):
        st.progress(min(max(job.fraction, 0.0), 1.0), text=f"{_doing(job)} · {job.elapsed_s:.0f} s")
        st.button("Stop", icon=":material/stop_circle:", key=f"stop.{slot}", on_click=_stop, args=(slot,))


def _doing(job: Job[Any]) -> str:
    """Its place in the queue, or what it computes now."""
    return f"Waiting, {job.position} ahead" if job.state == "queued" else job.stage or "Running"


def _stop(slot: str) -> None:
    if slot in _jobs():
        _jobs()[slot].cancel()


def draw_fault(report: FaultReport, slot: str = "main") -> None:
    """What happened, what to do next, and the original text folded below."""
    with st.container(border=True, key=f"fault.{slot}"):
        draw = st.info if report.kind == "cancelled" else st.error
        draw(f"**{FAULT_TITLES[report.kind]}**", icon=":material/report:")
        st.text(report.what)
        st.text(report.remedy)
        if report.detail:
            with st.expander("Original text"):
                st.code(report.detail, language=None)
        st.button("Try again", icon=":material/refresh:", key=f"again.{slot}", on_click=_try_again, args=(slot,))


def _try_again(slot: str) -> None:
    _faults().pop(slot, None)
