from __future__ import annotations

import os
import sys

import pytest

from engine.runner.dispatch import Dispatcher
from engine.runner.faults import Fault
from engine.runner.wire import EXTRA_SPECS
from tests.runner.misbehaving.spec import EchoSpec

MISBEHAVING = "tests.runner.misbehaving.spec"


@pytest.fixture(scope="session", autouse=True)
def _misbehaving_specs_allowed():
    os.environ[EXTRA_SPECS] = MISBEHAVING
    yield
    del os.environ[EXTRA_SPECS]


@pytest.fixture(scope="session")
def forking(_misbehaving_specs_allowed):
    if sys.platform != "linux":
        pytest.skip("the fork server is for Linux")
    from engine.runner.forked import ForkBackend

    engine = Dispatcher(ForkBackend(), workers=4)
    engine.submit(EchoSpec()).result()  # warm: tests below measure time
    yield engine
    engine.stop()


@pytest.fixture(scope="session")
def own(forking):
    """A second fork server, for tests that kill it."""
    engine = Dispatcher(type(forking._backend)(), workers=2)
    engine.submit(EchoSpec()).result()
    yield engine
    engine.stop()


@pytest.fixture(scope="session")
def spawning(_misbehaving_specs_allowed):
    from engine.runner.spares import SpawnBackend

    engine = Dispatcher(SpawnBackend(), workers=2)
    engine.submit(EchoSpec()).result()
    yield engine
    engine.stop()


@pytest.fixture(params=["forking", pytest.param("spawning", marks=pytest.mark.slow)])
def engine(request):
    """The same test on both ways of starting workers."""
    return request.getfixturevalue(request.param)


@pytest.fixture
def fault_of(engine):
    """The FaultReport of a spec that must not return a result."""

    def compute(spec):
        with pytest.raises(Fault) as caught:
            engine.submit(spec, fresh=True).result()
        return caught.value.report

    return compute
