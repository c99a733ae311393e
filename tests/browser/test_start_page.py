"""The start page: what can be asked, what this machine can do, and the theme it comes in."""

from __future__ import annotations

import http.client
import urllib.request

from pages.shared.navigation import discover_pages
from pages.shared.section_cards import presets_of
from tests.browser.pixels import brightness, look

ASKING = [entry for entry in discover_pages() if entry.section != "start"]


def test_cards_show_every_page_with_its_questions(visitor):
    visitor.open()
    for folded in visitor.page.locator("summary", has_text="more questions").all():
        folded.click()
    questions = [preset.question.replace("`", "") for entry in ASKING for preset in presets_of(entry)]
    words = [*(text for entry in ASKING for text in (entry.title, entry.question)), *questions]
    visitor.page.wait_for_function(
        """words => words.every((one) => document.querySelector('[data-testid="stMain"]').innerText.includes(one))""",
        arg=words,
    )


def test_the_machine_says_which_torch_it_runs_and_why_a_device_is_absent(visitor):
    visitor.open()
    visitor.page.get_by_text("torch 2.13", exact=False).first.wait_for()
    for word in ("cuda", "compiler", "compute engine"):
        assert word in visitor.text
    assert "Traceback" not in visitor.text


def test_a_question_opens_its_page_with_its_settings(visitor):
    visitor.open()
    entry = ASKING[0]
    preset = presets_of(entry)[1]
    visitor.page.get_by_role("button", name=preset.question.replace("`", "")).click()
    visitor.page.wait_for_url(f"**/{entry.url_path}**")
    visitor.wait()
    assert preset.prediction.split(".")[0].replace("`", "") in visitor.text


def test_light_and_dark_follow_the_visitor(visitor, dark_visitor):
    assert brightness(look(visitor.open().page)) > 0.8
    assert brightness(look(dark_visitor.open().page)) < 0.25


def test_answers_carry_the_security_headers(server):
    with urllib.request.urlopen(server.address) as answer:
        assert "default-src 'self'" in answer.headers["Content-Security-Policy"]
        assert answer.headers["X-Content-Type-Options"] == "nosniff"


def test_a_foreign_origin_may_not_open_the_connection(server):
    assert open_connection(server.address, origin=server.address) == 101
    assert open_connection(server.address, origin="http://elsewhere.example") == 403


def open_connection(address: str, origin: str) -> int:
    """The HTTP status of a WebSocket handshake."""
    connection = http.client.HTTPConnection(address.partition("://")[2], timeout=60)
    upgrade = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Protocol": "streamlit"}
    key = {"Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ=="}
    connection.request("GET", "/_stcore/stream", headers={"Origin": origin} | upgrade | key)
    status = connection.getresponse().status
    connection.close()
    return status
