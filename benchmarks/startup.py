"""Server start to first page, in wall seconds: from launching `streamlit run app.py` to the start page's cards.

The fork server warms up meanwhile and is not waited for; only the machine's status, below the cards, needs it. What
the browser then takes to load Streamlit's own front end is shown beside it, without a target.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from playwright.sync_api import Browser, sync_playwright

from benchmarks.first_page import receive_first_page
from benchmarks.row import Row
from tests.browser.server import running_server
from tests.browser.visitor import launch

STARTS = 5
TARGET_S = 2.0
LAST_HEADING = "This machine"


def measure() -> list[Row]:
    """Medians over a few starts, after one that fills the caches of the disk."""
    _time_start(_read_without_browser)
    sent = [_time_start(_read_without_browser) for _ in range(STARTS)]
    with sync_playwright() as playwright:
        browser = launch(playwright)
        drawn = [_time_start(lambda address: _read_in_browser(browser, address)) for _ in range(STARTS)]
        browser.close()
    return [
        Row("server start to first page sent", median(sent), TARGET_S, "s", _spread(sent)),
        Row("... and drawn by a fresh browser window", median(drawn), None, "s", _spread(drawn)),
    ]


def _time_start(read: Callable[[str], None]) -> float:
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        with running_server(Path(folder) / "log.txt") as server:
            read(server.address)
            return time.perf_counter() - start


def _read_without_browser(address: str) -> None:
    receive_first_page(address, LAST_HEADING)


def _read_in_browser(browser: Browser, address: str) -> None:
    page = browser.new_page()
    page.goto(address, wait_until="commit")
    page.get_by_role("heading", name=LAST_HEADING).wait_for()
    page.close()


def _spread(seconds: list[float]) -> str:
    return f"{min(seconds):.2f} to {max(seconds):.2f} s over {len(seconds)} starts"
