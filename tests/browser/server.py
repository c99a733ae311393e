"""The real server as its own process: `streamlit run app.py` on a free port, with the project's own settings."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
START_TIMEOUT_S = 120
STOP_TIMEOUT_S = 30


@dataclass
class Server:
    """A running server: where it answers, its process, and what it has printed so far."""

    address: str
    process: subprocess.Popen[bytes]
    log: Path

    def printed(self) -> str:
        return self.log.read_text(encoding="utf-8", errors="replace")

    def descendants(self) -> dict[int, str]:
        """Process id -> command line of every process below the server (Linux)."""
        parents = {int(path.name): _parent_of(path) for path in Path("/proc").iterdir() if path.name.isdigit()}
        found: dict[int, str] = {}
        waiting = [self.process.pid]
        while waiting:
            above = waiting.pop()
            for child in [pid for pid, parent in parents.items() if parent == above]:
                found[child] = _command_of(child)
                waiting.append(child)
        return found


def _parent_of(path: Path) -> int:
    try:
        return int((path / "stat").read_text().rpartition(")")[2].split()[1])
    except (OSError, ValueError, IndexError):
        return 0


def _command_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
    except OSError:
        return ""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def running_server(log: Path) -> Iterator[Server]:
    """Start the app, wait until it answers, stop it with SIGTERM at the end."""
    port = free_port()
    environment = {name: value for name, value in os.environ.items() if not name.startswith("STREAMLIT_")}
    command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(port)]
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*command, "--server.headless", "true"], cwd=ROOT, env=environment, stdout=output, stderr=subprocess.STDOUT
        )
    server = Server(f"http://localhost:{port}", process, log)
    try:
        wait_until_it_answers(server)
        yield server
    finally:
        stop(server)


def wait_until_it_answers(server: Server) -> None:
    end = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < end and server.process.poll() is None:
        try:
            with urllib.request.urlopen(server.address + "/_stcore/health", timeout=10) as answer:
                if answer.status == 200:
                    return
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            time.sleep(0.02)
    raise RuntimeError(f"The server did not answer within {START_TIMEOUT_S} s:\n{server.printed()[-3000:]}")


def stop(server: Server) -> None:
    server.process.send_signal(signal.SIGTERM)
    try:
        server.process.wait(STOP_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        server.process.kill()
        server.process.wait()
