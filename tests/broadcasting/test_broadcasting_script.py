"""The scripts of the page run in a clean interpreter and print what the page shows."""

from __future__ import annotations

import contextlib
import io
import subprocess
import sys
import warnings

import pytest

from engine import run
from engine.broadcasting.spec import BroadcastSpec, EinsumSpec, IndexSize, Operand
from engine.runner.contract import Spec
from engine.script import script_for

BROADCASTS = [
    BroadcastSpec(),
    BroadcastSpec(operation="matmul", operands=(Operand((2, 1, 3, 4)), Operand((5, 4, 6)))),
    BroadcastSpec(operation="where", operands=(Operand((3, 1), "bool"), Operand((4,)), Operand(()))),
    BroadcastSpec(operation="mse_loss", operands=(Operand((4, 1)), Operand((4,)))),
    BroadcastSpec(operation="mul", operands=(Operand((3,), "int32"), Operand((), "Python float"))),
    BroadcastSpec(operation="mul", operands=(Operand((3,)), Operand((2, 1)), Operand((), "Python complex"))),
    BroadcastSpec(operation="sub", operands=(Operand((100_000, 1)), Operand((100_000,)))),
]
REFUSED = [
    BroadcastSpec(operands=(Operand((2, 3, 4, 4)), Operand((3,)))),
    BroadcastSpec(operands=(Operand((40_000, 40_000)), Operand((30_000,)))),
    BroadcastSpec(operation="sub", operands=(Operand((3,), "bool"), Operand((3,), "bool"))),
    EinsumSpec(equation="ij,jk->il"),
    EinsumSpec(equation="i1🙂"),
    EinsumSpec(equation='"\\\n'),
]
EINSUMS = [
    EinsumSpec(),
    EinsumSpec(equation="...ij,...jk->...ik"),
    EinsumSpec(equation="ii->i"),
    EinsumSpec(equation="bij,bjk", dtype="int64"),
    EinsumSpec(sizes=(IndexSize("i", 2000),), other_size=3000),
]


def printed(spec: Spec) -> list[str]:
    lines = io.StringIO()
    with contextlib.redirect_stdout(lines), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(script_for(spec), "script.py", "exec"), {"__name__": "__main__"})
    return lines.getvalue().splitlines()


@pytest.mark.parametrize("spec", BROADCASTS, ids=lambda spec: f"{spec.operation}-{spec.shapes}")
def test_a_broadcast_script_prints_what_the_page_shows(spec):
    outcome, lines = run(spec, inline=True), printed(spec)
    assert lines[:3] == [
        f"shape {outcome.shape}",
        f"dtype torch.{outcome.dtype}",
        f"result bytes {outcome.output_bytes}",
    ]
    if spec.operation != "matmul":
        assert lines[3 : 3 + sum(not place.is_number for place in outcome.operands)] == [
            f"{place.name} expanded stride {place.expanded_stride}" for place in outcome.operands if not place.is_number
        ]
    gradients = [place.gradient.shape for place in outcome.operands if place.gradient is not None]
    assert not gradients or lines[-1] == f"grad shapes {gradients}"


@pytest.mark.parametrize("spec", EINSUMS, ids=lambda spec: spec.equation)
def test_an_einsum_script_prints_what_the_page_shows(spec):
    outcome, lines = run(spec, inline=True), printed(spec)
    products = sum(
        call.inputs[0][0] * call.inputs[0][1] * call.inputs[0][2] * call.inputs[1][2]
        for call in outcome.dispatched
        if call.name == "aten.bmm.default"
    )
    assert lines == [
        f"shape {outcome.shape}",
        f"stride {outcome.stride}",
        f"bytes {outcome.output_bytes}",
        f"matrix products {products} multiplications",
    ]


@pytest.mark.parametrize("spec", REFUSED, ids=lambda spec: repr(getattr(spec, "equation", None) or spec.shapes))
def test_a_refused_script_prints_pytorchs_words(spec):
    outcome, lines = run(spec, inline=True), printed(spec)
    assert outcome.error.message in "\n".join(lines)


@pytest.mark.slow
def test_scripts_run_in_a_clean_interpreter():
    specs = [BROADCASTS[0], EINSUMS[0]]
    program = "\n".join(map(script_for, specs))
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [line for spec in specs for line in printed(spec)]


@pytest.mark.parametrize("spec", [*BROADCASTS, *EINSUMS, *REFUSED], ids=range(18))
def test_a_script_is_short(spec):
    assert len(script_for(spec).splitlines()) <= 26
