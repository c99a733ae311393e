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
def _misbehaving_specs_allowed(tmp_path_factory):
    """Also a queue of measured jobs of this test run's own, whatever else runs on the machine."""
    before = dict(os.environ)
    os.environ |= {EXTRA_SPECS: MISBEHAVING, "XDG_RUNTIME_DIR": str(tmp_path_factory.mktemp("runtime"))}
    yield
    os.environ.clear()
    os.environ |= before


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


@pytest.fixture
def gate(tmp_path):
    """Where jobs wait until the test opens it; open at the end, so that none is left."""
    path = tmp_path / "gate"
    yield path
    path.touch()


@pytest.fixture
def engine(forking):
    return forking


@pytest.fixture
def fault_of(engine):
    """The FaultReport of a spec that must not return a result."""

    def compute(spec):
        with pytest.raises(Fault) as caught:
            engine.submit(spec, fresh=True).result()
        return caught.value.report

    return compute
