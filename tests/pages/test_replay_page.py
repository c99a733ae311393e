"""The replay page without a browser: what is looked at, by link and by click, and every tab."""

from __future__ import annotations

from collections import Counter

import pytest

from engine import run
from engine.figures.replay_rows import step_rows
from engine.figures.replay_words import shape_words
from engine.figures.view import GraphView
from engine.models.architecture import Mlp
from engine.models.spec import Expression, ModelSpec
from engine.replay.spec import ReplaySpec
from pages.backward.replay_controls import call_words
from pages.backward.replay_details import gradient_table
from pages.backward.replay_pictures import comparison, picture
from pages.backward.replay_tables import step_table
from pages.shared.model_controls import TITLES
from tests.app.pages_under_test import PAGE_FILES, errors, open_page, run_to_the_end

PAGE = next(path for path in PAGE_FILES if path.name == "01_replay.py")
SPEC = ReplaySpec(model=ModelSpec(architecture=Expression(name="where_sqrt")))
QUERY = {"model": TITLES["expression"], "expression.name": "where_sqrt"}


def texts(app) -> str:
    return "\n".join(str(element.value) for element in (*app.markdown, *app.caption, *app.error))


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        (ReplaySpec(), "loss.backward()"),
        (ReplaySpec(passes=3, retain_graph=True), "loss.backward(retain_graph=True) × 3"),
        (ReplaySpec(roots="outputs", grad_outputs="ones"), "torch.autograd.backward(outputs, grad_tensors=ones)"),
    ],
)
def test_the_call_is_shown_as_one_would_type_it(spec, words):
    assert call_words(spec) == words


def test_tables_have_the_numbers_of_the_recording():
    replay = run(SPEC, inline=True)
    rows = step_rows(replay)
    table = step_table(rows)
    assert list(table["step"]) == [1, 2, 3, 4]
    assert list(table["took µs"]) == pytest.approx([1e6 * step.duration_s for step in replay.steps])
    assert step_table([]).empty
    assert gradient_table(()).empty


@pytest.mark.slow
def test_a_link_shows_its_step_with_every_gradient():
    app = open_page(PAGE, **QUERY, step="2")
    assert errors(app) == []
    assert "Step 3 of 4" in texts(app)
    replay = run(SPEC, inline=True)
    step = replay.steps[2]
    shown = next(frame.value for frame in app.dataframe if "gradient" in frame.value)
    assert list(shown["gradient"]) == ["received 0", "returned 0"]
    expected = [replay.gradients[at] for at in (*step.received, *step.returned)]
    assert list(shown["shape"]) == [shape_words(one.shape) for one in expected]
    assert list(shown["nan"]) == [one.nans for one in expected]


@pytest.mark.slow
@pytest.mark.parametrize("step", ["999999999999", "99", "-1", "x"])
def test_a_step_that_is_not_there_shows_the_end(step):
    app = open_page(PAGE, **QUERY, step=step)
    assert errors(app) == []
    assert "Press play" in texts(app)


@pytest.mark.slow
def test_every_tab_opens_after_two_calls_of_which_one_failed():
    app = open_page(PAGE, **{"backward.passes": "2"})
    assert "backward() call 2 of 2" in texts(app)
    for tab in ("Steps", "Accumulation, use by use", "Calls and hooks", "How to read this"):
        app.session_state["replay.tab"] = tab
        run_to_the_end(app)
        assert errors(app) == [], tab
        assert "backward() call 2 of 2" in texts(app)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "words"),
    [("<script>", "must be a dotted name"), ("no.such.place", "must name a parameter, an input or a module")],
)
def test_a_hook_at_a_name_that_is_not_there_is_refused_in_words(name, words):
    app = open_page(PAGE, **{"hook.kind": "scale", "hook.at": name})
    assert errors(app) == []
    assert words in "\n".join(element.value for element in app.text)


def test_what_changed_against_a_is_marked_in_the_picture():
    spec, pinned = (ReplaySpec(model=ModelSpec(architecture=Mlp(residual=residual))) for residual in (True, False))
    alone, beside = picture(spec, None, GraphView())[0], picture(spec, pinned, GraphView())[0]
    names = {one: Counter(node.name for node in run(one).graph.nodes) for one in (spec, pinned)}
    added, removed = names[spec] - names[pinned], names[pinned] - names[spec]
    compared = comparison(spec, pinned)
    assert Counter(compared.b.nodes[at].name for at in compared.ids("added")) == added
    assert Counter(compared.a.nodes[at].name for at in compared.ghosts) == removed
    assert added
    assert {box.mark for box in alone.boxes} <= {""}
    assert "added" in {box.mark for box in beside.boxes}
