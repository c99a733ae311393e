"""Corrected programs: each was run, computes what the first one computed, and gives the right gradient."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.in_place import fixes
from engine.in_place.families import FAMILIES
from engine.in_place.fixes import changed_lines, find_fix
from engine.in_place.trace import run_program

BEFORE = "x = tensor([0.5, 1.0, 2.0], requires_grad=True)\n"


def fix_of(program):
    return find_fix(program, 0, run_program(program, 0))


def gradient(run, name="x"):
    (state,) = (state for state in run.steps[-1].tensors if state.name == name)
    return np.frombuffer(state.grad.data, state.grad.dtype)


@pytest.mark.parametrize(
    ("program", "rule", "line"),
    [
        ("x = ones(2, requires_grad=True)\nx.add_(1)\n", fixes.UNDER_NO_GRAD, "    x.add_(1)"),
        (BEFORE + "y = exp(x)\ny += 1\ny.sum().backward()\n", fixes.OUT_OF_PLACE, "y = y + 1"),
        (BEFORE + "y = exp(x)\ny -= 1 - x\ny.sum().backward()\n", fixes.OUT_OF_PLACE, "y = y - (1 - x)"),
        (BEFORE + "y = exp(x)\ny[0] = 1\ny.sum().backward()\n", fixes.CLONE_SAVED, "y = exp(x).clone()"),
        (BEFORE + "h = x * 1\ny = h * h\nv = h[0]\nv.zero_()\ny.sum().backward()\n", fixes.CLONE_SAVED,
         "y = h.clone() * h.clone()"),
        (BEFORE + "y = x * x\nwith no_grad():\n    x.sub_(1)\ny.sum().backward()\n", fixes.BACKWARD_FIRST,
         "    x.sub_(1)"),
        (BEFORE + "h = x * 1\na, b, c = h.unbind()\na.mul_(2)\nh.sum().backward()\n", fixes.SINGLE_VIEWS,
         "a = h.select(0, 0)"),
        (BEFORE + "h = x * 1\na, b = h.split(2)\nh.mul_(2)\nb.sum().backward()\n", fixes.SINGLE_VIEWS,
         "b = h.narrow(0, 2, 1)"),
        (BEFORE + "h = (x * 1).expand(2, 3)\nh.mul_(2)\nh.sum().backward()\n", fixes.CLONE_TARGET, "h = h.clone()"),
        (BEFORE + "y = (x * x).sum()\ny.backward()\ny.backward()\n", fixes.RETAIN, "y.backward(retain_graph=True)"),
        (BEFORE + "y = x * x\ny.backward()\n", fixes.SUMMED, "y.sum().backward()"),
        ("with inference_mode():\n    a = ones(2)\na.add_(1)\n", fixes.CLONE_TARGET, "a = a.clone()"),
        (BEFORE + "h = x + 0\ny = h * h\nz = relu(h, inplace=True)\ny.sum().backward()\n", fixes.OUT_OF_PLACE,
         "z = relu(h)"),
    ],
)  # fmt: skip
def test_each_rule_writes_the_line_that_a_person_would(program, rule, line):
    found = fix_of(program)
    assert found is not None
    assert found.rule == rule
    assert line in found.program.splitlines()
    assert found.run.verdict == "runs"
    assert changed_lines(program, found.program) == found.changed
    assert set(found.changed) <= set(range(1, len(found.program.splitlines()) + 1))


@pytest.mark.parametrize(
    ("program", "derivative"),
    [
        ("y = exp(x)\ny.add_(1)\ny.sum().backward()", np.exp),
        ("y = tanh(x)\ny.mul_(3)\ny.sum().backward()", lambda x: 3 * (1 - np.tanh(x) ** 2)),
        ("h = x * 2\ny = h * h\nh.data.zero_()\ny.sum().backward()", lambda x: 8 * x),
        ("h = x * 2\ny = h * h\nh.detach().add_(1)\ny.sum().backward()", lambda x: 8 * x),
        ("y = x * x\nwith no_grad():\n    x.mul_(0)\ny.sum().backward()", lambda x: 2 * x),
        ("h = x * 1\nv = h[0]\ny = h * h\nv.mul_(9)\ny.sum().backward()", lambda x: 2 * x),
    ],
)
def test_the_gradient_of_the_corrected_program_is_the_derivative(program, derivative):
    found = fix_of(BEFORE + program)
    assert found.same_values is True
    assert gradient(found.run) == pytest.approx(derivative(np.array([0.5, 1.0, 2.0])), rel=1e-6)


@pytest.mark.parametrize("program", ["y = x * 2\ny.sum().backward()", "y = detach(x)\ny.sum().backward()"])
def test_what_runs_or_has_no_rule_gets_no_correction(program):
    assert fix_of(BEFORE + program) is None


def test_every_broken_program_of_the_families_has_a_correction_that_runs():
    for family in FAMILIES.values():
        for member in family.members:
            run = run_program(member.program, 0, with_graphs=False)
            found = find_fix(member.program, 0, run)
            assert (found is None) == (run.verdict == "runs"), member.title
            assert found is None or found.same_values is not False


WRITES = st.sampled_from(
    [
        "h.add_(1)",
        "h += x",
        "h[0] = 3",
        "h.data.mul_(2)",
        "h.detach().zero_()",
        "v.mul_(2)",
        "v.copy_(x[1:])",
        "h.relu_()",
    ]
)
SAVES = st.sampled_from(
    ["y = h * h", "y = sigmoid(h)", "y = h * v.sum()", "y = v * v", "y = h.exp()", "y = (h * h).sum()"]
)


@given(st.lists(SAVES, min_size=1, max_size=2), st.lists(WRITES, min_size=1, max_size=3))
def test_any_mixture_of_saves_and_writes_ends_in_a_verdict_and_never_in_a_wrong_correction(saves, writes):
    program = BEFORE + "h = x * 3\nv = h[1:]\n" + "\n".join([*saves, *writes, "y.sum().backward()"])
    run = run_program(program, 0, with_graphs=False)
    assert (run.error is None) == (run.verdict in ("runs", "wrong gradient", "would break backward"))
    found = find_fix(program, 0, run)
    if found is not None:
        assert found.same_values is True
        # y is a function of h as it was before any write
        clean = run_program(BEFORE + "h = x * 3\nv = h[1:]\n" + saves[-1] + "\ny.sum().backward()", 0)
        assert gradient(found.run) == pytest.approx(gradient(clean), rel=1e-6)
