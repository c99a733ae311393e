"""The claims that wait and the one that runs: one job at a time, its result left in the engine's cache."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import streamlit as st

from engine import Fault, Job, submit
from engine.claims.catalogue import BY_KEY, CLAIMS
from engine.claims.claim import Claim
from engine.claims.outcome import Measured
from engine.runner.contract import Spec
from engine.runner.faults import FaultReport
from pages.performance.claims_controls import spec_of
from pages.shared.pin import encode_spec

FIRST_LOOK_S = 0.6
"""A claim that is only counted is done by then, without a progress bar flashing up."""
CACHED_S = 1.0


def _ran() -> dict[str, bool]:
    """Specs, as text, that were computed in this session; their results are in the engine's cache."""
    ran: dict[str, bool] = st.session_state.setdefault("claims.ran", {})
    return ran


def _failed() -> dict[str, FaultReport]:
    failed: dict[str, FaultReport] = st.session_state.setdefault("claims.failed", {})
    return failed


def _waiting() -> list[str]:
    waiting: list[str] = st.session_state.setdefault("claims.waiting", [])
    return waiting


def _current() -> tuple[str, Job[Any]] | None:
    current: tuple[str, Job[Any]] | None = st.session_state.get("claims.job")
    return current


def result_of(spec: Spec[Measured]) -> Measured | None:
    """What is known of a spec: its result, or as unavailable what went wrong; None when it was not run."""
    name = encode_spec(spec)
    if name in _failed():
        report = _failed()[name]
        return Measured(unavailable=f"{report.what} {report.remedy}".strip())
    if name not in _ran():
        return None
    job = submit(spec)
    if job.wait(CACHED_S):
        return job.result()
    job.cancel()
    del _ran()[name]
    return None


def ask_for(claims: Iterable[Claim], *, afresh: bool = False) -> None:
    """Queue claims that are not queued yet; `afresh` forgets what is known of them."""
    for claim in claims:
        name = encode_spec(spec_of(claim))
        _stopped().discard(name)
        if afresh:
            _failed().pop(name, None)
            if _ran().pop(name, False):
                _afresh().add(name)
        if claim.key not in _waiting() and not (_current() and is_running(claim)):
            _waiting().append(claim.key)


def is_running(claim: Claim) -> bool:
    """Whether its job runs now."""
    current = _current()
    return current is not None and current[0] == claim.key


def is_waiting(claim: Claim) -> bool:
    """Whether it is queued behind another."""
    return claim.key in _waiting()


def quick_claims() -> list[Claim]:
    """Those that take a few seconds, and were not run at the sizes they stand at."""
    return [claim for claim in CLAIMS if claim.quick and not _is_known(claim)]


def stop_all() -> None:
    """Cancel what runs and forget what waits."""
    current = _current()
    if current is not None:
        _stopped().add(encode_spec(current[1].spec))
        current[1].cancel()
        st.session_state["claims.job"] = None
    _waiting().clear()


def advance(opened: Claim) -> None:
    """Take in what has finished and start what comes next; the open claim runs by itself when it is quick."""
    name = encode_spec(spec_of(opened))
    if opened.quick and not _is_known(opened) and name not in _stopped() and not is_running(opened):
        if is_waiting(opened):
            _waiting().remove(opened.key)
        _waiting().insert(0, opened.key)
    while _take_in() and _waiting():
        _start(BY_KEY[_waiting().pop(0)])


def _stopped() -> set[str]:
    stopped: set[str] = st.session_state.setdefault("claims.stopped", set())
    return stopped


def _afresh() -> set[str]:
    """Specs whose cached result is not wanted."""
    afresh: set[str] = st.session_state.setdefault("claims.afresh", set())
    return afresh


def _is_known(claim: Claim) -> bool:
    name = encode_spec(spec_of(claim))
    return name in _ran() or name in _failed()


def _start(claim: Claim) -> None:
    if not _is_known(claim):
        spec = spec_of(claim)
        afresh = encode_spec(spec) in _afresh()
        _afresh().discard(encode_spec(spec))
        st.session_state["claims.job"] = (claim.key, submit(spec, fresh=afresh))


def _take_in() -> bool:
    """True when nothing runs any more, after keeping what came of it."""
    current = _current()
    if current is None:
        return True
    job = current[1]
    if not job.wait(FIRST_LOOK_S):
        return False
    name = encode_spec(job.spec)
    try:
        job.result()
        _ran()[name] = True
    except Fault as fault:
        _failed()[name] = fault.report
    st.session_state["claims.job"] = None
    return True


def job_running() -> tuple[str, Job[Any]] | None:
    """The key of the claim that runs and its job; None while none runs."""
    return _current()


def waiting_count() -> int:
    """How many claims are queued behind it."""
    return len(_waiting())
