"""What the README says: its Python runs, its links, pages and commands exist."""

from __future__ import annotations

import re
import subprocess
import sys

from pages.shared.navigation import discover_pages
from pages.shared.section_cards import presets_of
from tests.source_tree import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_its_python_runs_as_written():
    printed = [_printed(block) for block in re.findall(r"```python\n(.*?)```", README, re.S)]
    graph, operators = printed
    # x * (x + 7): x twice, one sum; saved are x and x + 7, three float32 each
    assert "SumBackward0" in graph
    assert graph.endswith(" 24")
    assert operators == "torch.Size([4, 8]) torch.Size([4, 8])"


def _printed(block: str) -> str:
    done = subprocess.run([sys.executable, "-c", block], cwd=ROOT, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.strip()


def test_its_links_lead_to_files():
    links = [link for link in re.findall(r"\]\(([^)#]+)\)", README) if not link.startswith("http")]
    assert links
    assert [link for link in links if not (ROOT / link).is_file()] == []


def test_its_table_names_every_page_and_no_other():
    table = README[README.index("| page | question |") :].split("\n\n")[0].splitlines()[2:]
    named = {row.split("|")[1].strip() for row in table}
    assert named == {"Start"} | {entry.title for entry in discover_pages() if entry.section != "start"}


def test_lessons_are_made_of_questions_that_the_pages_ask():
    asked = {(entry.title, one.question) for entry in discover_pages() for one in presets_of(entry)}
    lessons = sorted((ROOT / "docs").glob("lesson-*.md"))
    assert {path.name for path in lessons} == set(re.findall(r"\(docs/(lesson-\w+\.md)\)", README))
    for path in lessons:
        rows = [row for row in path.read_text(encoding="utf-8").splitlines() if row.startswith("| ")]
        steps = [tuple(cell.strip() for cell in row.split("|")[2:4]) for row in rows]
        assert len(steps) > 8
        assert set(steps[1:]) <= asked


def test_its_commands_exist():
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M))
    assert set(re.findall(r"(?:^|`)make (?:\w+=\S+ )*([a-z]+)", README, re.M)) <= targets
