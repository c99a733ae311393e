"""The ladder's scripts run by themselves and print what the engine returns."""

from __future__ import annotations

import contextlib
import io
import subprocess
import sys
from typing import get_args

import pytest

from engine import run
from engine.script import script_for
from engine.vectorisation.spec import CompiledLadderSpec, LadderSpec, Problem, SweepSpec

RUFF = (sys.executable, "-m", "ruff")
LADDERS = [
    *(LadderSpec(problem=problem, rows=6, columns=5, rounds=5) for problem in get_args(Problem)),
    LadderSpec(rows=6, columns=5, rounds=5, dtype="bfloat16", seed=4),
]


def label(spec) -> str:
    return f"{type(spec).__name__}-{spec.problem}-{spec.dtype}"


def check(lines: list[str], spec: LadderSpec) -> None:
    printed = dict(line.rsplit(" ", 1) for line in lines)
    ladder = run(spec, inline=True)
    assert float(printed["sum"]) == pytest.approx(ladder.result_sum, rel=1e-12)
    # A script is plain torch: it has no operator of the project's.
    measured = [one for one in ladder.rungs if one.outcome == "measured" and one.name != "compiled operator"]
    for one in measured:
        name = one.name.replace(" ", "_")
        assert float(printed[f"{name} max absolute error"]) == one.max_absolute_error
        assert int(printed[f"{name} nodes"]) == one.nodes
        assert float(printed[f"{name} seconds"]) > 0
    assert len(printed) == 1 + 3 * len(measured)


@pytest.mark.parametrize("spec", LADDERS, ids=label)
def test_a_script_prints_what_the_page_shows(spec):
    text, lines = script_for(spec), io.StringIO()
    with contextlib.redirect_stdout(lines):
        exec(compile(text, "script.py", "exec"), {"__name__": "__main__"})
    check(lines.getvalue().splitlines(), spec)


@pytest.mark.slow
def test_a_script_runs_in_a_clean_interpreter(tmp_path):
    (tmp_path / "script.py").write_text(script_for(LADDERS[0]), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-I", "script.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    check(done.stdout.splitlines(), LADDERS[0])


def test_the_script_of_a_sweep_prints_seconds_by_size():
    spec, lines = SweepSpec(smallest=2, largest=8, points=3, rounds=5, grow="rows", columns=3), io.StringIO()
    with contextlib.redirect_stdout(lines):
        exec(compile(script_for(spec), "script.py", "exec"), {"__name__": "__main__"})
    rows = [line.split() for line in lines.getvalue().splitlines()]
    assert [(int(size), name) for size, name, _ in rows] == [(n, w) for n in (2, 4, 8) for w in ("broadcast", "einsum")]
    assert all(float(seconds) > 0 for *_, seconds in rows)


def test_a_loop_too_long_to_wait_for_is_left_out():
    assert "element_loop" not in script_for(LadderSpec(rows=1000, columns=1000))
    assert "row_loop" in script_for(LadderSpec(rows=1000, columns=1000))


def test_scripts_are_in_ruffs_style(tmp_path):
    specs = [*LADDERS, CompiledLadderSpec(), SweepSpec(), SweepSpec(grow="columns", first="row loop")]
    for number, spec in enumerate(specs):
        (tmp_path / f"script_{number}.py").write_text(script_for(spec), encoding="utf-8")
    rules = ["--isolated", "--line-length", "120"]
    for command in (["check", *rules, "--select", "E,F,W,I,UP,B,C4"], ["format", *rules, "--diff"]):
        done = subprocess.run([*RUFF, *command, str(tmp_path)], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
