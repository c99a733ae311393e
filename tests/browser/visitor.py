"""One visitor with a real browser: opens pages, waits for them, and remembers everything that went wrong."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlencode

from playwright.sync_api import Browser, Locator, Page, Playwright, expect

CHROMIUM = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), ""
)
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-extensions",
    "--font-render-hinting=none",
]
IDLE = '[data-testid="stApp"][data-test-script-state="notRunning"]'
DRAWN_TIMEOUT_MS = 45_000
SETTLE_MS = 120
# What a job needs; polling pages run a script every few hundred milliseconds meanwhile.
PROGRESS = '[data-testid="stProgress"]'
COMPONENT = '[data-testid="stBidiComponentIsolated"]'


def launch(playwright: Playwright) -> Browser:
    return playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)


class Visitor:
    """A page of the app in its own browser context."""

    def __init__(self, page: Page, address: str) -> None:
        self.page = page
        self.address = address
        self.problems: list[str] = []
        page.on("pageerror", lambda error: self.problems.append(f"page error: {error}"))
        page.on("console", lambda m: self.problems.append(f"console: {m.text}") if m.type == "error" else None)
        page.on("request", lambda request: self._note_request(request.url))

    def _note_request(self, url: str) -> None:
        """Everything works offline: a request to any other host is a problem."""
        if url.startswith(("http", "ws")) and not re.match(r"(http|ws)://(localhost|127\.0\.0\.1)[:/]", url):
            self.problems.append(f"request to the network: {url}")

    def open(self, path: str = "", **query: str | int | bool) -> Visitor:
        named = {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in query.items()}
        self.page.goto(f"{self.address}/{path}" + (f"?{urlencode(named)}" if named else ""))
        return self.wait()

    def wait(self) -> Visitor:
        """Until the script has ended, its job is done and the picture had a moment to draw."""
        self.page.wait_for_selector(IDLE, timeout=DRAWN_TIMEOUT_MS)
        self.page.wait_for_timeout(SETTLE_MS)
        expect(self.page.locator(PROGRESS)).to_have_count(0, timeout=DRAWN_TIMEOUT_MS)
        self.page.wait_for_selector(IDLE, timeout=DRAWN_TIMEOUT_MS)
        self.page.wait_for_timeout(SETTLE_MS)
        if self.page.locator('[data-testid="stException"]').count():
            self.problems.append("exception: " + self.page.locator('[data-testid="stException"]').first.inner_text())
        return self

    @property
    def text(self) -> str:
        return self.page.locator('[data-testid="stMain"]').inner_text()

    @property
    def picture(self) -> Locator:
        return self.page.locator(f"{COMPONENT} canvas").first

    def metric(self, label: str) -> Locator:
        return self.page.locator('[data-testid="stMetric"]').filter(has_text=label)

    def number(self, label: str) -> str:
        """The value of a key number as shown."""
        return self.metric(label).locator('[data-testid="stMetricValue"]').inner_text().strip()

    def delta(self, label: str) -> str:
        return self.metric(label).locator('[data-testid="stMetricDelta"]').inner_text().strip()


@contextmanager
def visiting(browser: Browser, address: str, *, dark: bool = False, width: int = 1280) -> Iterator[Visitor]:
    """A fresh visitor; at the end nothing may have gone wrong."""
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme="dark" if dark else "light", accept_downloads=True
    )
    context.set_default_timeout(DRAWN_TIMEOUT_MS)
    try:
        visitor = Visitor(context.new_page(), address)
        yield visitor
        assert visitor.problems == []
    finally:
        context.close()
