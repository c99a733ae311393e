"""Every script runs by itself and prints what the engine's own run of the same spec returns."""

from __future__ import annotations

import contextlib
import io
import subprocess
import sys
import warnings
from typing import get_args

import pytest

from engine import run
from engine.script import script_for
from engine.sparse.matrix import LAYOUTS, Matrix, Pattern
from engine.sparse.spec import (
    EmbeddingGradSpec,
    InvariantsSpec,
    MatmulTimingSpec,
    SparseSpec,
    SupportSpec,
    UncheckedSpec,
    WeightsSpec,
)

MATRICES = [
    *(Matrix(pattern=pattern, density=0.3) for pattern in get_args(Pattern)),
    Matrix(index_dtype="int32", dtype="float64", seed=5),
    Matrix(pattern="banded", band=3, rows=7, dtype="complex64"),
    Matrix(pattern="random", dtype="bool", block_rows=4, block_columns=2),
]


def printed(spec):
    text = io.StringIO()
    with contextlib.redirect_stdout(text), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(script_for(spec), "script.py", "exec"), {"__name__": "__main__"})
    return text.getvalue()


@pytest.mark.parametrize("matrix", MATRICES, ids=lambda matrix: f"{matrix.pattern}-{matrix.dtype}")
def test_the_layout_script_prints_the_same_entries_and_bytes(matrix):
    spec = SparseSpec(matrix=matrix)
    found, lines = run(spec, inline=True), printed(spec).splitlines()
    assert f"dense bytes {found.dense.bytes}" in lines
    for name in LAYOUTS:
        layout = found.layout(name)
        if layout.error is None:
            assert f"{name} nnz {layout.nnz} bytes {layout.bytes}" in lines
        else:
            assert f"{name} refused: {layout.error.message}" in lines


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_invariants_script_prints_pytorchs_complaint(layout):
    text = printed(InvariantsSpec(layout=layout))
    assert "with the check: " in text
    assert "without it: constructed" in text
    assert printed(UncheckedSpec(layout=layout)) == text


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_support_script_agrees_with_the_probes(layout):
    spec = SupportSpec(layout=layout)
    probes = {probe.operation: probe for probe in run(spec, inline=True).probes}
    named = {
        "x @ d": "x @ dense",
        "d @ x": "dense @ x",
        "x + d": "x + dense",
        "d + x": "dense + x",
        "x * d": "x * dense",
    }
    for line in printed(spec).splitlines():
        for written, name in {**named, "x.exp()": "x.exp()", "x.sum(1)": "x.sum(1)", "x[1:3]": "x[1:3]"}.items():
            if line.startswith(f"{written} "):
                assert ("refused:" in line) == (probes[name].outcome == "refused")


def test_the_weights_script_finds_the_same_bytes():
    spec = WeightsSpec(rows=20, columns=10, dtype="float64", index_dtype="int32")
    lines = printed(spec).splitlines()
    assert f"dense {20 * 10 * 8}" in lines
    # 0.5 of 200 cells: COO 2 x 8 + 8 each; CSR 21 pointers of 4, and 4 + 8 each
    assert f"0.5 coo {100 * 24} csr {21 * 4 + 100 * 12} csr is smaller than dense: True" in lines


@pytest.mark.parametrize(
    "spec", [EmbeddingGradSpec(), EmbeddingGradSpec(num_embeddings=50, lookups="random", batch=20)]
)
def test_the_embedding_script_prints_the_same_gradient(spec):
    found, text = run(spec, inline=True), printed(spec)
    assert f"coalesced False nnz {found.nnz} after coalesce {found.nnz_coalesced}" in text
    assert f"sparse bytes {found.sparse_bytes}" in text
    assert f"dense bytes {found.dense_bytes}" in text
    assert "Adam does not support sparse gradients" in text


def test_the_timing_script_times_every_layout_at_every_density():
    spec = MatmulTimingSpec(size=32, right_columns=4, densities=(0.1, 0.5))
    labels = [line.rsplit(" ", 1)[0] for line in printed(spec).splitlines()]
    assert labels == [f"{density} {name}" for density in (0.1, 0.5) for name in ("dense", "csr", "coo")]


@pytest.mark.slow
def test_a_script_needs_torch_alone():
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script_for(SparseSpec())], capture_output=True, text=True, timeout=100
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert "csr nnz 13 bytes 228" in done.stdout


SPECS = (SparseSpec(), InvariantsSpec(), SupportSpec(), WeightsSpec(), MatmulTimingSpec(), EmbeddingGradSpec())


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: type(spec).__name__)
def test_a_script_is_short_and_fits_the_page(spec):
    lines = script_for(spec).splitlines()
    assert len(lines) <= 46
    assert max(map(len, lines)) <= 120
    assert "engine" not in script_for(spec)
