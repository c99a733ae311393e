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


def test_the_support_script_agrees_with_the_probes_of_every_layout():
    found = run(SupportSpec(), inline=True)
    named = {
        "x @ d": "x @ dense",
        "d @ x": "dense @ x",
        "x + d": "x + dense",
        "d + x": "dense + x",
        "x * d": "x * dense",
    }
    lines = printed(SupportSpec()).splitlines()
    assert [line.split()[0] for line in lines] == [layout for layout in LAYOUTS for _ in range(len(lines) // 5)]
    for support in found.supports:
        probes = {probe.operation: probe for probe in support.probes}
        for written, name in {**named, "x.exp()": "x.exp()", "x.sum(1)": "x.sum(1)", "x[1:3]": "x[1:3]"}.items():
            (line,) = (line for line in lines if line.startswith(f"{support.layout} {written} "))
            assert ("refused:" in line) == (probes[name].outcome == "refused")


@pytest.mark.parametrize(
    "spec",
    [
        WeightsSpec(rows=20, columns=10, dtype="float64", index_dtype="int32", block=2),
        WeightsSpec(rows=24, columns=16, clustered=True, block=8, seed=3),
        WeightsSpec(rows=12, columns=12, dtype="bool", block=5),
        WeightsSpec(rows=1, columns=1, dtype="int8", block=1),
    ],
    ids=lambda spec: f"{spec.dtype}-{spec.block}",
)
def test_the_weights_script_finds_the_same_crossovers(spec):
    found, lines = run(spec, inline=True), printed(spec).splitlines()
    assert lines[0] == f"dense {found.dense_bytes} blocks {spec.block} x {spec.block}"
    for curve, line in zip(found.curves, lines[1:], strict=True):
        if curve.error is not None:
            assert line.startswith(f"{curve.layout} refused: {curve.error.message[:60]}")
        else:
            percent = 100 * max(curve.most_nnz, 0) / found.cells
            assert line == f"{curve.layout} smaller than dense up to {curve.most_nnz} entries, {percent:.3g} %"


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
        [sys.executable, "-W", "ignore", "-c", script_for(SparseSpec())], capture_output=True, text=True, timeout=200
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert "csr nnz 13 bytes 228" in done.stdout


SPECS = (SparseSpec(), InvariantsSpec(), SupportSpec(), WeightsSpec(), MatmulTimingSpec(), EmbeddingGradSpec())


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: type(spec).__name__)
def test_a_script_is_short_and_fits_the_page(spec):
    lines = script_for(spec).splitlines()
    assert len(lines) <= 50
    assert max(map(len, lines)) <= 120
    assert "engine" not in script_for(spec)
