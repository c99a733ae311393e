"""Settings every test shares: one thread, full error texts, and an engine that ends with the tests."""

from __future__ import annotations

import os

import pytest

# Before torch and Streamlit are imported: they read these once.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ["STREAMLIT_CLIENT_SHOW_ERROR_DETAILS"] = "full"


@pytest.fixture(scope="session", autouse=True)
def _engine_ends_with_the_tests():
    yield
    import engine

    engine.stop_engine()
