"""The page: its questions tell the truth, its builder edits the program, its files can be saved."""

from __future__ import annotations

import json
from functools import cache

import numpy as np
import pytest

from engine import run
from engine.in_place.spec import DEFAULT_PROGRAM, FamilySpec, ProgramSpec, UpdateSpec
from pages.backward import in_place_controls as controls
from pages.backward.in_place_exports import family_downloads, program_downloads, update_downloads
from pages.backward.in_place_presets import PRESETS
from pages.backward.in_place_program import difference
from pages.backward.in_place_timeline import telling_line
from tests.app.pages_under_test import PAGES_FOLDER, errors, open_page, run_to_the_end

PAGE = PAGES_FOLDER / "backward" / "05_in_place.py"
BY_QUESTION = {preset.question: preset for preset in PRESETS}


@cache
def opened(question):
    (preset,) = (one for one in PRESETS if question in one.question)
    settings = preset.settings
    if controls.PROGRAM in settings:
        return run(ProgramSpec(program=settings[controls.PROGRAM]), inline=True)
    if controls.FAMILY in settings:
        return run(FamilySpec(name=settings[controls.FAMILY]), inline=True)
    return run(UpdateSpec(), inline=True)


def end(traced_run):
    return {state.name: state for state in traced_run.steps[-1].tensors}


def grad(traced_run, name):
    found = end(traced_run)[name].grad
    return np.frombuffer(found.data, found.dtype).tolist()


def verdicts(question):
    return [outcome.verdict for outcome in opened(question).outcomes]


def test_sigmoid_objects_and_x_plus_1_does_not():
    traced = opened("Two writes")
    assert traced.run.raised_in == "SigmoidBackward0"
    assert {n: end(traced.run)[n].version for n in "st"} == {"s": 1, "t": 1}
    assert "s = s.add(1)" in traced.fix.program


def test_a_leaf_is_refused_and_nothing_was_written():
    traced = opened("x.add_(1) not touch a leaf")
    assert (traced.run.verdict, end(traced.run)["x"].version) == ("raises", 0)
    fixed = end(traced.fix.run)["x"]
    assert (fixed.is_leaf, fixed.requires_grad, fixed.version) == (True, True, 1)


def test_nine_updates_of_a_leaf():
    outcomes = opened("May a leaf").outcomes
    assert [one.verdict for one in outcomes] == ["raises"] * 3 + ["runs"] * 6
    assert outcomes[0].error.message != outcomes[1].error.message
    assert [one.states[0].version for one in outcomes] == [0, 0, 0, 1, 0, 0, 0, 0, 1]
    assert [one.states[0].is_leaf and one.states[0].requires_grad for one in outcomes[3:]] == [
        True, False, False, True, True, True,
    ]  # fmt: skip


def test_the_base_becomes_copy_slices_and_its_gradient_is_that_of_the_written_values():
    traced = opened("becomes of a base")
    assert telling_line(traced.run) == 4
    assert grad(traced.run, "root") == [10.0, 10.0, 1.0, 1.0]
    states = {state.name: state for state in traced.run.steps[3].tensors}
    assert states["x"].grad_fn == "torch::autograd::CopySlices"
    assert states["x"].version == states["v"].version == 1


def test_views_with_a_node_of_their_own_may_be_written():
    assert verdicts("slice allowed") == ["runs"] * 5 + ["raises"] * 3 + ["runs"] + ["raises"] * 3


def test_data_hides_the_damage_and_the_correction_has_the_true_gradient():
    traced = opened("hide the damage")
    assert grad(traced.run, "x") == [16.0, 32.0, 48.0]
    assert grad(traced.fix.run, "x") == [8.0, 16.0, 24.0]
    by_detach = run(ProgramSpec(program=traced.fix.program.replace("h.data", "h.detach()")), inline=True)
    assert by_detach.run.verdict == "runs"
    raising = BY_QUESTION["Does .data hide the damage?"].settings[controls.PROGRAM].replace("h.data", "h.detach()")
    assert run(ProgramSpec(program=raising), inline=True).run.verdict == "breaks backward"


def test_only_data_slips_through():
    assert verdicts("who notices") == ["breaks backward"] * 3 + ["wrong gradient", "runs"]


def test_thirteen_operations():
    assert verdicts("written over") == ["breaks backward"] * 6 + ["runs"] * 6 + ["breaks backward"]


def test_a_hook_forbids_and_out_of_place_runs():
    traced = opened("backward hook")
    assert "BackwardHookFunction" in traced.run.error.message
    assert "h = h.relu()" in traced.fix.program


def test_a_step_before_backward_breaks_it():
    traced = opened("step comes before")
    assert traced.run.verdict == "breaks backward"
    assert grad(traced.fix.run, "w") == [2.0, 4.0]


def test_the_base_of_unbind_breaks_its_rows_at_the_next_use():
    traced = opened("base of unbind")
    assert (traced.run.steps[-1].line, traced.run.steps[3].error) == (5, None)
    assert grad(traced.fix.run, "root") == [2.0, 2.0, 2.0, 2.0, 0.0, 0.0]


def test_updates_in_place_make_nothing():
    found = {update.name: update.allocations for update in opened("updating in place").updates}
    assert (found["in place"], found["new data"], found["in place, with a product"]) == (0, 8, 4)
    assert found["torch.optim.SGD"] == 0


@pytest.mark.parametrize("preset", PRESETS, ids=lambda preset: preset.question)
def test_a_question_sets_the_controls_to_a_spec_that_can_be_computed(preset):
    names = {controls.SECTION, controls.PROGRAM, controls.SEED, controls.FAMILY}
    names |= {f"in_place.{name}" for name in controls.UPDATE_FIELDS}
    assert set(preset.settings) <= names


def test_rows_can_be_added_edited_moved_and_removed():
    app = open_page(PAGE)
    app.text_input(key=controls.ADD).set_value("t.zero_()")
    run_to_the_end(app)
    assert app.text_area(key=controls.PROGRAM).value == DEFAULT_PROGRAM + "t.zero_()\n"
    app.button(key="in_place.row.6.Earlier").click()
    run_to_the_end(app)
    app.button(key="in_place.row.4.Remove").click()
    run_to_the_end(app)
    app.text_input(key="in_place.row.1").set_value("s = tanh(x)")
    run_to_the_end(app)
    lines = app.text_area(key=controls.PROGRAM).value.splitlines()
    assert lines[1:] == ["s = tanh(x)", "t = x + 1", "t.mul_(5)", "t.zero_()", "(s + t).sum().backward()"]
    assert errors(app) == []
    assert any("Runs" in one.value for one in app.success)


def test_the_corrected_program_can_be_taken_over():
    app = open_page(PAGE)
    app.button(key="in_place.use").click()
    run_to_the_end(app)
    assert "s = s.add(1)" in app.text_area(key=controls.PROGRAM).value
    assert any("Runs" in one.value for one in app.success)


def test_a_program_that_cannot_be_read_says_which_line():
    app = open_page(PAGE, **{controls.PROGRAM: "x = ones(3)\nx.save('file')"})
    assert errors(app) == []
    assert any("Line 2 calls .save" in text.value for text in app.text)


def test_every_tab_and_every_file_can_be_opened():
    for tab in ("Saved tensors", "Writes in place", "Graph before and after", "How to read this"):
        app = open_page(PAGE)
        app.session_state["in_place.details"] = tab
        run_to_the_end(app)
        assert errors(app) == [], tab
    spec = ProgramSpec()
    files = [*program_downloads(spec, run(spec)), *family_downloads(FamilySpec(), run(FamilySpec()))]
    files += update_downloads(UpdateSpec(), run(UpdateSpec()))
    made = {download.file_name: download.content() for download in files}
    assert all(made.values())
    assert json.loads(made["versions.json"])["run"]["verdict"] == "breaks backward"
    assert "SigmoidBackward0" in made["versions.html"]
    assert made["versions.csv"].count("\n") > 6


def test_the_difference_of_two_programs_keeps_their_lines():
    assert difference("a = 1\nb = 2\n", "a = 1\nb = 3\n").splitlines() == ["  a = 1", "- b = 2", "+ b = 3"]
