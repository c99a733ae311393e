"""Probed operations: what is known to hold, and that a wrong answer would be noticed."""

from __future__ import annotations

from functools import cache

import pytest
import torch

from engine import run
from engine.sparse import support as support_module
from engine.sparse.matrix import LAYOUTS
from engine.sparse.probed import PROBES
from engine.sparse.spec import SupportSpec

DTYPES = ("float32", "float64", "bfloat16", "complex64", "int64", "bool")


@cache
def probes(layout, dtype="float32"):
    found = run(SupportSpec(layouts=(layout,), dtype=dtype), inline=True).supports[0]
    assert found.error is None
    return {probe.operation: probe for probe in found.probes}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_operation_has_one_outcome_and_every_refusal_its_error(layout):
    found = probes(layout)
    assert list(found) == [name for operations in PROBES.values() for name in operations]
    assert len(found) >= 60
    assert all((probe.outcome == "refused") == (probe.error is not None) for probe in found.values())
    assert {found["x.relu()"].outcome, found["x.clone()"].outcome} == {"sparse"}
    assert found["x.to_dense()"].outcome == "dense"
    assert found["x.exp()"].outcome == found["x + 1"].outcome == found["x[1:3]"].outcome == "refused"


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_no_operation_gives_values_that_the_dense_one_does_not(layout, dtype):
    assert [name for name, probe in probes(layout, dtype).items() if probe.outcome == "wrong"] == []


def test_coo_takes_dense_plus_sparse_but_not_sparse_plus_dense():
    found = probes("coo")
    assert found["dense + x"].outcome == "dense"
    assert "add(sparse, dense) is not supported. Use add(dense, sparse) instead." in found["x + dense"].error.message


def test_a_transpose_swaps_rows_and_columns_of_the_layout():
    for layout, transposed in (("coo", "coo"), ("csr", "csc"), ("csc", "csr"), ("bsr", "bsc"), ("bsc", "bsr")):
        assert probes(layout)["x.t()"].layout == transposed


def test_the_gradient_through_to_dense_is_masked():
    probe = probes("coo")["x.grad of x.to_dense().sum()"]
    assert (probe.outcome, probe.layout, probe.nnz) == ("masked", "coo", 5)
    x = torch.tensor([[0.0, 2.0]]).to_sparse().requires_grad_()
    x.to_dense().sum().backward()
    assert x.grad.to_dense().tolist() == [[0.0, 1.0]]


def planted(name, operation, monkeypatch):
    monkeypatch.setattr(support_module, "PROBES", {"planted": {name: operation}})
    return run(SupportSpec(layouts=("coo",)), inline=True).supports[0].probes[0]


def test_a_wrong_value_is_found(monkeypatch):
    def lie(o):
        return o.x * (3 if o.x.layout is torch.sparse_coo else 2)

    assert planted("lie", lie, monkeypatch).outcome == "wrong"


def test_another_shape_is_found(monkeypatch):
    def lie(o):
        return o.d.sum() if o.x.layout is torch.sparse_coo else o.d

    assert planted("lie", lie, monkeypatch).outcome == "wrong"


def test_a_warning_is_kept_and_the_beta_state_is_not(monkeypatch):
    def warn(o):
        o.x.to_sparse_csr() if o.x.layout is torch.sparse_coo else None
        return o.x.to(torch.complex64).to(torch.float32)

    assert all("beta" not in text for text in planted("warn", warn, monkeypatch).warnings)
    assert any("imaginary" in text for text in planted("warn", warn, monkeypatch).warnings)
