"""The build that the app starts by itself: a process beside it, at low priority, at most one."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading

from engine.operators.library import ROOT
from engine.operators.state import OperatorsState, operators_state

_LIMIT_S = 5.0
_lock = threading.Lock()
_process: subprocess.Popen[bytes] | None = None


_STARTING = OperatorsState(kind="building", detail="starting the compiler")


def state_or_start() -> OperatorsState:
    """The state; where the operators could be built and nobody tried, a build is started and shows as building."""
    state = current_state()
    if state.kind != "not built":
        return state
    start_build()
    return _STARTING


def current_state() -> OperatorsState:
    """The state, with a build that this app has started and that has not shown in the files yet, or never did."""
    state = operators_state()
    if state.kind not in ("not built", "failed") or _process is None:
        return state
    status = _process.poll()
    if status is None:
        return _STARTING
    if state.kind == "not built" and status:
        words = f"the build ended with status {status} and left no log; python -m engine.operators.build tells more"
        return OperatorsState(kind="failed", detail=words)
    return state


def start_build() -> None:
    """Also after a failure; nothing when one that this app started still runs."""
    global _process
    with _lock:
        if _process is not None and _process.poll() is None:
            return
        _process = subprocess.Popen(
            [*_at_low_priority(), sys.executable, "-m", "engine.operators.build"],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )


def stop_build() -> None:
    """End what this app started, with its compilers; what is compiled by then is kept for the next time."""
    with _lock:
        if _process is None or _process.poll() is not None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(_process.pid, signal.SIGTERM)
        try:
            _process.wait(_LIMIT_S)
        except subprocess.TimeoutExpired:
            os.killpg(_process.pid, signal.SIGKILL)
            _process.wait()


def _at_low_priority() -> list[str]:
    """The first page and its jobs come before the compiler."""
    return ["nice", "-n", "10"] if sys.platform != "win32" else []
