"""The pages of the app, found by globbing the section folders."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from pathlib import Path

import streamlit as st
from streamlit.navigation.page import Page

PAGES = Path(__file__).resolve().parents[1]
DEFAULT_ICON = ":material/insights:"


@dataclass(frozen=True)
class PageEntry:
    """One page file: its section folder, and what its docstring says."""

    path: Path
    section: str
    title: str
    question: str
    icon: str
    has_model_controls: bool = True

    @property
    def url_path(self) -> str:
        return self.path.stem.partition("_")[2].replace("_", "-")


def read_docstring(path: Path) -> tuple[str, str, str, bool]:
    """Title, question, icon and whether the frame draws the shared model controls.

    The docstring is "Title: one line.", and may have an "icon: name" line and a "controls: own" line.
    """
    lines = (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").splitlines()
    title, _, question = (lines[0] if lines else path.stem).partition(":")
    icons = [line.partition(":")[2].strip() for line in lines[1:] if line.startswith("icon:")]
    icon = f":material/{icons[0]}:" if icons else DEFAULT_ICON
    return title.strip(), question.strip(), icon, "controls: own" not in lines


def discover_pages() -> tuple[PageEntry, ...]:
    """Every `pages/<section>/NN_name.py`, the start section first, then by section and number."""
    paths = sorted(PAGES.glob("*/[0-9][0-9]_*.py"), key=lambda p: (p.parent.name != "start", p.parent.name, p.name))
    return tuple(PageEntry(path, path.parent.name, *read_docstring(path)) for path in paths)


def build_navigation() -> tuple[Page, PageEntry]:
    """Show the navigation; return Streamlit's current page to run and its entry."""
    entries = discover_pages()
    pages = {entry: _page_of(entry) for entry in entries}
    sections: dict[str, list[Page]] = {}
    for entry, page in pages.items():
        sections.setdefault("" if entry.section == "start" else entry.section.replace("_", " ").title(), []).append(
            page
        )
    current = st.navigation(sections, position="top")
    return current, next(entry for entry, page in pages.items() if page.url_path == current.url_path)


def _page_of(entry: PageEntry) -> Page:
    return st.Page(
        entry.path,
        title=entry.title,
        icon=entry.icon,
        url_path=entry.url_path,
        default=entry.section == "start",
        help=entry.question,
    )
