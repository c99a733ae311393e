"""The script prints the scale and the loss of every step, and what the formats round to 0, as the page shows them."""

from __future__ import annotations

import contextlib
import io
import subprocess
import sys
from typing import get_args

import pytest

from engine import run
from engine.grad_scaler.injections import parse_injections
from engine.grad_scaler.spec import GradScalerSpec, Mistake
from engine.script import script_for
from tests.grad_scaler.test_training import CASE, TINY

SPECS = [
    CASE,
    GradScalerSpec(model=None, autocast="off", optimizers=2, factor=1e-8, steps=2),
    GradScalerSpec(model=TINY, steps=5, optimizers=2, clipping="unscale_ first", injections=parse_injections("2 nan")),
    GradScalerSpec(model=TINY, steps=4, injections=parse_injections("2 inf in head.bias"), optimizer="AdamW"),
    *(GradScalerSpec(model=TINY, steps=3, mistake=mistake, accumulation=2) for mistake in get_args(Mistake)),
]


def expected(spec: GradScalerSpec) -> list[str]:
    found = run(spec, inline=True)
    lines = [f"step {s.number} scale {s.scale_before} to {s.scale_after} loss {s.loss}" for s in found.run.steps]
    if found.run.error is not None:
        return [*lines, f"{found.run.error.type}: {found.run.error.message}"]
    spread = found.spreads[0]
    shares = [one for one in spread.shares if one.scale in (1.0, spec.init_scale)]
    return lines + [f"{s.dtype} scale {s.scale} rounds to 0: {s.to_zero} of {s.counted}" for s in shares]


def test_the_scripts_print_what_the_page_shows():
    for spec in SPECS[:2]:
        check(spec)


@pytest.mark.slow
def test_every_script_prints_what_the_page_shows():
    for spec in SPECS[2:]:
        check(spec)


def check(spec: GradScalerSpec) -> None:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        try:
            exec(compile(script_for(spec), "script.py", "exec"), {"__name__": "__main__"})
        except Exception as error:
            print(f"{type(error).__name__}: {error}")
    assert printed.getvalue().splitlines() == expected(spec), spec


@pytest.mark.slow
def test_the_script_runs_in_a_clean_interpreter():
    done = subprocess.run([sys.executable, "-c", script_for(CASE)], capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == expected(CASE)
