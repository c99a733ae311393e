"""Driving the pages without a browser: open one, wait for its job, list what a person could set."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from streamlit.testing.v1 import AppTest, element_tree

from pages.shared.model_controls import ARCHITECTURES, TITLES
from pages.shared.navigation import discover_pages
from tests.app.page_copies import copied, turned, wait_for_jobs
from tests.source_tree import ROOT

PAGES_FOLDER = ROOT / "pages"
PAGE_FILES = sorted(PAGES_FOLDER.glob("*/[0-9][0-9]_*.py"))
MODEL_PAGES = [entry.path for entry in discover_pages() if entry.has_model_controls]
ON_EACH_MODEL = [(path, tag) for path in MODEL_PAGES for tag in sorted(ARCHITECTURES)]
EVERY_CONTROL_OF_MODELS = PAGES_FOLDER / "graph" / "01_autograd_graph.py"
DEFAULT_MODEL = "mlp"
DEEP_MODELS = {"chain": "chain.operations", "recurrent": "recurrent.steps"}
"""What makes their graphs deep, which a page may not survive although the bytes are few."""
SCRIPT_TIMEOUT_S = 100
LONG_LIST = 12
SIZES = {"slider", "number_input"}

WIDGETS = (
    "slider",
    "number_input",
    "selectbox",
    "toggle",
    "checkbox",
    "radio",
    "button_group",
    "multiselect",
    "select_slider",
    "text_input",
)


def page_id(path: Path) -> str:
    return path.relative_to(PAGES_FOLDER).with_suffix("").as_posix()


def open_page(path: Path, **query: str) -> AppTest:
    """The page as a fresh visitor sees it, its first job finished."""
    app = copied(_first_visit())
    app.switch_page(str(path.relative_to(PAGES_FOLDER)))
    for name, value in query.items():
        app.query_params[name] = value
    return run_to_the_end(app)


@lru_cache
def _first_visit() -> AppTest:
    """The start page, from which every other is reached."""
    return run_to_the_end(AppTest.from_file(str(PAGES_FOLDER / "main.py"), default_timeout=SCRIPT_TIMEOUT_S))


def run_to_the_end(app: AppTest) -> AppTest:
    """Run, and run again while the page shows progress, as its own polling would."""
    return wait_for_jobs(app.run())


def errors(app: AppTest) -> list[str]:
    return [element.message for element in app.exception]


def widgets(app: AppTest) -> dict[str, Any]:
    """Key -> widget for everything on the page that a person can set now."""
    found = {}
    for kind in WIDGETS:
        for widget in app.get(kind):
            if not getattr(widget.proto, "disabled", False):
                found[widget.key or f"{kind}:{widget.label}"] = widget
    return found


def extremes(widget: Any) -> Iterator[Any]:
    """The values at the edge of what a widget takes: ends of a range, options, both positions, odd text.

    Of a long list of options both ends and some between: each entry of a catalogue has tests in its own topic.
    """
    kind = widget.type
    if kind in SIZES:
        number = type(widget.value)
        yield from sorted({number(widget.min), number(widget.max)} - {widget.value})
    elif kind in {"toggle", "checkbox"}:
        yield not widget.value
    elif kind == "multiselect":
        yield from ([], [Shown(option) for option in widget.options])
    elif kind == "text_input":
        yield from ("", "no such thing", "<script>alert(1)</script>", "(", "🙂" * 200)
    else:
        options = list(widget.options)
        some = options if len(options) <= LONG_LIST else [*options[:: len(options) // 4], options[-1]]
        yield from map(Shown, some)


def named(value: Path | str) -> str:
    return page_id(value) if isinstance(value, Path) else value


def failures_at_the_extremes(path: Path, tag: str = "", *, only_ends: bool = False) -> list[str]:
    """One control at a time, on the model `tag` where the page shows models; what went wrong in words.

    The controls of models are turned to all their extremes on one page. On the others the sizes of a model are set to
    their largest at once, of a deep one only what makes it deep; the page's own controls are turned on one model only.
    `only_ends` takes the first and the last value.
    """
    query = {"model": TITLES[tag]} if tag else {}
    opened = open_page(path, **query)
    rounds = {key: str(one.min) for key, one in widgets(opened).items() if key.endswith(".rounds")}
    if rounds:  # what is measured, briefly
        opened = open_page(path, **query, **rounds)
    failed = [f"opened: {message}" for message in errors(opened)]
    if tag and tag not in DEEP_MODELS and path != EVERY_CONTROL_OF_MODELS:
        largest = open_page(path, **query, **rounds, **_largest_sizes(opened, tag))
        failed += [f"all sizes at their largest: {message}" for message in errors(largest)]
    for key, widget in widgets(opened).items():
        values = _values(path, tag, key, widget)
        for value in values[:1] + values[1:][-1:] if only_ends else values:
            app = turned(opened, widget, value)
            failed += [f"{key}={value!r}: {message}" for message in errors(app)]
            if app.progress:
                failed.append(f"{key}={value!r}: still running")
    return failed


def _largest_sizes(app: AppTest, tag: str) -> dict[str, str]:
    """The link that sets every number of the model to its largest."""
    sizes = {key: one for key, one in widgets(app).items() if key.startswith(f"{tag}.") and one.type in SIZES}
    return {key: str(type(one.value)(one.max)) for key, one in sizes.items()}


def _values(path: Path, tag: str, key: str, widget: Any) -> list[Any]:
    """The values to turn a control to on this page with this model."""
    of_this_model, of_any = key.startswith(f"{tag or DEFAULT_MODEL}."), _is_of_models(key)
    if path == EVERY_CONTROL_OF_MODELS:
        return list(extremes(widget)) if of_this_model or tag == DEFAULT_MODEL else []
    if key == DEEP_MODELS.get(tag):
        return list(extremes(widget))[-1:]
    return list(extremes(widget)) if not of_any and tag in ("", DEFAULT_MODEL) else []


@lru_cache
def _of_models() -> frozenset[str]:
    """Keys of the controls that every model has, as the page that turns them all shows them."""
    other = next(path for path in MODEL_PAGES if path != EVERY_CONTROL_OF_MODELS)
    return frozenset(widgets(open_page(EVERY_CONTROL_OF_MODELS))) & frozenset(widgets(open_page(other)))


def _is_of_models(key: str) -> bool:
    return key in _of_models() or key.partition(".")[0] in ARCHITECTURES


class Shown(str):
    """An option as it reads on screen; AppTest would otherwise want the object that `format_func` makes the text of."""


def _shown_or_formatted(format_func: Any, value: Any) -> str:
    return str(value) if isinstance(value, Shown) else _format_value(format_func, value)


_format_value = element_tree._format_value_for_widget
element_tree._format_value_for_widget = _shown_or_formatted
