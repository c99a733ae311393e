"""One visitor with a real browser: opens pages, waits for them, and remembers everything that went wrong."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from urllib.parse import urlencode

from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Locator, Page, Playwright, expect
from playwright.sync_api import TimeoutError as PlaywrightTimeoutError

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
RUNNING = '[data-testid="stApp"][data-test-script-state="running"]'
DRAWN_TIMEOUT_MS = 60_000
expect.set_options(timeout=DRAWN_TIMEOUT_MS)
ANSWER_MS = 1500
CHOOSE_TRIES = 4
SETTLE_MS = 120
UNFOLD_MS = 600
STILL_MS, STILL_TRIES = 350, 20
# What a job needs; polling pages run a script every few hundred milliseconds meanwhile.
PROGRESS = '[data-testid="stProgress"]'


def launch(playwright: Playwright) -> Browser:
    return playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)


# On a page's own address Streamlit looks for its server below that address first, and then at the root.
PROBED = re.compile(r"/[\w-]+/_stcore/(health|host-config)$")
NEXT_FRAMES = """() => new Promise((done) => {
  let left = 3;
  const next = () => (left-- ? requestAnimationFrame(next) : done());
  next();
})"""
"""JavaScript: a change of size is told after a frame, answered by asking for a second and painted in it."""
FIND_GRAPH = """[document.querySelector('[data-testid="stMain"]')].flatMap(function below(root) {
  return [...root.querySelectorAll("*")].flatMap((e) => [e, ...(e.shadowRoot ? below(e.shadowRoot) : [])]);
}).find((element) => element.matches("[data-atlas-graph]"))"""
"""JavaScript for the component's root, which lies in an open shadow root."""


@dataclass(frozen=True)
class Place:
    """A box of the picture as it lies on the canvas."""

    address: str
    role: str
    x: int
    y: int
    width: int
    height: int

    @property
    def handle(self) -> tuple[float, float]:
        """Where to click it: its middle, or the title bar of an open frame."""
        return self.x + self.width / 2, self.y + (8 if self.role == "frame" else self.height / 2)


class Visitor:
    """A page of the app in its own browser context."""

    def __init__(self, page: Page, address: str) -> None:
        self.page = page
        self.address = address
        self.problems: list[str] = []
        page.on("pageerror", lambda error: self.problems.append(f"page error: {error}"))
        page.on("console", self._note_message)
        page.on("request", lambda request: self._note_request(request.url))

    def _note_message(self, message: ConsoleMessage) -> None:
        url = message.location.get("url", "")
        if message.type == "error" and not PROBED.search(url):
            self.problems.append(f"console: {message.text} {url}")

    def _note_request(self, url: str) -> None:
        """Everything works offline: a request to any other host is a problem."""
        if url.startswith(("http", "ws")) and not re.match(r"(http|ws)://(localhost|127\.0\.0\.1)[:/]", url):
            self.problems.append(f"request to the network: {url}")

    def open(self, path: str = "", **query: str | int | bool) -> Visitor:
        named = {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in query.items()}
        self.page.goto(f"{self.address}/{path}" + (f"?{urlencode(named)}" if named else ""))
        return self.wait()

    def wait_for_answer(self) -> Visitor:
        """Like `wait`, after what reruns the script: on a busy machine the page stays idle for a moment first."""
        with suppress(PlaywrightTimeoutError):
            self.page.wait_for_selector(RUNNING, timeout=ANSWER_MS)
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
        return self.page.locator("[data-atlas-canvas]")

    @property
    def drawn_picture(self) -> Locator:
        """The canvas, once something stands on it."""
        self.page.wait_for_function(f"() => ({FIND_GRAPH})?.dataset.atlasPlaces")
        self.page.evaluate(NEXT_FRAMES)
        return self.picture

    @property
    def graph(self) -> dict[str, str]:
        """What the graph component says about itself, once it has stopped moving: its data attributes."""
        self.page.wait_for_function(f"() => ({FIND_GRAPH})?.dataset.atlasPlaces", timeout=DRAWN_TIMEOUT_MS)
        root = self.page.locator("[data-atlas-graph]")
        said: dict[str, str] = {}
        for _ in range(STILL_TRIES):
            before, said = said, dict(root.evaluate("element => ({...element.dataset})"))
            if said == before:
                break
            self.page.wait_for_timeout(STILL_MS)
        return said

    @property
    def places(self) -> list[Place]:
        """Boxes in sight, in pixels of the canvas."""
        return [Place(**place) for place in json.loads(self.graph["atlasPlaces"])]

    def box(self, role: str, containing: str = "") -> Place:
        """A box in sight that can be clicked: nothing lies over its handle."""
        for place in self.places:
            if place.role == role and containing in place.address and self._is_free(place):
                return place
        raise LookupError(f"no {role} with {containing!r} in sight among {[p.address for p in self.places]}")

    def _is_free(self, place: Place) -> bool:
        return bool(
            self.picture.evaluate(
                """(canvas, [x, y]) => {
                  const edge = canvas.getBoundingClientRect();
                  if (x < 0 || y < 0 || x > edge.width || y > edge.height) return false;
                  return canvas.getRootNode().elementFromPoint(edge.left + x, edge.top + y) === canvas;
                }""",
                list(place.handle),
            )
        )

    def click_box(self, place: Place, *, double: bool = False) -> Visitor:
        x, y = place.handle
        self.picture.scroll_into_view_if_needed()
        click = self.picture.dblclick if double else self.picture.click
        click(position={"x": x, "y": y})
        return self.wait_for_answer()

    def control(self, key: str) -> Locator:
        """The element of the widget with this key, as Streamlit marks it."""
        return self.page.locator(f".st-key-{re.sub(r'[^a-zA-Z0-9_-]', '-', key)}").first

    def choose(self, key: str, option: str) -> Visitor:
        """Pick an option of a selectbox; a rerun that comes just then closes its list, so once more."""
        wanted = self.page.get_by_role("option", name=option, exact=True)
        for _ in range(CHOOSE_TRIES - 1):
            self.control(key).get_by_role("combobox").click()
            with suppress(PlaywrightTimeoutError):
                wanted.click(timeout=ANSWER_MS)
                return self.wait_for_answer()
            self.page.keyboard.press("Escape")
        self.control(key).get_by_role("combobox").click()
        wanted.click()
        return self.wait_for_answer()

    def toggle(self, key: str) -> Visitor:
        self.control(key).locator("label").first.click()
        return self.wait_for_answer()

    def unfold(self, key: str) -> Visitor:
        """Open an expander."""
        self.control(key).locator("summary").first.click()
        self.page.wait_for_timeout(UNFOLD_MS)
        return self.wait()

    def press(self, key: str) -> Visitor:
        """Click a button."""
        self.control(key).get_by_role("button").first.click()
        return self.wait_for_answer()

    def metric(self, label: str) -> Locator:
        return self.page.locator('[data-testid="stMetric"]').filter(has_text=label)

    def number(self, label: str) -> str:
        """The value of a key number as shown."""
        return self.metric(label).locator('[data-testid="stMetricValue"]').inner_text().strip()

    def delta(self, label: str) -> str:
        return self.metric(label).locator('[data-testid="stMetricDelta"]').inner_text().strip()


def new_context(browser: Browser, *, dark: bool = False, width: int = 1280) -> BrowserContext:
    """A person's browser: own cookies, own cache."""
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme="dark" if dark else "light", accept_downloads=True
    )
    context.set_default_timeout(DRAWN_TIMEOUT_MS)
    return context


@contextmanager
def at_a_new_page(context: BrowserContext, address: str) -> Iterator[Visitor]:
    """A visitor at a page of this browser; at the end nothing may have gone wrong."""
    visitor = Visitor(context.new_page(), address)
    try:
        yield visitor
        if visitor.problems:
            raise AssertionError("\n".join(visitor.problems))
    finally:
        visitor.page.close()


@contextmanager
def visiting(browser: Browser, address: str, *, dark: bool = False, width: int = 1280) -> Iterator[Visitor]:
    """A visitor with a browser that was never here before."""
    context = new_context(browser, dark=dark, width=width)
    try:
        with at_a_new_page(context, address) as visitor:
            yield visitor
    finally:
        context.close()
