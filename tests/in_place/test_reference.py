"""Verdicts and corrections against closed-form derivatives, on programs whose fault is a stale or overwritten save."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from engine.figures.in_place_words import explanation, headline
from engine.in_place.fixes import find_fix
from engine.in_place.reference import is_close, observe
from engine.in_place.results import REFUSED
from engine.in_place.trace import run_program

PAIR = "x = tensor([1.0, 2.0], requires_grad=True)\n"
MANY = "x = linspace(0, 1, 100, requires_grad=True)\n"
TWO = np.array([1.0, 2.0])
HUNDRED = np.linspace(0, 1, 100)


def gradients_of(program, *, copying=False):
    return {k: v.numpy() for k, v in observe(program, 0, copying=copying).moments[-1].items() if k.endswith(".grad")}


BROKEN = [
    (MANY + "y = x.exp()\nz = y\nz.mul_(2)\n(y * z).sum().backward()", {"x.grad": 8 * np.exp(2 * HUNDRED)}),
    (MANY + "h = x * 2\nv = h.view(100)\ny = h * h\nv.mul_(3)\n(y * h).sum().backward()", {"x.grad": 72 * HUNDRED**2}),
    (PAIR + "x.sum().backward()\ny = x.exp()\nz = y\nz.mul_(2)\n(y * z).sum().backward()",
     {"x.grad": 1 + 8 * np.exp(2 * TWO)}),
    (PAIR + "loss = (x * x).sum()\nwith no_grad():\n    x.sub_(0.1)\n(loss + (x ** 3).sum()).backward()",
     {"x.grad": 2 * TWO + 3 * (TWO - 0.1) ** 2}),
    (PAIR + "h = x * 2\ny = h * h + h.data.mul_(2)\ny.sum().backward()", {"x.grad": 8 * TWO}),
    (PAIR + "y = x * x\nwith no_grad():\n    x.sub_(1)\ny.sum().backward()", {"x.grad": 2 * TWO}),
    (PAIR + "y = x.exp().add_(1)\ny.sum().backward()", {"x.grad": np.exp(TWO)}),
]  # fmt: skip


@pytest.mark.parametrize(("program", "right"), BROKEN)
def test_a_program_is_named_broken_and_its_correction_has_the_derivative_of_what_it_computed(program, right):
    copied = gradients_of(program, copying=True)
    assert copied.keys() == right.keys()
    for name, value in right.items():
        assert copied[name] == pytest.approx(value, rel=1e-5)
    run = run_program(program, 0)
    assert run.verdict in ("breaks backward", "wrong gradient")
    found = find_fix(program, 0, run)
    for name, value in right.items() if found is not None else ():
        assert gradients_of(found.program)[name] == pytest.approx(value, rel=1e-5), found.program


@pytest.mark.parametrize("number", [1, 5, 6])
def test_a_correction_that_keeps_the_gradient_is_found(number):
    program, _ = BROKEN[number]
    assert find_fix(program, 0, run_program(program, 0)) is not None


@pytest.mark.parametrize(
    ("program", "right"),
    [
        ("x = tensor([-1.0, 2.0], requires_grad=True)\ny = x.relu()\ny.data.mul_(2)\ny.sum().backward()", [0, 1]),
        (PAIR + "h = x * 1\ny = h * h\nh.data.mul_(2)\n(y * 0).sum().backward()", [0, 0]),
    ],
)
def test_an_overwritten_save_that_changes_no_gradient_is_not_called_wrong(program, right):
    run = run_program(program, 0)
    assert run.verdict == "runs"
    assert any(slot.state == "overwritten" for step in run.steps for slot in step.saved)
    assert gradients_of(program)["x.grad"] == pytest.approx(np.array(right))


@pytest.mark.parametrize(
    ("before", "name"), [("", "z"), ("x.sum().backward()\n", "z"), ("(x * x).sum().backward()\n", "z")]
)
def test_every_name_that_is_alive_is_asked_for_a_backward(before, name):
    run = run_program(PAIR + before + "y = x.exp()\nz = y * 1\ny.add_(1)\nk = x * 2", 0)
    assert run.verdict == "would break backward"
    assert run.probed in ("y", name)
    assert {slot.state for slot in run.culprits} == {"stale"}


@pytest.mark.parametrize(
    "program",
    [
        "x = ones(1)\na = x.expand(10000, 10000)\nb = a * 2",
        "x = ones(1024, 1)\na = x * 1\nb = linear(a, x)",
        "x = ones(4, 1, 16, 16)\nk = ones(256, 1, 2, 2)\nb = conv2d(x, k)",
        "x = ones(1024) * 1\na = cat([x, x, x, x, x, x, x, x])\nb = cat([a, a, a, a, a, a, a, a])\nc = cat([b, b, b])",
    ],
)
def test_what_is_too_large_stops_at_its_line_with_the_limit_and_what_ran_before_is_kept(program):
    run = run_program(program, 0)
    assert run.verdict == "refused"
    assert run.error.type == REFUSED
    assert "the limit is 65536. Take smaller sizes" in run.error.message
    assert len(run.steps) == run.statements == len(program.splitlines())
    assert run.steps[-2].tensors
    assert find_fix(program, 0, run) is None


def test_large_results_within_the_limit_are_computed():
    run = run_program("x = ones(256, 1)\nb = linear(x, x)", 0)
    assert (run.verdict, run.steps[-1].tensors[-1].shape) == ("runs", (256, 256))


def test_values_are_close_only_with_equal_shape_dtype_and_nan():
    nan = torch.tensor([1.0, float("nan"), float("inf")])
    assert is_close(nan, nan.clone())
    assert not is_close(nan, torch.tensor([1.0, 2.0, float("inf")]))
    assert not is_close(nan, nan.double())
    assert not is_close(torch.ones(2), torch.tensor([1.0, 1.001]))
    assert not is_close(torch.ones(2), torch.ones(2, 1))


def test_an_expression_computes_its_parts_in_the_order_of_python():
    """`h * h` is read, and saved, before `h.data.mul_(2)` writes: as plain Python executes this line."""
    torch.manual_seed(0)
    h = torch.tensor([1.0, 2.0]) * 2
    expected = h * h + h.data.mul_(2)
    run = run_program("x = tensor([1.0, 2.0])\nh = x * 2\ny = h * h + h.data.mul_(2)", 0)
    values = run.steps[-1].tensors[-1].values
    assert np.frombuffer(values.data, values.dtype) == pytest.approx(expected.numpy())


@pytest.mark.parametrize("mark", ["\f", "\u2028", "\u2029", "\v", "\x85", "\x1c"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_character_that_is_no_line_end_of_python_moves_no_text(mark, end):
    program = end.join([f"x = ones(2)  # a{mark}b", "y = x * 2", "y.add_(1)"])
    run = run_program(program, 0)
    assert [(step.line, step.text) for step in run.steps] == [(1, "x = ones(2)"), (2, "y = x * 2"), (3, "y.add_(1)")]


@pytest.mark.parametrize(
    ("text", "values"),
    [("[nan, inf]", [np.nan, np.inf]), ("[1.0, -inf]", [1, -np.inf]), ("-inf", -np.inf), ("[-nan, -2]", [np.nan, -2])],
)
def test_values_that_are_not_finite_can_be_written(text, values):
    kept = run_program(f"x = tensor({text})", 0).steps[-1].tensors[-1].values
    assert np.frombuffer(kept.data, kept.dtype).reshape(np.shape(values)) == pytest.approx(
        np.array(values), nan_ok=True
    )


@pytest.mark.parametrize(
    ("program", "words"),
    [
        ("x = ones(2)\ny = x * 2", "none could be asked for"),
        (PAIR + "y = x * x", "finds every saved tensor as it was saved"),
        (PAIR + "y = x.exp()\nz = y * 1\ny.add_(1)\nk = x * 2", "backward would raise from z"),
        (PAIR + "y = x.relu()\ny.data.mul_(2)\ny.sum().backward()", "gradient is right although"),
        ("x = ones(1)\na = x.expand(10000, 10000)\nb = a * 2", "Stopped by this page"),
        (PAIR + "h = x * 2\ny = h * h + h.data.mul_(2)\ny.sum().backward()", "gradient is wrong"),
    ],
)
def test_the_headline_says_no_more_than_was_asked(program, words):
    run = run_program(program, 0)
    assert words in headline(run)
    assert bool(explanation(run)) == (run.verdict != "runs")
    if run.verdict == "runs":
        assert not any(slot.state == "stale" for slot in run.steps[-1].saved)
