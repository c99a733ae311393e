"""Predicted bytes against bytes seen by saved_tensors_hooks on the real model."""

from __future__ import annotations

import subprocess
import sys
import time
from typing import get_args

import pytest

from engine.models.build import price
from engine.models.price import SMALL_BYTES, checkpointed_bytes, gradient_bytes
from engine.models.size import parameter_count
from engine.models.spec import (
    AnyArchitecture,
    Chain,
    Embedding,
    Expression,
    Gpt,
    LinearStack,
    Mlp,
    ModelSpec,
    Recurrent,
    ResNet,
    TiedLoop,
)
from engine.models.trial import measure_trial
from engine.runner.contract import GIBIBYTE, field_ranges
from tests.models.families import CELLS, NETWORKS, label
from tests.models.runs import held_bytes

GPT2 = Gpt(layers=12, heads=12, width=768, sequence=1024, vocabulary=50257)
LONGER = (
    Mlp(layers=9, depth=7, width=16, dropout=0.1),
    Gpt(layers=6, heads=2, width=32, sequence=16, vocabulary=50),
    Gpt(layers=5, heads=2, width=32, sequence=16, vocabulary=50, dropout=0.1),
    Gpt(layers=5, heads=2, width=32, sequence=16, vocabulary=50, attention="explicit"),
    TiedLoop(steps=50, width=8),
    *(Chain(operations=100, width=8, function=function) for function in ("sin", "tanh", "neg", "mixed")),
    *(Recurrent(cell=cell, steps=37, width=8, layers=5) for cell in CELLS),
)


@pytest.mark.parametrize("loss", ["sum", "cross_entropy"])
@pytest.mark.parametrize("architecture", [a for a in (*NETWORKS, *LONGER) if not getattr(a, "fused", False)], ids=label)
def test_the_trial_predicts_saved_bytes_exactly(architecture, loss):
    """Also where it ran a shorter model and scaled: blocks and time steps repeat exactly."""
    spec = ModelSpec(architecture=architecture, loss=loss, batch=3)
    assert measure_trial(spec).saved_bytes == held_bytes(spec)


@pytest.mark.parametrize("reentrant", [False, True])
@pytest.mark.parametrize(
    "policy",
    [{"checkpoint": "every_k", "checkpoint_k": 2}, {"checkpoint": "segments"}, {"checkpoint": "each_block"}],
    ids=lambda p: p["checkpoint"],
)
@pytest.mark.parametrize(
    "architecture", [LinearStack(layers=9, width=16), Gpt(layers=6, heads=2, width=16), Mlp()], ids=label
)
def test_the_trial_predicts_held_bytes_under_a_checkpoint(architecture, policy, reentrant):
    spec = ModelSpec(
        architecture=architecture,
        use_reentrant=reentrant,
        input_requires_grad=not isinstance(architecture, Gpt),
        **policy,
    )
    predicted, recomputed = checkpointed_bytes(spec, measure_trial(spec))
    assert predicted == held_bytes(spec)
    assert recomputed > 0


@pytest.mark.parametrize(
    "spec",
    [
        *(ModelSpec(architecture=a) for a in NETWORKS),
        *(ModelSpec(architecture=a, autocast="bfloat16") for a in NETWORKS),
        ModelSpec(architecture=LinearStack(layers=6, width=512), autocast="bfloat16"),
        ModelSpec(architecture=Gpt(layers=3), dtype="float64", loss="cross_entropy"),
        ModelSpec(architecture=Recurrent(fused=True, steps=100, width=128)),
        ModelSpec(architecture=Recurrent(fused=True, steps=3, width=8), batch=1),
        ModelSpec(architecture=Expression(name="python_loop")),
    ],
    ids=lambda s: f"{label(s.architecture)}-{s.autocast}-{s.dtype}",
)
def test_the_price_is_never_below_what_is_kept(spec):
    """Weights, their gradients and everything saved, weights' casts included."""
    item = {"float32": 4, "float64": 8}[spec.dtype]
    weights = parameter_count(spec.architecture) * item
    assert price(spec).predicted_bytes >= weights + gradient_bytes(spec, weights) + held_bytes(spec)


def test_huge_models_are_priced_before_anything_is_allocated():
    huge = ModelSpec(architecture=Gpt(layers=48, heads=32, width=4096, sequence=2048, vocabulary=50257))
    priced = price(huge)
    parameters = 48 * (12 * 4096**2 + 13 * 4096) + (50257 + 2048 + 2) * 4096
    assert parameter_count(huge.architecture) == parameters
    assert priced.predicted_bytes > 2 * 4 * parameters
    assert priced.predicted_bytes > 64 * GIBIBYTE
    assert "parameters 36.8 GiB" in priced.what


def test_a_sparse_gradient_is_priced_by_its_rows():
    dense, sparse = (ModelSpec(architecture=Embedding(vocabulary=1_000_000, width=64, sparse=s)) for s in (False, True))
    weights = parameter_count(dense.architecture) * 4
    assert price(dense).predicted_bytes >= 2 * weights
    assert weights <= price(sparse).predicted_bytes < 1.1 * weights


def test_pricing_is_cheap():
    """The default model by formula; GPT-2 small by a trial of three of its blocks."""
    assert price(ModelSpec()).predicted_bytes < SMALL_BYTES
    small = fastest(lambda: price(ModelSpec()))
    gpt = fastest(lambda: price(ModelSpec(architecture=GPT2, loss="cross_entropy")))
    resnet = fastest(lambda: price(ModelSpec(architecture=ResNet(variant="resnet50"))))
    assert small < 1e-3
    assert gpt < 1.5
    assert resnet < 1.5


def fastest(action) -> float:
    times = []
    for _ in range(3):
        start = time.process_time()
        action()
        times.append(time.process_time() - start)
    return min(times)


def at_the_end(kind, end):
    """An architecture with every number at the low or the high end of its range."""
    plain = kind()
    ends = {name: getattr(allowed, end) for name, allowed in field_ranges(kind).items()}
    return kind(**{name: type(getattr(plain, name))(value) for name, value in ends.items() if value is not None})


@pytest.mark.parametrize("end", ["low", "high"])
@pytest.mark.parametrize("kind", get_args(AnyArchitecture), ids=lambda kind: kind.__name__)
def test_the_ends_of_every_range_are_priced_quickly(kind, end):
    spec = ModelSpec(architecture=at_the_end(kind, end), train=False)
    start = time.process_time()
    priced = price(spec)
    assert time.process_time() - start < 2
    weights = 4 * parameter_count(spec.architecture)
    assert priced.predicted_bytes >= weights
    assert priced.what


PEAK = """
import re
from engine.models.build import build, price
from engine.models.spec import Gpt, ModelSpec

def peak_bytes():
    # Not ru_maxrss: a new program inherits that from the process which started it.
    return int(re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1]) * 1024

small = build(ModelSpec(architecture=Gpt(layers=1), loss="cross_entropy"))
small.loss(small.forward()).backward()
spec = ModelSpec(architecture=Gpt(layers=4, heads=4, width=512, sequence=256, vocabulary=20000), loss="cross_entropy")
predicted, before = price(spec).predicted_bytes, peak_bytes()
built = build(spec)
built.loss(built.forward()).backward()
print(predicted / (peak_bytes() - before))
"""


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="VmHWM is Linux's")
def test_the_price_is_near_the_peak_the_kernel_saw():
    """Never below, and less than twice."""
    done = subprocess.run([sys.executable, "-c", PEAK], capture_output=True, text=True, check=True)
    assert 1.0 <= float(done.stdout) < 2.0
