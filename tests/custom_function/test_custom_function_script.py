"""The script runs in a clean interpreter and prints what the page shows."""

from __future__ import annotations

import ast
import contextlib
import io
import subprocess
import sys
import warnings

import numpy as np
import pytest
import torch

from engine.custom_function.catalogue import CATALOGUE, TYPED
from engine.custom_function.spec import CustomFunctionSpec
from engine.figures.arrays import array
from engine.script import script_for
from tests.custom_function.checking import checked

SPECS = [
    *(CustomFunctionSpec(function=name, grad_output=3.0) for name in CATALOGUE),
    CustomFunctionSpec(inputs="expanded"),
    CustomFunctionSpec(function="XExp", inputs="overlapping windows"),
    CustomFunctionSpec(function="WrongFactor", inputs="empty"),
    CustomFunctionSpec(function="LinearFunction", dtype="float32"),
    CustomFunctionSpec(function="ComplexSquareUnconjugated", dtype="complex128"),
    CustomFunctionSpec(function="HandReLU", inputs="own points", points=(-1.0, 0.0)),
    CustomFunctionSpec(function=TYPED, forward="gelu(x) * z + pi", backward="g * z", backward_z="g * (y > 1)"),
    CustomFunctionSpec(function=TYPED, forward="x", backward="2 * g"),
    CustomFunctionSpec(function=TYPED, forward="x * z", backward=""),
    CustomFunctionSpec(function=TYPED, forward="x > 0.5", backward="1"),
]


def said(spec):
    out = io.StringIO()
    with contextlib.redirect_stdout(out), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(script_for(spec), "script.py", "exec"), {"__name__": "__main__"})
    return dict(line.split(" ", 1) for line in out.getvalue().splitlines())


def same(printed: str, arrays) -> bool:
    values = ast.literal_eval(printed)
    return all(
        (one is None) == (stored is None) and (one is None or np.allclose(np.array(one), array(stored), 1e-6, 1e-12))
        for one, stored in zip(values, arrays, strict=True)
    )


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: f"{spec.function}-{spec.inputs}-{spec.dtype}-{spec.forward}")
def test_the_script_prints_what_the_page_shows(spec):
    lines, found = said(spec), checked(spec)
    assert same(lines["outputs"], found.call.outputs)
    if found.call.backward_error is not None:
        assert lines["backward"] == found.call.backward_error.message
    elif found.call.grad_fn:
        assert same(lines["gradients"], found.call.gradients)
    error = found.check.error
    expected = "True" if error is None else f"{error.type} {error.message.splitlines()[0]}"
    assert lines["gradcheck"] == expected
    if spec.function != TYPED or spec.backward:
        saved = [one.what for one in found.call.kept if one.where == "save_for_backward"]
        assert lines["saved"].count("(") == len(saved)


@pytest.mark.slow
def test_the_script_needs_torch_alone():
    done = subprocess.run(
        [sys.executable, "-I", "-c", script_for(CustomFunctionSpec())], capture_output=True, text=True, timeout=200
    )
    assert done.returncode == 0, done.stderr[-500:]
    lines = done.stdout.splitlines()
    assert lines[-1] == "gradcheck GradcheckError Jacobian mismatch for output 0 with respect to input 0,"
    assert torch.tensor(ast.literal_eval(lines[2].split(" ", 1)[1])[0]).max() == 0.1
