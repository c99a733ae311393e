"""Every way to write a problem gives the same; nodes, bytes and operations against second methods."""

from __future__ import annotations

from collections import Counter
from typing import get_args

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from engine.graph import trace_graph
from engine.vectorisation.account import count_nodes, distinct_bytes, take_account
from engine.vectorisation.formulas import count, flops_formula, loop_steps
from engine.vectorisation.plan import INTERMEDIATES, intermediate_bytes
from engine.vectorisation.spec import NOT_WRITTEN, PlainRung, Problem
from engine.vectorisation.ways import errors, make_inputs, reference, way_of

PROBLEMS = get_args(Problem)
RUNGS = get_args(PlainRung)
WRITTEN = [(problem, rung) for problem in PROBLEMS for rung in RUNGS if (problem, rung) not in NOT_WRITTEN]
SIZES = [(1, 1), (1, 5), (4, 1), (6, 7)]


def in_numpy(problem: str, inputs: dict[str, torch.Tensor]) -> np.ndarray:
    first, *rest = (tensor.double().numpy() for tensor in inputs.values())
    if problem == "weighted_row_sum":
        return first.dot(rest[0])
    if problem == "matmul":
        return first.dot(rest[0])
    if problem == "pairwise_distance":
        return np.linalg.norm(first[:, None] - rest[0][None], axis=2)
    if problem == "outer_sum":
        return np.add.outer(first, rest[0])
    return np.trace(first * first)


@pytest.mark.parametrize(("rows", "columns"), SIZES)
@pytest.mark.parametrize("problem", PROBLEMS)
def test_the_reference_is_what_numpy_gives(problem, rows, columns):
    inputs = make_inputs(problem, rows, columns, torch.float32, seed=1)
    np.testing.assert_allclose(reference(problem, inputs).numpy(), in_numpy(problem, inputs), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("rows", "columns"), SIZES)
@pytest.mark.parametrize(("problem", "rung"), WRITTEN)
def test_every_way_gives_the_same(problem, rung, rows, columns):
    inputs = make_inputs(problem, rows, columns, torch.float64, seed=2)
    result = way_of(problem, rung)(*inputs.values())
    # The way through a matrix product loses half of the digits of a distance near 0.
    close = 1e-6 if problem == "pairwise_distance" else 1e-12
    torch.testing.assert_close(result, reference(problem, inputs), rtol=close, atol=close)


@pytest.mark.parametrize(("problem", "rung"), WRITTEN)
def test_gradients_agree_too(problem, rung):
    inputs = make_inputs(problem, 3, 4, torch.float64, seed=3)
    found = []
    for name in (rung, "broadcast"):
        leaves = [tensor.clone().requires_grad_() for tensor in inputs.values()]
        found.append(torch.autograd.grad((way_of(problem, name)(*leaves) ** 2).sum(), leaves))
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(("problem", "rung"), WRITTEN)
def test_nodes_are_those_of_the_recorded_graph(problem, rung):
    inputs = make_inputs(problem, 3, 4, torch.float32, seed=0)
    leaves = [tensor.clone().requires_grad_() for tensor in inputs.values()]
    traced = trace_graph(way_of(problem, rung)(*leaves))
    assert count_nodes(way_of(problem, rung), inputs) == len(traced.nodes)


@pytest.mark.parametrize(("size", "loop"), [(4, 25), (100, 601)])
def test_a_loop_over_a_diagonal_records_six_nodes_a_step(size, loop):
    """THUDM/GATNE#115."""
    inputs = make_inputs("squared_diagonal", size, 1, torch.float32, seed=0)
    assert count_nodes(way_of("squared_diagonal", "element loop"), inputs) == loop
    assert count_nodes(way_of("squared_diagonal", "broadcast"), inputs) == 4


class Arithmetic(TorchDispatchMode):
    """Counts additions and multiplications of every operation that reaches the kernels, and the operations by name."""

    def __init__(self) -> None:
        super().__init__()
        self.flops = 0
        self.calls: Counter[str] = Counter()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        name = func.name().removeprefix("aten::").partition(".")[0].rstrip("_")
        self.calls[name] += 1
        if name in {"add", "mul", "sub", "pow", "sqrt", "clamp"}:
            self.flops += out.numel()
        elif name == "sum":
            self.flops += args[0].numel()
        elif name in {"mm", "bmm", "mv", "dot"}:
            self.flops += 2 * out.numel() * args[0].size(-1)
        return out


def arithmetic(problem: str, rung: str, rows: int, columns: int) -> Arithmetic:
    inputs = make_inputs(problem, rows, columns, torch.float32, seed=0)
    with Arithmetic() as found:
        way_of(problem, rung)(*inputs.values())
    return found


@pytest.mark.parametrize(("problem", "rung"), WRITTEN)
def test_the_formula_counts_the_operations_that_reach_the_kernels(problem, rung):
    rows, columns = 5, 7
    assert count(flops_formula(problem, rung), rows, columns) == arithmetic(problem, rung, rows, columns).flops


BODY = {
    "weighted_row_sum": "mul",
    "matmul": "mul",
    "pairwise_distance": "pow",
    "outer_sum": "add",
    "squared_diagonal": "mul",
}


@pytest.mark.parametrize(("problem", "rung"), [(p, r) for p, r in WRITTEN if r.endswith("loop")])
def test_steps_are_how_often_the_body_ran(problem, rung):
    calls = arithmetic(problem, rung, 3, 4).calls
    assert loop_steps(problem, rung, 3, 4) == calls[BODY[problem]]


@pytest.mark.parametrize("rung", ["broadcast", "einsum", "matmul"])
def test_a_rung_without_a_loop_has_no_steps(rung):
    assert loop_steps("matmul", rung, 3, 4) is None


@pytest.mark.parametrize(
    ("problem", "rung", "traffic", "extra"),
    [
        # x * w: reads 6*7 + 7, writes 6*7; sum: reads 6*7, writes 6. Held beside the result: the product.
        ("weighted_row_sum", "broadcast", 3 * 42 + 7 + 6, 42),
        ("weighted_row_sum", "matmul", 42 + 7 + 6, 0),
        ("weighted_row_sum", "einsum", 42 + 7 + 6, 0),
        # zeros: writes 6. A row: product reads 7 + 7, writes 7; sum reads 7, writes 1; copied: reads 1, writes 1.
        ("weighted_row_sum", "row loop", 6 + 6 * (21 + 8 + 2), 7 + 1),
        # The product of 6 x 7 x 6 is written and read; a and b are read; the result is written.
        ("matmul", "broadcast", 2 * 42 + 2 * 252 + 36, 252),
        ("matmul", "matmul", 2 * 42 + 36, 0),
        # The difference is written and read, its square as well, the sum written and read, the root written.
        ("pairwise_distance", "broadcast", 2 * 42 + 4 * 252 + 3 * 36, 2 * 252 - 36),
        ("outer_sum", "broadcast", 6 + 7 + 42, 0),
    ],
)
def test_bytes_read_written_and_held_are_those_of_hand_arithmetic(problem, rung, traffic, extra):
    inputs = make_inputs(problem, 6, 7, torch.float32, seed=0)
    assert take_account(way_of(problem, rung), inputs) == (4 * traffic, 4 * extra)


@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize(("rows", "columns"), [(40, 30), (64, 5)])
def test_the_predicted_intermediate_holds_what_is_really_held(problem, rows, columns):
    inputs = make_inputs(problem, rows, columns, torch.float32, seed=0)
    _, extra = take_account(way_of(problem, "broadcast"), inputs)
    assert extra <= intermediate_bytes(problem, rows, columns, 4)
    assert INTERMEDIATES[problem][0] == 0 or extra >= intermediate_bytes(problem, rows, columns, 4) / 4


def test_an_expanded_element_counts_once():
    assert distinct_bytes(torch.ones(3).expand(5, 3)) == 12
    assert distinct_bytes(torch.ones(4, 3).T) == 48
    assert distinct_bytes(torch.ones(0, 3)) == 0
    assert distinct_bytes(torch.ones(())) == 4


def test_errors_are_relative_where_there_is_something_to_relate_to():
    assert errors(torch.tensor([1.0, 0.5, 4.0]), torch.tensor([2.0, 0.0, 4.0])) == (1.0, 0.5)
    assert errors(torch.zeros(0), torch.zeros(0)) == (0.0, 0.0)
    assert errors(torch.ones(2), torch.zeros(2)) == (1.0, 0.0)
