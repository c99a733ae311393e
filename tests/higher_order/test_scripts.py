"""The scripts of the page print what the page shows."""

from __future__ import annotations

import contextlib
import io
import re
import subprocess
import sys
from typing import get_args

import numpy as np
import pytest
import torch

from engine import run
from engine.figures.arrays import array
from engine.higher_order.functions import ProductFunction, ScalarFunction, VectorFunction
from engine.higher_order.problems import problem_of
from engine.higher_order.products import double_backward
from engine.higher_order.spec import (
    ArticleSpec,
    CurvatureSpec,
    DerivativeSpec,
    MatrixSpec,
    ProductSpec,
    RulingSpec,
    Situation,
    Topic,
)
from engine.script import script_for

NO_FOURTH = ("abs(x)", "0.3 * x", "a * x")
DERIVATIVES = [
    *(DerivativeSpec(function=name, order=4, x=0.7) for name in get_args(ScalarFunction) if name not in NO_FOURTH),
    DerivativeSpec(function="a * x", allow_unused=True, dtype="float32"),
    DerivativeSpec(function="a * x", materialize_grads=True),
    DerivativeSpec(function="abs(x)", order=2),
    DerivativeSpec(function="0.3 * x", order=1),
    DerivativeSpec(function="typed", expression="pi * x**2 * relu(x)", order=3),
]
MATRICES = [
    *(MatrixSpec(function=name, matrix="Jacobian", n=7) for name in get_args(VectorFunction)),
    *(MatrixSpec(function=name, n=9, seed=2) for name in get_args(VectorFunction) if name != "softmax"),
    MatrixSpec(function="product", point=(2.0, 3.0, 0.0, 0.0)),
    MatrixSpec(function="typed", expression="exp(-sum(x**2))", dtype="float32"),
]


def printed(spec) -> list[str]:
    lines = io.StringIO()
    before = torch.get_default_dtype()
    try:
        with contextlib.redirect_stdout(lines):
            exec(compile(script_for(spec), "script.py", "exec"), {"__name__": "__main__"})
    finally:
        torch.set_default_dtype(before)
    return lines.getvalue().splitlines()


@pytest.mark.parametrize("spec", DERIVATIVES, ids=lambda spec: f"{spec.text}-{spec.order}")
def test_a_derivative_script_prints_every_order(spec):
    found = [one for one in run(spec, inline=True).orders if one.outcome != "not reached"]
    assert printed(spec) == [f"order {one.order}: {one.value}, {one.nodes} nodes" for one in found]


@pytest.mark.parametrize("spec", MATRICES, ids=lambda spec: f"{spec.matrix}-{spec.function}")
def test_a_matrix_script_prints_the_same_matrix(spec):
    found, lines = run(spec, inline=True), printed(spec)
    assert lines[0] == f"shape {found.matrix.shape} zeros {found.zeros}"
    total = float(lines[1].removeprefix("sum of magnitudes "))
    assert total == pytest.approx(np.abs(array(found.matrix)).sum(), rel=1e-5 if spec.dtype == "float32" else 1e-12)
    if spec.matrix == "Hessian":
        ends = [float(one) for one in re.findall(r"-?[\d.]+(?:e[-+]\d+)?", lines[-1])]
        assert ends == pytest.approx([found.eigenvalues[0], found.eigenvalues[-1]], rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("function", get_args(ProductFunction))
def test_a_product_script_prints_the_norm_of_the_same_product(function):
    spec = ProductSpec(function=function, n=30)
    problem = problem_of(spec)
    v = torch.randn(problem.x.numel(), dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    norm = double_backward(problem.function, problem.x, v).norm().item()
    lines = printed(spec)
    assert lines[0].split()[:2] == ["n", str(problem.x.numel())]
    assert float(lines[0].split()[-1]) == pytest.approx(norm, rel=1e-12)
    assert len(lines) == 3
    assert max(float(line.split()[-1]) for line in lines[1:]) < 1e-9 * max(1.0, norm)


@pytest.mark.parametrize("function", get_args(ProductFunction))
def test_a_curvature_script_prints_the_same_eigenvalue(function):
    spec = CurvatureSpec(function=function, n=20, steps=7)
    found = run(spec, inline=True)
    words = printed(spec)[0].split()
    assert int(words[1]) == len(found.iterations)
    assert float(words[3]) == pytest.approx(found.eigenvalue, rel=1e-9, abs=1e-12)
    assert float(words[5]) == pytest.approx(found.iterations[-1].residual, rel=1e-6, abs=1e-12)


@pytest.mark.parametrize("situation", get_args(Situation))
def test_an_article_script_prints_the_error_and_a_right_product(situation):
    spec = ArticleSpec(situation=situation)
    one, lines = run(spec, inline=True).of(situation), printed(spec)
    if one.error is not None:
        assert lines[0].removeprefix("article: ").startswith(one.error.message.splitlines()[0])
    else:
        assert float(lines[0].split()[-1]) == pytest.approx(float(lines[-1].split()[-1]), rel=1e-12)
    assert lines[-1].startswith("corrected: ")


LEAKS = "create_graph leaks"
"""Its script collects garbage of the whole process and switches the collector off: run in a process of its own."""


@pytest.mark.parametrize("topic", [topic for topic in get_args(Topic) if topic != LEAKS])
def test_a_ruling_script_prints_every_ruling(topic):
    spec = RulingSpec(topic=topic)
    text = "\n".join(printed(spec))
    for one in run(spec, inline=True).rulings:
        assert (one.value if one.error is None else one.error.message) in text


@pytest.mark.slow
def test_scripts_run_in_a_clean_interpreter():
    specs = [DerivativeSpec(), MatrixSpec(), CurvatureSpec(), ArticleSpec(), RulingSpec()]
    program = "\n".join(map(script_for, specs))
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [line for spec in specs for line in printed(spec)]


@pytest.mark.slow
def test_the_script_on_leaks_prints_what_is_alive():
    spec = RulingSpec(topic=LEAKS)
    done = subprocess.run([sys.executable, "-c", script_for(spec)], capture_output=True, text=True, timeout=200)
    assert done.stdout.splitlines() == [one.value for one in run(spec, inline=True).rulings]


@pytest.mark.parametrize("spec", [*DERIVATIVES[:2], *MATRICES[:2], ProductSpec(), CurvatureSpec()], ids=range(6))
def test_a_script_is_short(spec):
    assert len(script_for(spec).splitlines()) <= 32
