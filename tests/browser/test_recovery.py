"""The engine's processes die under the running app: the next run works, and nothing is left when the app ends."""

from __future__ import annotations

import os
import signal
import time

import pytest

from pages.shared.model_controls import TITLES
from tests.browser.server import running_server
from tests.browser.visitor import visiting


@pytest.fixture
def own_server(tmp_path):
    with running_server(tmp_path / "log.txt") as running:
        yield running


def fork_servers(server) -> list[int]:
    return [pid for pid, command in server.descendants().items() if "engine.runner.server" in command]


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_killed_fork_server_comes_back(browser, own_server):
    with visiting(browser, own_server.address) as guest:
        guest.open("autograd-graph", model=TITLES["two_tower"])
        nodes = guest.number("Nodes")
        before = fork_servers(own_server)
        assert before
        for pid in before:
            os.kill(pid, signal.SIGKILL)
        guest.toggle("two_tower.use_auxiliary_loss")
        guest.toggle("two_tower.use_auxiliary_loss")
        assert guest.number("Nodes") == nodes
        assert not set(fork_servers(own_server)) & set(before)
        guest.toggle("input_requires_grad")
        guest.toggle("input_requires_grad")
        assert guest.number("Nodes") == nodes


def test_nothing_is_left_when_the_app_ends(browser, tmp_path):
    with running_server(tmp_path / "log.txt") as server:
        with visiting(browser, server.address) as guest:
            guest.open("autograd-graph")
        below = list(server.descendants())
        assert below
    end = time.monotonic() + 60
    while any(map(is_running, below)) and time.monotonic() < end:
        time.sleep(0.05)
    assert [pid for pid in below if is_running(pid)] == []
