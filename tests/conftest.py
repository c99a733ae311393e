"""Settings every test shares: one thread, full error texts, and an engine that ends with the tests."""

from __future__ import annotations

import os

import pytest
import streamlit.config

# Before torch is imported: it reads this once.
os.environ.setdefault("OMP_NUM_THREADS", "1")

streamlit.config.set_option("client.showErrorDetails", "full")


@pytest.fixture(scope="session", autouse=True)
def _engine_ends_with_the_tests():
    yield
    import engine

    engine.stop_engine()
