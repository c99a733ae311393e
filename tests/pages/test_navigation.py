"""Pages are found by globbing and described by their docstring."""

from pathlib import Path

import pytest

from pages.shared.navigation import DEFAULT_ICON, PAGES, discover_pages, read_docstring


def test_every_numbered_file_is_a_page_once() -> None:
    entries = discover_pages()
    assert {entry.path for entry in entries} == set(PAGES.glob("*/[0-9][0-9]_*.py"))
    assert len({entry.url_path for entry in entries}) == len(entries)
    assert entries[0].section == "start"


@pytest.mark.parametrize("entry", discover_pages(), ids=lambda entry: entry.url_path)
def test_every_page_says_what_it_answers(entry) -> None:
    assert entry.title
    assert entry.question
    assert entry.icon != DEFAULT_ICON


def test_docstring_without_icon_gets_the_default(tmp_path: Path) -> None:
    page = tmp_path / "01_x.py"
    page.write_text('"""Strides: Which element is next?"""\n')
    assert read_docstring(page) == ("Strides", "Which element is next?", DEFAULT_ICON, True)


def test_a_page_may_bring_its_own_controls(tmp_path: Path) -> None:
    page = tmp_path / "01_x.py"
    page.write_text('"""Strides: Which element is next?\n\nicon: grid_on\ncontrols: own\n"""\n')
    assert read_docstring(page) == ("Strides", "Which element is next?", ":material/grid_on:", False)
