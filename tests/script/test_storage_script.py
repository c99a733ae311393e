"""The scripts of the storage page run by themselves and print what the engine's own run of the same spec returns."""

from __future__ import annotations

import contextlib
import io
import subprocess
import sys
import warnings

import pytest

from engine import run
from engine.runner.faults import error_text
from engine.script import script_for
from engine.storage.chain import parse_chain
from engine.storage.dtypes import DTYPES
from engine.storage.spec import CostOperation, CostSpec, LayoutSpec


def layout(chain="", **fields):
    return LayoutSpec(steps=parse_chain(chain), **fields)


SPECS = [
    layout(),
    layout(shape=()),
    layout(".transpose(0, 1)[1:, ::2].reshape(-1)", view_shape=(2, 5)),
    layout(".transpose(0, 1)", view_shape=(-1,), write="mul_", write_step=1),
    layout(".clone().transpose(0, 1)[1:]", requires_grad=True, write="add_", write_step=2),
    layout(write="zero_", dtype="int16", fill="ones"),
    layout(".to(memory_format=torch.channels_last).mT", shape=(2, 3, 4, 5)),
    layout(".unsqueeze(0)", shape=(2, 3, 4, 5), memory_format="channels_last", fill="normal", seed=5),
    layout(".chunk(2, 1)[1].unbind()[0].view(torch.int32)"),
    layout(".real[::2].clone()", dtype="complex64", fill="normal"),
    layout(".as_strided((3, 3), (1, 1), 2).expand(2, 3, 3)", shape=(8,), view_shape=(18,)),
    *(layout(".T", dtype=dtype, fill=fill) for dtype in DTYPES for fill in ("arange", "normal")),
]
FAILING = [
    layout(".transpose(0, 1).view(24)", view_shape=(3,)),
    layout("[::-1]"),
    layout(".flip(1)", dtype="float8_e5m2"),
    layout(".unflatten(0, (1, 1))", shape=()),
    layout("[1]", shape=()),
]
GOING_ON = [
    layout(shape=(4,), view_shape=(1, 3), write="mul_"),
    layout(".clone()[0:]", view_shape=(5, -1), write="mul_", write_step=2, requires_grad=True),
    layout("[1:].view(7).clone()", view_shape=(3,), write="add_", write_step=1),
    layout("[1:].view(7).clone()", write="add_", write_step=2),
    layout("[1:].view(7).clone()", write="zero_", requires_grad=True, dtype="float64"),
    layout(requires_grad=True, write="add_"),
    layout(".expand(3, 4, 6)", write="add_", write_step=1, view_shape=(72,)),
    layout(".clone().chunk(2)[1]", write="add_", write_step=1, requires_grad=True),
    layout(".clone().unbind()[0]", write="add_", write_step=1, requires_grad=True),
    layout(".clone().unbind()[0]", write="add_", write_step=2, requires_grad=True),
    layout(".clone()[0:].transpose(0, 1)", write="mul_", write_step=2, requires_grad=True),
]
"""What PyTorch refuses on the way, and the write that the page reports all the same."""


def name_of(spec):
    fields = [f"{n}={getattr(spec, n)}" for n in spec.__struct_fields__ if getattr(spec, n) != getattr(LayoutSpec(), n)]
    return script_for(spec).count("\n") and " ".join(fields)[:80]


def printed(spec):
    """(the lines a script prints in a fresh namespace, the words of the error it ended with)."""
    lines, error = io.StringIO(), ""
    with contextlib.redirect_stdout(lines), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            exec(compile(script_for(spec), "script.py", "exec"), {"__name__": "__main__"})
        except (RuntimeError, ValueError, IndexError) as raised:
            error = error_text(raised)
    return lines.getvalue().splitlines(), error


def shown(name, found):
    return (
        f"{name} {found.shape} {found.stride} {found.storage_offset} {found.storage_bytes} storage {found.storage_id}"
    )


def expected(traced, goes_on=False):
    """The same lines from the engine's result; one that goes on prints what PyTorch refused in the chain."""
    names = ["x", *(f"x{i}" for i in range(1, len(traced.layouts)))]
    lines = [shown(name, found) for name, found in zip(names, traced.layouts, strict=True)]
    lines += [outcome.error.message for outcome in traced.outcomes if outcome.error and goes_on]
    if traced.view is not None:
        view = traced.view
        lines.append(shown("view", view.view) if view.view else f"view {view.view_error.message}")
        lines.append(shown("reshape", view.reshape) if view.reshape else f"reshape {view.reshape_error.message}")
    if traced.saved is not None:
        lines.append(f"torch.save {traced.saved.file_bytes}")
    if traced.write is not None:
        lines += [traced.write.error.message] if traced.write.error else []
        lines += [f"version {name.version_after} {name.grad_fn_after}" for name in traced.write.names]
    return [part for line in lines for part in line.splitlines()]


@pytest.mark.parametrize("spec", [*SPECS, *GOING_ON], ids=name_of)
def test_a_script_prints_what_the_page_shows(spec):
    lines, error = printed(spec)
    assert error == ""
    assert lines == expected(run(spec, inline=True), goes_on=spec.write != "none")


@pytest.mark.parametrize("spec", FAILING, ids=name_of)
def test_a_script_ends_with_the_error_the_page_shows(spec):
    traced = run(spec, inline=True)
    lines, error = printed(spec)
    assert error == traced.outcomes[-1].error.message
    assert lines == expected(traced)


def test_a_script_runs_in_a_clean_interpreter_without_the_project(tmp_path):
    """Isolated mode in an empty folder: torch is all it needs."""
    spec = SPECS[3]
    (tmp_path / "script.py").write_text(script_for(spec), encoding="utf-8")
    command = [sys.executable, "-I", "script.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == expected(run(spec, inline=True))


COSTS = [
    CostSpec(layout=layout(".transpose(0, 1)", shape=(16, 16)), operation=operation, rounds=5)
    for operation in CostOperation.__args__
    if operation != "conv2d"
]
COSTS.append(
    CostSpec(layout=layout(".permute(0, 3, 1, 2)", shape=(1, 8, 8, 2)), operation="conv2d", rounds=5, threads=2)
)


@pytest.mark.slow
@pytest.mark.parametrize("spec", COSTS, ids=lambda spec: spec.operation)
def test_the_script_of_a_measurement_prints_three_times(spec):
    lines, error = printed(spec)
    assert error == ""
    assert [line.rsplit(" ", 1)[0] for line in lines] == ["contiguous copy", "view", ".contiguous()"]
    assert all(0 < float(line.rsplit(" ", 1)[1]) < 60 for line in lines)


RUFF = (sys.executable, "-m", "ruff")


def test_scripts_are_in_ruffs_style_and_name_nothing_of_the_project(tmp_path):
    for number, spec in enumerate([*SPECS, *FAILING, *GOING_ON, *COSTS]):
        text = script_for(spec)
        assert "engine" not in text
        assert text.count("\n") <= 50
        (tmp_path / f"script_{number}.py").write_text(text, encoding="utf-8")
    rules = ["--isolated", "--line-length", "120"]
    select = ["--select", "E,F,W,I,UP,B,C4,PIE,RET"]
    lint = subprocess.run([*RUFF, "check", *rules, *select, str(tmp_path)], capture_output=True, text=True, check=False)
    assert lint.returncode == 0, lint.stdout[-3000:]
    form = subprocess.run(
        [*RUFF, "format", *rules, "--diff", str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert form.returncode == 0, form.stdout[-3000:]
