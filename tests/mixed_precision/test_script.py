"""The scripts of the page, in a clean interpreter, against what the page shows."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from engine import run
from engine.mixed_precision.spec import AutocastListsSpec, AutocastSpec, AutocastTimingSpec
from engine.models.spec import Gpt, Mlp, ModelSpec, TiedLoop
from engine.script import script_for


def printed(spec, folder) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script_for(spec)], cwd=folder, capture_output=True, text=True, timeout=200
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


SPECS = (
    AutocastSpec(model=ModelSpec(architecture=TiedLoop(), grad_mode="inference_mode"), cache_enabled=False),
    AutocastSpec(
        model=ModelSpec(architecture=Gpt(layers=1, heads=2, width=16, sequence=8, vocabulary=50), loss="cross_entropy"),
        dtype="float16",
    ),
)


@pytest.mark.slow
@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: type(spec.model.architecture).__name__)
def test_a_map_is_printed_as_shown(spec, tmp_path):
    found, text = run(spec, inline=True), printed(spec, tmp_path)
    counted = sum(map(int, re.findall(r": (\d+)", re.search(r"autocast casts in forward (.*)", text)[1])))
    assert counted == sum(cast.phase != "backward" for cast in found.casts)
    assert f"plain saved bytes {found.held_plain.saved_bytes}\n" in text
    assert f"autocast saved bytes {found.held.saved_bytes}\n" in text
    assert f"autocast loss torch.{found.loss_dtype} {found.loss}\n" in text
    gradients = dict(re.findall(r"gradient (\S+) (\S+)", text))
    for row in found.gradients:
        if row.name in gradients and row.relative is not None:
            assert float(gradients[row.name]) == pytest.approx(row.relative, rel=1e-6)
    assert bool(gradients) == (found.error is None)


@pytest.mark.slow
def test_lists_and_times_are_printed(tmp_path):
    text = printed(AutocastListsSpec(), tmp_path)
    listed = run(AutocastListsSpec(), inline=True)
    assert int(re.search(r"autocast kernel (\d+)", text)[1]) == len(listed.operators)
    assert "mm torch.float32 torch.float32 [(torch.float32, torch.bfloat16), (torch.float32, torch.bfloat16)]" in text
    model = ModelSpec(architecture=Mlp(layers=1, depth=1, width=8))
    seconds = re.findall(r"median seconds (\S+)", printed(AutocastTimingSpec(model=model, rounds=5), tmp_path))
    assert len(seconds) == 2
    assert all(float(one) > 0 for one in seconds)
