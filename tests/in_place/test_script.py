"""The scripts of the page run by themselves and print what the engine's own run of the same spec has."""

from __future__ import annotations

import contextlib
import io
import subprocess
import sys
import warnings

import numpy as np
import pytest

from engine import run
from engine.in_place.spec import FamilyName, FamilySpec, ProgramSpec, UpdateSpec
from engine.script import script_for
from pages.backward.in_place_presets import PRESETS

PROGRAMS = [
    *(preset.settings["in_place.program"] for preset in PRESETS if "in_place.program" in preset.settings),
    "x = ones(3, requires_grad=True)\nwith inference_mode():\n    a = ones(3)\n\n    a.add_(1)  # none\n"
    "y = norm(x * pi) + F.softplus(x)\ny.sum().backward()\n",
    "x = randn(2, dtype=float64, requires_grad=True)\n"
    "with no_grad():\n    with enable_grad():\n        y = detach(x) * e\n"
    "h = hooked(x)\nz = cat([h, y])\nz.backward(ones(4))\ndel z\n",
]


def printed(spec):
    """The lines that a script prints in a fresh namespace."""
    lines = io.StringIO()
    with contextlib.redirect_stdout(lines), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(script_for(spec), "script.py", "exec"), {"__name__": "__main__"})
    return lines.getvalue().splitlines()


def expected(traced):
    """The same lines from the engine's result."""
    steps = traced.run.steps
    lines = [
        f"{step.line} { {state.name: state.version for state in step.tensors} }".replace("{ {", "{{")
        for step in steps
        if step.error is None
    ]
    lines = [line.replace("{{", "{").replace("} }", "}") for line in lines]
    if traced.run.error is not None:
        lines += f"{traced.run.error.type}: {traced.run.error.message}".splitlines()
    return lines


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_prints_the_versions_after_every_statement(program):
    traced = run(ProgramSpec(program=program), inline=True)
    *lines, gradients = printed(ProgramSpec(program=program))
    assert lines == expected(traced)
    told = eval(gradients, {"nan": np.nan})
    states = {state.name: state for state in traced.run.steps[-1].tensors if state.is_leaf and state.has_grad}
    assert told.keys() == states.keys()
    for name, values in told.items():
        grad = states[name].grad
        np.testing.assert_allclose(np.frombuffer(grad.data, grad.dtype).reshape(grad.shape), values, rtol=1e-6)


@pytest.mark.parametrize("name", FamilyName.__args__)
def test_a_family_prints_what_became_of_every_program(name):
    family = run(FamilySpec(name=name), inline=True)
    lines = printed(FamilySpec(name=name))
    assert len(lines) == len(family.outcomes)
    for line, outcome in zip(lines, family.outcomes, strict=True):
        if outcome.error is not None:
            assert line == f"{outcome.error.type}: {outcome.error.message}"
        else:
            told = {state.name: state.grad_fn or "no grad_fn" for state in outcome.states}
            assert line == str(dict(sorted(told.items(), key=lambda one: line.index(f"'{one[0]}'"))))


def test_an_update_prints_its_new_storages():
    spec = UpdateSpec(tensors=2, width=4)
    found = {update.name: update for update in run(spec, inline=True).updates}
    in_place, new_data, rebinding = printed(spec)
    assert in_place.startswith(f"in_place {found['in place'].allocations:.0f} new storages; data_ptr kept: True")
    assert new_data.startswith(f"new_data {found['new data'].allocations:.0f} new storages; data_ptr kept: False")
    assert rebinding.endswith("is_leaf: False")


@pytest.mark.slow
def test_a_script_runs_in_a_clean_interpreter_without_the_project(tmp_path):
    spec = ProgramSpec()
    (tmp_path / "script.py").write_text(script_for(spec), encoding="utf-8")
    command = [sys.executable, "-I", "script.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[:-1] == expected(run(spec, inline=True))


def test_scripts_are_in_ruffs_style_and_name_nothing_of_the_project(tmp_path):
    specs = [
        *(ProgramSpec(program=p) for p in PROGRAMS),
        *(FamilySpec(name=n) for n in FamilyName.__args__),
        UpdateSpec(),
    ]
    for number, spec in enumerate(specs):
        text = script_for(spec)
        assert "engine" not in text
        (tmp_path / f"script_{number}.py").write_text(text, encoding="utf-8")
    rules = ["--isolated", "--line-length", "120"]
    ruff = (sys.executable, "-m", "ruff")
    select = ["--select", "E,F,W,I,UP,B,C4,PIE"]
    lint = subprocess.run([*ruff, "check", *rules, *select, str(tmp_path)], capture_output=True, text=True, check=False)
    assert lint.returncode == 0, lint.stdout[-3000:]
    form = subprocess.run(
        [*ruff, "format", *rules, "--diff", str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert form.returncode == 0, form.stdout[-3000:]
