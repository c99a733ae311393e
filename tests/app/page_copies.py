"""A page once opened, for several tests: each goes on from a copy of the visitor's state, the page itself stays."""

from __future__ import annotations

import copy
import time
from typing import Any

from streamlit.runtime.fragment import MemoryFragmentStorage
from streamlit.runtime.state import SafeSessionState
from streamlit.testing.v1 import AppTest, app_test

JOB_TIMEOUT_S = 100


def copied(app: AppTest) -> AppTest:
    """Another visitor in the same state: session, address and registered fragments are its own.

    Its jobs have to be finished: one that runs has no copy (TypeError). Widgets on screen are those of `app` until the
    copy runs; to set one, use `turned`.
    """
    other = copy.copy(app)
    other._session_state = SafeSessionState(copy.deepcopy(app._session_state._state), lambda: None)
    other.session_state = app_test._AppTestSessionState(other._session_state)
    other.query_params = copy.deepcopy(app.query_params)
    other._fragment_storage = MemoryFragmentStorage()
    fragments = {name: copy.copy(value) for name, value in vars(app._fragment_storage).items() if name != "_lock"}
    vars(other._fragment_storage).update(fragments)
    other._cleared_form_ids = set(app._cleared_form_ids)
    other._tree = copy.copy(app._tree)
    other._tree._runner = other
    return other


def turned(app: AppTest, widget: Any, value: Any) -> AppTest:
    """A copy in which `widget` of `app` was set to `value` and the page ran to its end; `app` is as it was."""
    other, before = copied(app), dict(vars(widget))
    try:
        widget.set_value(value)
        other.run()
    finally:
        vars(widget).clear()
        vars(widget).update(before)
    return wait_for_jobs(other)


def wait_for_jobs(app: AppTest) -> AppTest:
    """Run again while the page shows progress, as its own polling would."""
    end = time.monotonic() + JOB_TIMEOUT_S
    while app.progress and time.monotonic() < end:
        time.sleep(0.1)
        app.run()
    return app
