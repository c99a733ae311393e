"""The scripts of the page run in a clean interpreter and print what the page shows."""

from __future__ import annotations

import contextlib
import io
import math
import subprocess
import sys
import warnings
from typing import Any

import pytest

from engine import run
from engine.gradients.spec import (
    AccumulationSpec,
    ClippingSpec,
    DifferenceSpec,
    FiniteDifferenceSpec,
    GradientsSpec,
    ZeroGradSpec,
)
from engine.models.spec import ConvNet, Embedding, Expression, Gpt, Mlp, ModelSpec, TwoTower
from engine.script import script_for

SMALL = ModelSpec(architecture=Mlp(layers=3, depth=2, width=8), input_requires_grad=True)
GPT = ModelSpec(architecture=Gpt(layers=2, heads=2, width=16, sequence=8, vocabulary=50, dropout=0.2))
COMPLEX = ModelSpec(architecture=Expression(name="complex_abs2"))
SPARSE = ModelSpec(architecture=Embedding(vocabulary=20, width=8, tokens=6, sparse=True))
BATCHED = ModelSpec(architecture=Mlp(width=8), batch=8, loss="cross_entropy", dtype="float64")
IMAGES = ModelSpec(architecture=ConvNet(layers=1, channels=8, image_size=8, classes=5), batch=4, loss="mean")


def printed(spec: Any) -> list[tuple[str, list[float | None]]]:
    """(label, numbers) of every line."""
    lines = io.StringIO()
    with contextlib.redirect_stdout(lines), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(script_for(spec), "script.py", "exec"), {"__name__": "__main__"})
    return [_parsed(line) for line in lines.getvalue().splitlines()]


def _parsed(line: str) -> tuple[str, list[float | None]]:
    words = line.split(" ")
    numbers: list[float | None] = []
    while words and (words[-1] == "None" or _is_number(words[-1])):
        word = words.pop()
        numbers.insert(0, None if word == "None" else float(word))
    return " ".join(words), numbers


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def close(numbers: list[float | None], expected: list[float | None]) -> bool:
    return numbers == pytest.approx(expected, rel=1e-4, abs=1e-6, nan_ok=True)


@pytest.mark.parametrize("model", [SMALL, GPT, COMPLEX, SPARSE, ModelSpec(architecture=TwoTower(width=8))], ids=repr)
def test_values(model):
    spec = GradientsSpec(model=model, learning_rate=0.3)
    rows = {row.name: row for row in run(spec, inline=True).rows}
    lines = printed(spec)
    assert {name for name, _ in lines} == rows.keys()
    for name, numbers in lines:
        row = rows[name]
        if row.gradient is None:
            assert numbers == [None]
        else:
            ratio = math.inf if row.ratio is None else row.ratio  # a bias of zeros
            assert close(numbers, [row.gradient.norm, ratio, 0.3 * row.gradient.norm])


@pytest.mark.parametrize(
    "spec",
    [
        DifferenceSpec(model=SMALL),
        DifferenceSpec(model=GPT, against="checkpoint"),
        DifferenceSpec(model=SMALL, against="float64"),
        DifferenceSpec(model=GPT, against="eval"),
        DifferenceSpec(model=SMALL, against="another seed"),
        DifferenceSpec(model=SMALL, against="given", other=GPT),
    ],
    ids=lambda spec: spec.against,
)
def test_two_runs(spec):
    rows = {row.name: row for row in run(spec, inline=True).rows if not row.missing}
    lines = printed(spec)
    assert {name for name, _ in lines} == rows.keys()
    for name, numbers in lines:
        assert close(numbers, [rows[name].cosine, rows[name].relative, rows[name].max_abs])


@pytest.mark.parametrize("model", [SMALL, GPT, COMPLEX, SPARSE, BATCHED], ids=repr)
def test_finite_differences(model):
    spec = FiniteDifferenceSpec(model=model, entries=1)
    entries = run(spec, inline=True).entries
    lines = printed(spec)
    assert [name for name, _ in lines] == [entry.name for entry in entries]
    for (_, numbers), entry in zip(lines, entries, strict=True):
        assert close(numbers, [entry.exact, entry.numeric])


@pytest.mark.parametrize("model", [BATCHED, IMAGES, GPT], ids=repr)
def test_accumulation(model):
    spec = AccumulationSpec(model=model, micro_batches=3)
    found = run(spec, inline=True)
    expected = {
        f"{way} {row.name}": [row.norm_b / row.norm_a, row.relative]
        for way, rows in zip(found.ways, found.rows, strict=True)
        for row in rows
        if not row.missing
    }
    lines = dict(printed(spec))
    assert lines.keys() == expected.keys()
    assert all(close(numbers, expected[label]) for label, numbers in lines.items())


@pytest.mark.parametrize(
    "spec",
    [
        ClippingSpec(model=SMALL, loss_scale=4.0),
        ClippingSpec(model=SMALL, norm_type="inf", poison="inf"),
        ClippingSpec(model=ModelSpec(architecture=Expression(name="shared_leaf"))),
    ],
    ids=lambda spec: spec.norm_type + spec.poison,
)
def test_clipping(spec):
    found = run(spec, inline=True)
    (_, total), *lines = printed(spec)
    assert close(total, [found.total_norm])
    assert [name for name, _ in lines] == [row.name for row in found.rows]
    for (_, numbers), row in zip(lines, found.rows, strict=True):
        assert close(numbers, [row.norm, row.norm_after_norm, row.norm_after_value])


def test_what_clipping_refuses_the_script_refuses_in_the_same_words():
    spec = ClippingSpec(model=COMPLEX)
    found = run(spec, inline=True)
    assert found.norm_error is None
    with pytest.raises(NotImplementedError, match="clamp is not supported for complex types") as caught:
        printed(spec)
    assert found.value_error is not None
    assert found.value_error.message == str(caught.value)


@pytest.mark.parametrize("again", [False, True])
@pytest.mark.parametrize("optimizer", ["SGD", "AdamW"])
def test_zero_grad(optimizer, again):
    spec = ZeroGradSpec(model=SMALL, optimizer=optimizer, backward_again=again)
    expected = {f"{way.name} {row.name}": [row.moved] for way in run(spec, inline=True).ways for row in way.rows}
    lines = dict(printed(spec))
    assert lines.keys() == expected.keys()
    assert all(close(numbers, expected[label]) for label, numbers in lines.items())


@pytest.mark.slow
def test_a_script_needs_nothing_but_torch(tmp_path):
    file = tmp_path / "script.py"
    file.write_text(script_for(DifferenceSpec()), encoding="utf-8")
    ended = subprocess.run(
        [sys.executable, "-I", str(file)], cwd=tmp_path, capture_output=True, text=True, timeout=200, check=False
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.strip()
