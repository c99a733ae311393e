"""Server start to first page, in wall seconds: from launching `streamlit run app.py` to the start page.

The fork server warms up in the background and is not waited for: the page draws everything that needs no worker first.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from statistics import median

from playwright.sync_api import Browser, sync_playwright

from benchmarks.row import Row
from tests.browser.server import running_server
from tests.browser.visitor import launch

STARTS = 5
TARGET_S = 2.0
FIRST_PAGE = '[data-testid="stMain"] h1'


def measure() -> list[Row]:
    """Median over a few starts, the browser already open with a warm cache of the front end."""
    with sync_playwright() as playwright:
        browser = launch(playwright)
        starts = [_one_start(browser) for _ in range(STARTS + 1)][1:]
        browser.close()
    answers, pages = [answer for answer, _ in starts], [page for _, page in starts]
    return [
        Row("server start to first answer", median(answers), TARGET_S, "s", _spread(answers)),
        Row("server start to first page in the browser", median(pages), TARGET_S, "s", _spread(pages)),
    ]


def _spread(seconds: list[float]) -> str:
    return f"{min(seconds):.2f} to {max(seconds):.2f} s over {len(seconds)} starts"


def _one_start(browser: Browser) -> tuple[float, float]:
    page = browser.new_page()
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        with running_server(Path(folder) / "log.txt") as server:
            answered = time.perf_counter() - start
            page.goto(server.address, wait_until="commit")
            page.wait_for_selector(FIRST_PAGE)
            drawn = time.perf_counter() - start
    page.close()
    return answered, drawn
