"""The rules of the architecture, each discovered over the whole tree."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from tests.source_tree import ROOT, Import, file_of, functions, imports, loaded_by, parse, product_files, relative

ENGINE = [path for path in product_files() if path.is_relative_to(ROOT / "engine")]
PAGES = [path for path in product_files() if path.is_relative_to(ROOT / "pages")]
PAGE_MODULES = [path for path in PAGES if path.name[:2].isdigit()]
SPECS = [path for path in ENGINE if path.name == "spec.py"]
FIGURES = [path for path in ENGINE if path.is_relative_to(ROOT / "engine" / "figures")]
SCRIPTS = [path for path in ENGINE if path.is_relative_to(ROOT / "engine" / "script")]
EXPERIMENTS = [path for path in ENGINE if path.name.startswith("experiment")]
APP_SIDE = [ROOT / "app.py", *PAGES, *SPECS, *FIGURES, *SCRIPTS, ROOT / "engine" / "__init__.py"]
ADAPTERS = sorted((ROOT / "engine").glob("recorded*.py"))
"""The modules that touch private torch names: `recorded.py` and, by topic, `recorded_<topic>.py`."""

LINES_PER_FILE = 300
LINES_PER_FUNCTION = 40
NAMED_TUPLE = {"_fields", "_asdict", "_replace", "_make"}
VAGUE_NAMES = {"utils", "util", "helpers", "helper", "manager", "managers", "misc", "common", "tools"}


def violations(paths: list[Path], *forbidden: str) -> list[str]:
    return [
        f"{relative(path)}:{found.line} imports {' '.join(found.modules)}"
        for path in paths
        for found in imports(path)
        if found.touches(*forbidden)
    ]


def imports_torch_when_loaded(path: Path) -> bool:
    return any(found.at_import and found.touches("torch", "torchviz") for found in imports(path))


def test_every_kind_of_file_was_found():
    assert all((ENGINE, PAGES, PAGE_MODULES, SPECS, FIGURES, SCRIPTS, EXPERIMENTS))
    assert ADAPTERS


def test_engine_imports_neither_streamlit_nor_pages():
    assert violations(ENGINE, "streamlit", "pages", "app", "benchmarks", "tests") == []


def test_what_the_app_process_loads_never_imports_torch():
    loaded = {path for start in APP_SIDE for path in loaded_by(start)}
    assert [relative(path) for path in sorted(loaded) if imports_torch_when_loaded(path)] == []


def test_pages_specs_figures_and_scripts_name_torch_nowhere():
    assert violations([ROOT / "app.py", *PAGES, *SPECS, *FIGURES, *SCRIPTS], "torch", "torchviz") == []


def test_figures_import_neither_streamlit_nor_torch_nor_experiments():
    assert violations(FIGURES, "streamlit", "torch", "torchviz", "engine.recorded") == []
    assert [found for path in FIGURES for found in imports(path) if _names_an_experiment(found)] == []


def test_pages_reach_the_engine_only_through_torch_free_modules():
    reached = [
        f"{relative(path)}:{found.line} imports {module}"
        for path in [ROOT / "app.py", *PAGES]
        for found in imports(path)
        for module in found.modules
        if module.startswith("engine") and (target := file_of(module)) is not None and imports_torch_when_loaded(target)
    ]
    assert reached == []


def test_experiments_import_neither_other_topics_nor_figures():
    wrong = [
        f"{relative(path)}:{found.line} imports {' '.join(found.modules)}"
        for path in EXPERIMENTS
        for found in imports(path)
        if found.touches("engine.figures", "engine.script") or (_names_an_experiment(found) and not _same(path, found))
    ]
    assert wrong == []


def _names_an_experiment(found: Import) -> bool:
    return any(m.startswith("engine.") and m.split(".")[-1].startswith("experiment") for m in found.modules)


def _same(path: Path, found: Import) -> bool:
    return found.touches("engine." + path.parent.name)


def test_shared_page_code_does_not_know_the_sections_and_sections_do_not_know_each_other():
    sections = {path.parent.name for path in PAGE_MODULES}
    wrong = []
    for path in PAGES:
        folder = path.relative_to(ROOT / "pages").parts[0]
        others = [f"pages.{section}" for section in sections if section != folder]
        if path != ROOT / "pages" / "main.py":
            wrong += violations([path], *others, "pages.main", "app")
    assert wrong == []


def _own_names() -> set[str]:
    """Names the project itself gives: its functions, classes, attributes, fields and variables."""
    names: set[str] = set()
    for path in product_files():
        for node in ast.walk(parse(path)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                names.add(node.name)
            elif isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
                names.add(node.id if isinstance(node, ast.Name) else node.attr)
    return names


def _is_private_elsewhere(node: ast.AST, own: set[str]) -> bool:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value.startswith(("_raw_saved", "_saved_", "_input_metadata", "_sequence_nr"))
    if not isinstance(node, ast.Attribute) or not node.attr.startswith("_") or node.attr.startswith("__"):
        return False
    base = node.value.id if isinstance(node.value, ast.Name) else ""
    return base not in {"self", "cls"} and base not in sys.stdlib_module_names and node.attr not in own | NAMED_TUPLE


def test_private_torch_names_stay_in_the_adapter():
    own = _own_names()
    wrong = [
        f"{relative(path)}:{node.lineno} {ast.unparse(node)}"
        for path in ENGINE
        if path not in ADAPTERS
        for node in ast.walk(parse(path))
        if _is_private_elsewhere(node, own)
    ]
    wrong += [
        line for line in violations([one for one in ENGINE if one not in ADAPTERS], "torch") if " torch._" in line
    ]
    assert wrong == []


def test_no_pickle_and_no_evaluation_of_text():
    assert violations(list(product_files()), "pickle", "cPickle", "dill", "marshal", "shelve", "cloudpickle") == []
    calls = [
        f"{relative(path)}:{node.lineno} {node.func.id}(...)"
        for path in product_files()
        for node in ast.walk(parse(path))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in {"eval", "exec"}
    ]
    assert calls == []


def test_the_app_never_starts_multiprocessing():
    loaded = {path for start in (ROOT / "app.py", *PAGES) for path in loaded_by(start)}
    processes = ("multiprocessing", "concurrent.futures.process", "concurrent.futures.ProcessPoolExecutor")
    assert violations(sorted(loaded), *processes) == []


def test_names_say_what_a_file_holds():
    vague = [relative(path) for path in product_files() if _words_of(path) & VAGUE_NAMES]
    vague += [
        f"{relative(path)}: {node.name}"
        for path in product_files()
        for node in ast.walk(parse(path))
        if isinstance(node, ast.ClassDef) and node.name.endswith(("Manager", "Helper", "Util", "Utils"))
    ]
    assert vague == []


def _words_of(path: Path) -> set[str]:
    return {word for part in path.relative_to(ROOT).with_suffix("").parts for word in part.lower().split("_")}


def test_files_stay_short():
    lines = {relative(path): len(path.read_text(encoding="utf-8").splitlines()) for path in product_files()}
    assert {name: count for name, count in lines.items() if count > LINES_PER_FILE} == {}


def test_functions_stay_short():
    long = [
        f"{relative(path)} {function.name}: {_body_lines(function)} lines"
        for path in product_files()
        for function in functions(path)
        if _body_lines(function) > LINES_PER_FUNCTION
    ]
    assert long == []


def _body_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines from `def` to the end, the docstring not counted."""
    lines = (function.end_lineno or function.lineno) - function.lineno + 1
    first = function.body[0]
    if ast.get_docstring(function) is not None:
        lines -= (first.end_lineno or first.lineno) - first.lineno + 1
    return lines


def test_every_module_says_what_it_is():
    silent = [path for path in product_files() if not ast.get_docstring(parse(path))]
    assert [
        relative(path) for path in silent if path.name != "__init__.py" or path.read_text(encoding="utf-8").strip()
    ] == []


@pytest.mark.parametrize("path", PAGE_MODULES, ids=relative)
def test_a_page_names_itself_in_its_docstring(path):
    title, colon, question = (ast.get_docstring(parse(path)) or "").splitlines()[0].partition(":")
    assert colon
    assert 0 < len(title.strip()) <= 30
    assert 0 < len(question.strip()) <= 110


OPEN_EVERY_PAGE = """
import sys
from pathlib import Path
import streamlit.config
from streamlit.testing.v1 import AppTest

streamlit.config.set_option("client.showErrorDetails", "full")
pages = sorted(Path("pages").glob("*/[0-9][0-9]_*.py"))
app = AppTest.from_file("pages/main.py", default_timeout=100).run()
for page in pages:
    app.switch_page(str(page.relative_to("pages"))).run()
    print(page, [e.message for e in app.exception])
print("TORCH", sorted(name for name in sys.modules if name.split(".")[0] == "torch")[:3])
"""


@pytest.mark.slow
def test_opening_every_page_leaves_torch_out_of_the_app_process():
    done = subprocess.run(
        [sys.executable, "-c", OPEN_EVERY_PAGE], cwd=ROOT, capture_output=True, text=True, timeout=200
    )
    assert done.returncode == 0, done.stderr[-2000:]
    lines = done.stdout.splitlines()
    assert lines[-1] == "TORCH []"
    assert len(lines) == len(PAGE_MODULES) + 1
    assert [line for line in lines[:-1] if not line.endswith("[]")] == []
