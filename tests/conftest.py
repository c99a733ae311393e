"""Settings every test shares: one thread, full error texts, and an engine that ends with the tests."""

from __future__ import annotations

import gc
import os
import sys
from collections import Counter

import hypothesis
import pytest
import streamlit.config

# Before torch is imported: it reads this once.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# pytest keeps what it made of each test file; where Python may write nothing that is 15 seconds of every run.
sys.dont_write_bytecode = False

streamlit.config.set_option("client.showErrorDetails", "full")
# By the wall clock: beside other work an example that takes a millisecond took more than the 200 ms of the default.
hypothesis.settings.register_profile("any machine", deadline=None)
hypothesis.settings.register_profile("quick", deadline=None, max_examples=25)


def pytest_configure(config):
    """Where slow tests are left out, a property is tried on fewer examples, unless its test says how many."""
    quick = "not slow" in config.option.markexpr and "or not slow" not in config.option.markexpr
    hypothesis.settings.load_profile("quick" if quick else "any machine")


@pytest.fixture(scope="session", autouse=True)
def _engine_ends_with_the_tests():
    yield
    import engine

    engine.stop_engine()


QUICK_TESTS_IN_A_SLOW_ONE = 100
ONE_AFTER_THE_OTHER = ("browser", "component")
"""Folders whose files share a server and a browser, which end as soon as a worker turns to another folder."""


def pytest_collection_modifyitems(items):
    """Long files first: a worker that begins one last would end long after the other."""
    weights = Counter()
    for item in items:
        weights[_together(item)] += QUICK_TESTS_IN_A_SLOW_ONE if item.get_closest_marker("slow") else 1
    items.sort(key=lambda item: -weights[_together(item)])


def _together(item):
    return item.path.parent if item.path.parent.name in ONE_AFTER_THE_OTHER else item.path


class NoStack:
    """In place of `traceback` where PyTorch keeps the stack of every `manual_seed` until a device is first used.

    Formatting it for three kinds of devices, at the depth of a test, takes 0.6 ms each time, and the stacks stay.
    """

    @staticmethod
    def format_stack():
        return []


def pytest_collection_finish():
    for name in ("torch.cuda", "torch.xpu", "torch.mtia"):
        if name in sys.modules:
            sys.modules[name].traceback = NoStack
    gc.collect()
    gc.freeze()  # what was imported and collected stays to the end: no test's collection has to look through it
