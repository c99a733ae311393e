"""Every operator has its row, and every row can be run: problem, costs, sources, specs that refuse in words."""

from __future__ import annotations

import ast

import pytest
import torch

from engine.operator_ladder.catalogue import CATALOGUE, colour_order, offered
from engine.operator_ladder.formulas import EPS, ITEM_BYTES, operations_in, value_of
from engine.operator_ladder.memory import traffic_of
from engine.operator_ladder.problem import build, error_in_eps, reference, tensors
from engine.operator_ladder.row import ATLAS, INDUCTOR, OPTIMIZER, PYTORCH
from engine.operator_ladder.sources import sources_of
from engine.operator_ladder.spec import (
    CompiledOperatorLadderSpec,
    OperatorChecksSpec,
    OperatorLadderSpec,
    OperatorSweepSpec,
    flops_of,
    formulas_of,
    least_bytes_of,
)
from engine.operators import operator_names
from engine.operators.load import load

SIZES = (6, 10, 4)
every_operator = pytest.mark.parametrize("operator", offered())


def work_of(operator: str) -> str:
    return "forward" if CATALOGUE[operator].backward is None else "forward + backward"


def test_every_operator_has_a_row():
    assert set(operator_names()) <= set(CATALOGUE)


@every_operator
def test_every_way_gives_what_float64_gives(operator):
    row = CATALOGUE[operator]
    problem = build(row, SIZES, "float32", work_of(operator), 0)
    wanted = reference(problem)
    for way in row.ways:
        got, gradients = problem.prepare(problem.function(way.function)).results()
        assert [x.shape for x in got] == [x.shape for x in wanted[0]]
        if not way.has_own_mask:
            assert error_in_eps(got, wanted[0], EPS["float32"]) < 16
            if not row.lesson:
                assert not gradients or error_in_eps(gradients, wanted[1], EPS["float32"]) < 16


@every_operator
@pytest.mark.skipif(not load().compiled, reason=load().reason or "compiled")
def test_least_bytes_are_what_the_compiled_operator_moves(operator):
    """The formula against what a dispatch mode sees; a few numbers more, such as a logsumexp per row, may be moved."""
    row = CATALOGUE[operator]
    if row.is_step:
        pytest.skip("lists of tensors written in place are not seen by the mode")
    sizes = (64, 256, 32)
    for work in ("forward", "forward + backward"):
        spec = OperatorLadderSpec(operator=operator, rows=64, columns=256, inner=32 if row.sizes[2] else 1, work=work)
        problem = build(row, sizes, "float32", work, 0)
        seen = traffic_of(problem.prepare(problem.function(row.way_function)).work)
        assert least_bytes_of(spec, spec.sizes) <= seen <= 1.35 * least_bytes_of(spec, spec.sizes) + 4096


@every_operator
def test_costs_are_formulas_that_can_be_read(operator):
    row = CATALOGUE[operator]
    for cost in filter(None, (row.forward, row.backward)):
        for _, statements in cost.work:
            ast.parse(statements)
            assert operations_in(statements) > 0
    moved, flops = formulas_of(row, work_of(operator))
    names = {"rows": 3, "columns": 5, "inner": 7, "item": 4}
    spec = OperatorLadderSpec(operator=operator, rows=3, columns=5, inner=7, work=work_of(operator))
    assert value_of(moved, names) == least_bytes_of(spec, spec.sizes) > 0
    assert value_of(flops, names) == flops_of(spec, spec.sizes) > 0


class Counted:
    """A number that counts what is done with it."""

    done = 0

    def _did(self, *others: object) -> Counted:
        Counted.done += 1
        return self

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _did


@every_operator
def test_operations_counted_by_syntax_are_those_that_run(operator):
    row = CATALOGUE[operator]
    for cost in filter(None, (row.forward, row.backward)):
        for _, statements in cost.work:
            tree = ast.parse(statements)
            names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
            known = {name: Counted() for name in names} | dict.fromkeys(("exp", "log", "sqrt"), Counted._did)
            Counted.done = 0
            exec(statements, known | {"clamp": lambda x: x, "exp": Counted()._did, "sqrt": Counted()._did})
            assert operations_in(statements) == Counted.done


def test_a_formula_is_a_sum_of_products():
    assert value_of("2 * rows * columns + 8 * rows", {"rows": 3, "columns": 5}) == 54
    assert operations_in("e = exp(k * x); 1 / (1 + e)") == 4


def test_dtypes_are_pytorchs():
    for name, size in ITEM_BYTES.items():
        assert torch.empty(0, dtype=getattr(torch, name)).element_size() == size
        assert torch.finfo(getattr(torch, name)).eps == EPS[name]


@every_operator
def test_rungs_have_distinct_colours(operator):
    row = CATALOGUE[operator]
    order = colour_order(row)
    assert len(order) == 8
    assert len({order.index(rung) for rung in (*row.rungs, INDUCTOR)}) == len(row.rungs) + 1
    assert set(ATLAS) <= set(order)


@every_operator
def test_every_rung_is_pytorchs_or_ours(operator):
    names = set(CATALOGUE[operator].rungs)
    ours = {*ATLAS, OPTIMIZER, *(way.rung for way in CATALOGUE[operator].ways if "kernel=" in way.code)}
    assert names & set(PYTORCH)
    assert names - set(PYTORCH) == names & ours


@every_operator
def test_sources_are_the_operators_own(operator):
    files = sources_of(operator)
    assert {"CPU", "Python"} <= {source.kind for source in files}
    assert all(source.text for source in files)
    assert len({source.path for source in files}) == len(files)


@every_operator
def test_inputs_are_the_same_for_the_same_seed(operator):
    first, again = (list(tensors(build(CATALOGUE[operator], SIZES, "float32", "forward", 3).inputs)) for _ in range(2))
    assert all(torch.equal(a, b) for a, b in zip(first, again, strict=True))


@pytest.mark.parametrize(
    ("kind", "values", "words"),
    [
        (OperatorLadderSpec, {"operator": "nothing"}, "must be in the catalogue; received 'nothing'"),
        (OperatorLadderSpec, {"rows": 65_536, "columns": 65_536}, "at most 33,554,432 elements"),
        (OperatorLadderSpec, {"left_out": ("composed", "x" * 90)}, "must be those of gelu_tanh; received 'xxx"),
        (
            OperatorLadderSpec,
            {"left_out": ("composed", "built-in", *list(ATLAS)[:2])},
            "At least two rungs are needed to compare; received 1 of 5",
        ),
        (
            OperatorLadderSpec,
            {"operator": "gemm", "rows": 4096, "columns": 4096, "inner": 4096},
            r"rows \* columns \* inner must be at most 8,589,934,592",
        ),
        (CompiledOperatorLadderSpec, {"operator": ""}, "must be in the catalogue"),
        (OperatorSweepSpec, {"smallest": 100, "largest": 10}, "must be below largest"),
        (OperatorSweepSpec, {"first": "atlas avx2"}, "must be another rung"),
        (OperatorSweepSpec, {"first": "nobody"}, "must be a rung of gelu_tanh"),
        (OperatorChecksSpec, {"operator": "torch.relu"}, "must be in the catalogue"),
    ],
)
def test_nonsense_is_refused_in_words(kind, values, words):
    with pytest.raises(ValueError, match=words) as caught:
        kind(**values)
    assert kind.__name__ not in str(caught.value)
    assert "left_out" not in str(caught.value)
    assert str(caught.value).rstrip().endswith(".")
