"""The page's scripts run by themselves and print what the engine returns; so does the kernel of one's own."""

from __future__ import annotations

import ast
import contextlib
import io
import json
import os
import shutil
import subprocess
import sys

import pytest

from engine import run
from engine.operator_ladder.catalogue import CATALOGUE, offered
from engine.operator_ladder.spec import OperatorChecksSpec, OperatorLadderSpec, OperatorSweepSpec, RooflineSpec
from engine.script import script_for
from engine.script.own_kernel import KERNEL_FILE, LOADER_FILE, kernel_text, loader_text
from tests.source_tree import ROOT

RUFF = (sys.executable, "-m", "ruff")


def ladder_spec(operator: str) -> OperatorLadderSpec:
    row = CATALOGUE[operator]
    work = "forward" if row.backward is None else "forward + backward"
    inner = 3 if row.sizes[2] else 1
    return OperatorLadderSpec(operator=operator, rows=6, columns=10, inner=inner, rounds=5, work=work, seed=2)


def printed(spec) -> list[str]:
    lines = io.StringIO()
    with contextlib.redirect_stdout(lines):
        exec(compile(script_for(spec), "script.py", "exec"), {"__name__": "__main__"})
    return lines.getvalue().splitlines()


def check(lines: list[str], spec: OperatorLadderSpec) -> None:
    told = dict(line.rsplit(" ", 1) for line in lines)
    ladder = run(spec, inline=True)
    assert float(told["sum"]) == pytest.approx(ladder.total, rel=1e-12)
    for way in spec.row.ways:
        rung = next(rung for rung in ladder.rungs if rung.name == way.rung)
        if way.is_slow or rung.outcome != "measured":
            continue
        assert float(told[f"{way.function} seconds"]) > 0
        if spec.work != "forward" and not way.has_own_mask:
            assert int(told[f"{way.function} saved tensors"]) == rung.saved_tensors
        if rung.error_eps is not None and not way.rung.startswith("atlas"):
            assert float(told[f"{way.function} error"]) == pytest.approx(rung.error_eps)
        if rung.gradient_error_eps is not None and not way.rung.startswith("atlas"):
            assert float(told[f"{way.function} gradient error"]) == pytest.approx(rung.gradient_error_eps)


FIRST = ("gelu_tanh", "gemm", "adamw_step_")
"""One of each kind; the others' scripts run in the slow suite."""


@pytest.mark.parametrize(
    "operator", [pytest.param(name, marks=() if name in FIRST else pytest.mark.slow) for name in offered()]
)
def test_a_script_prints_what_the_page_shows(operator):
    check(printed(ladder_spec(operator)), ladder_spec(operator))


@pytest.mark.slow
def test_a_script_runs_in_a_clean_interpreter(tmp_path):
    (tmp_path / "script.py").write_text(script_for(ladder_spec("gelu_tanh")), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(tmp_path / "script.py")],
        cwd=ROOT,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    check(done.stdout.splitlines(), ladder_spec("gelu_tanh"))


def test_a_script_away_from_the_project_says_how_to_run_it(tmp_path):
    """Its imports of the project alone, without site-packages: importing PyTorch first would take seconds."""
    (imports,) = [node for node in ast.parse(script_for(OperatorChecksSpec())).body if isinstance(node, ast.Try)]
    done = subprocess.run(
        [sys.executable, "-S", "-c", ast.unparse(imports)],
        cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    (told,) = done.stderr.splitlines()
    assert told == "No module named 'engine': run this in the project's folder, or set PYTHONPATH to it."


def test_the_script_of_a_sweep_prints_seconds_by_size():
    rows = [line.split() for line in printed(OperatorSweepSpec(smallest=2, largest=8, points=3, rounds=5))]
    assert [(int(size), name) for size, name, _ in rows] == [(n, w) for n in (2, 4, 8) for w in ("built_in", "atlas")]
    assert all(float(seconds) > 0 for *_, seconds in rows)


def test_the_script_of_the_checks_prints_a_verdict_for_each():
    assert [line.split()[0] for line in printed(OperatorChecksSpec())] == ["gradcheck", "gradgradcheck"]


def test_scripts_are_in_ruffs_style(tmp_path):
    specs = [*map(ladder_spec, offered()), *(OperatorChecksSpec(operator=name) for name in offered())]
    specs += [RooflineSpec(), OperatorSweepSpec(), OperatorLadderSpec(work="forward", dtype="bfloat16", threads=2)]
    for number, spec in enumerate(specs):
        (tmp_path / f"script_{number}.py").write_text(script_for(spec), encoding="utf-8")
    (tmp_path / LOADER_FILE).write_text(loader_text(), encoding="utf-8")
    rules = ["--isolated", "--line-length", "120"]
    for command in (["check", *rules, "--select", "E,F,W,UP,B,C4"], ["format", *rules, "--diff"]):
        done = subprocess.run([*RUFF, *command, str(tmp_path)], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]


AGAINST_PYTORCH = f"""
import json
import torch
from {LOADER_FILE.removesuffix(".py")} import scaled_relu

told = {{}}
inputs = [torch.randn(7), torch.randn(3, 4).t(), torch.randn(4).expand(3, 4), torch.randn(3, 1).t(), torch.empty(0)]
inputs += [torch.tensor(2.0), torch.tensor([-1.0, 2.0]), torch.tensor([-1.0, 0.0, 2.0, torch.nan, torch.inf])]
for number, x in enumerate(inputs):
    for scale in (2.0, -2.0):
        leaf = x.clone().requires_grad_()
        results = scaled_relu(leaf, scale), scale * leaf.relu()
        gradients = [torch.autograd.grad(y.sum(), leaf)[0] for y in results]
        pairs = (results, gradients)
        told[f"{{number}}, {{scale}}"] = [torch.allclose(*pair, rtol=0, atol=0, equal_nan=True) for pair in pairs]
    if not x.isnan().any():
        told[f"opcheck {{number}}"] = list(torch.library.opcheck(scaled_relu.default, (x, -2.0)).values())
gradient = torch.tensor([-1.0, 2.0], requires_grad=True)
scaled_relu(gradient, -2.0).sum().backward()
told["gradient"] = gradient.grad.tolist()
try:
    scaled_relu(torch.ones(2, dtype=torch.float64), 1.0)
except RuntimeError as error:
    told["refusal"] = str(error)
print(json.dumps(told))
"""
"""What a user may do with it: negative scales, strides of every kind, NaN, another dtype."""


@pytest.mark.slow
def test_the_kernel_of_ones_own_is_what_pytorch_computes(tmp_path):
    if shutil.which("c++") is None and shutil.which("g++") is None:
        pytest.skip("needs a C++ compiler")
    (tmp_path / KERNEL_FILE).write_text(kernel_text(), encoding="utf-8")
    (tmp_path / LOADER_FILE).write_text(loader_text(), encoding="utf-8")
    (tmp_path / "against_pytorch.py").write_text(AGAINST_PYTORCH, encoding="utf-8")
    environment = os.environ | {"TORCH_EXTENSIONS_DIR": str(tmp_path / "built")}
    outputs = []
    for file in (LOADER_FILE, "against_pytorch.py"):
        done = subprocess.run(
            [sys.executable, file], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr[-3000:]
        outputs.append(done.stdout.splitlines())
    assert outputs[0][-1] == "results and gradients are PyTorch's"
    assert [line.count("SUCCESS") for line in outputs[0][:-1]] == [4] * 4
    told = json.loads(outputs[1][-1])
    assert told.pop("refusal") == "scaled_relu: expected x in float32; convert it with x.float()."
    assert told.pop("gradient") == [0.0, -2.0]
    assert len(told) == 16 + 7
    assert {name: found for name, found in told.items() if set(found) - {True, "SUCCESS"}} == {}
