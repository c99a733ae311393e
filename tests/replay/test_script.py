"""The script runs by itself and prints the order and the norms that the page shows."""

from __future__ import annotations

import contextlib
import io
import subprocess
import sys
import warnings
from typing import Any

import pytest

from engine import run
from engine.models.spec import Embedding, Expression, Gpt, Mlp, ModelSpec, TiedLoop, TwoTower
from engine.replay.spec import GradientHook, Replay, ReplaySpec
from engine.runner.faults import error_text
from engine.script import script_for
from tests.models.families import NETWORKS, RAISING, SOUND_EXPRESSIONS, label

SMALL = ModelSpec(architecture=Mlp(layers=2, depth=2, width=4, in_features=4), input_requires_grad=True)
GPT = ModelSpec(architecture=Gpt(layers=2, heads=2, width=8, sequence=4, vocabulary=10, dropout=0.2))
SPECS = [
    ReplaySpec(model=SMALL, passes=3, retain_graph=True),
    ReplaySpec(model=SMALL, passes=2, create_graph=True),
    ReplaySpec(model=GPT, passes=2, new_forward=True),
    ReplaySpec(model=GPT, roots="loss and outputs", grad_outputs="random"),
    ReplaySpec(model=ModelSpec(architecture=TwoTower(width=8)), roots="outputs", grad_outputs="minus ones"),
    ReplaySpec(model=ModelSpec(architecture=Expression(name="complex_abs2")), grad_outputs="zeros"),
    ReplaySpec(
        model=ModelSpec(architecture=Embedding(vocabulary=9, width=4, tokens=6, sparse=True)),
        passes=2,
        new_forward=True,
    ),
    ReplaySpec(model=ModelSpec(architecture=GPT.architecture, checkpoint="each_block", autocast="bfloat16")),
    ReplaySpec(model=ModelSpec(architecture=TiedLoop(steps=3, width=4), checkpoint="segments")),
    *(
        ReplaySpec(model=SMALL, hook=GradientHook(kind=kind, at=at))
        for kind, at in (
            ("observe", "head.weight"),
            ("scale", "x"),
            ("zero", ""),
            ("replace by ones", "layers.1"),
            ("clip by value", "layers.1.linear.bias"),
        )
    ),
    ReplaySpec(model=SMALL, hook=GradientHook(kind="scale", at="layers.1", side="inputs", amount=-3.0)),
]
FAILING = [
    ReplaySpec(model=SMALL, passes=2),
    ReplaySpec(model=SMALL, roots="outputs"),
    ReplaySpec(model=ModelSpec(grad_mode="no_grad")),
    *(ReplaySpec(model=ModelSpec(architecture=Expression(name=name))) for name in RAISING),
]


def name_of(spec: ReplaySpec) -> str:
    plain = ReplaySpec()
    fields = [n for n in spec.__struct_fields__ if n != "model" and getattr(spec, n) != getattr(plain, n)]
    return "-".join([label(spec.model.architecture)[:40], *(f"{n}={getattr(spec, n)}" for n in fields)])[:120]


def printed(spec: ReplaySpec) -> tuple[list[str], str]:
    """(the lines a script prints in a fresh namespace, the words of the error it ended with)."""
    lines, error = io.StringIO(), ""
    with contextlib.redirect_stdout(lines), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            exec(compile(script_for(spec), "script.py", "exec"), {"__name__": "__main__"})
        except RuntimeError as raised:
            error = error_text(raised)
    return lines.getvalue().splitlines(), error


def expected(replay: Replay, leaves: bool = True) -> list[list[object]]:
    """The same from the replay: names with norms of what came in, then every leaf's gradient."""

    def norm(index: int | None) -> float | None:
        return None if index is None else replay.gradients[index].norm

    steps = [[step.name, *map(norm, step.received)] for step in replay.steps if step.node is not None]
    told = [[leaf.name, leaf.grad_norm] for leaf in replay.leaves if leaf.kind in ("parameter", "input")]
    return [*steps, *(told if leaves else [])]


def check(lines: list[str], rows: list[list[object]]) -> None:
    assert [line.split()[0] for line in lines] == [row[0] for row in rows]
    for line, row in zip(lines, rows, strict=True):
        words = line.split()[1:]
        assert [word == "None" for word in words] == [value is None for value in row[1:]], line
        found, told = ([float(value) for value in values if value not in (None, "None")] for values in (words, row[1:]))
        assert found == pytest.approx(told, rel=1e-5, abs=1e-12, nan_ok=True), line


EVERY: list[Any] = [
    *(pytest.param(ReplaySpec(model=ModelSpec(architecture=a)), marks=pytest.mark.slow) for a in NETWORKS),
    *(ReplaySpec(model=ModelSpec(architecture=a)) for a in SOUND_EXPRESSIONS),
]


@pytest.mark.parametrize("spec", [*SPECS, *EVERY], ids=name_of)
def test_a_script_prints_what_the_page_shows(spec):
    lines, error = printed(spec)
    assert error == ""
    check(lines, expected(run(spec, inline=True)))


@pytest.mark.parametrize("spec", FAILING, ids=name_of)
def test_a_script_ends_with_the_error_the_page_shows(spec):
    replay = run(spec, inline=True)
    lines, error = printed(spec)
    (told,) = [one for one in (replay.error, *(one.error for one in replay.passes)) if one is not None]
    assert error == told.message
    check(lines, expected(replay, leaves=False))


@pytest.mark.slow
def test_a_script_runs_in_a_clean_interpreter_without_the_project(tmp_path):
    """Isolated mode in an empty folder: torch is all it needs."""
    spec = SPECS[3]
    (tmp_path / "script.py").write_text(script_for(spec), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-I", "script.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    check(done.stdout.splitlines(), expected(run(spec, inline=True)))


def test_scripts_are_in_ruffs_style_and_name_nothing_of_the_project(tmp_path):
    for number, spec in enumerate([*SPECS, *FAILING]):
        text = script_for(spec)
        assert "engine" not in text
        (tmp_path / f"script_{number}.py").write_text(text, encoding="utf-8")
    rules = ["--isolated", "--line-length", "120"]
    select = ["--select", "E,F,W,I,UP,B,C4,PIE,RET"]
    ruff = (sys.executable, "-m", "ruff")
    lint = subprocess.run([*ruff, "check", *rules, *select, str(tmp_path)], capture_output=True, text=True, check=False)
    assert lint.returncode == 0, lint.stdout[-3000:]
    form = subprocess.run(
        [*ruff, "format", *rules, "--diff", str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert form.returncode == 0, form.stdout[-3000:]
