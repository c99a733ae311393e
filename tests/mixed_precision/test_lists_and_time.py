"""What autocast knows on this device, lines that change under it, and the measurement of a step."""

from __future__ import annotations

import ast
from importlib.util import find_spec
from pathlib import Path

import msgspec
import pytest
import torch

from engine import run
from engine.figures.timing_chart import NO_DIFFERENCE
from engine.mixed_precision.spec import AutocastListsSpec, AutocastSpec, AutocastTimingSpec
from engine.mixed_precision.trials import LINES
from engine.models.spec import Mlp, ModelSpec
from pages.memory.mixed_precision_numbers import map_numbers


@pytest.fixture(scope="module")
def lists():
    return run(AutocastListsSpec(), inline=True)


def documented() -> dict[str, set[str]]:
    """Names in the lists that PyTorch's own tests of CPU autocast go through, read from their source.

    The file is parsed, not imported: it needs a package of PyTorch's developers.
    """
    folder = Path(find_spec("torch").origin).parent
    tree = ast.parse((folder / "testing" / "_internal" / "autocast_test_lists.py").read_text())
    lists = next(one for one in tree.body if isinstance(one, ast.ClassDef) and one.name == "AutocastCPUTestLists")
    found = {}
    for node in ast.walk(lists):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.List):
            names = [one.elts[0].value for one in node.value.elts if isinstance(one, ast.Tuple)]
            found[node.targets[0].attr] = set(names)
    return found


def test_policies_are_those_of_pytorchs_own_lists(lists):
    policies = {row.name.removeprefix("aten::"): row.policy for row in lists.operators}
    expected = {"torch_16": "low precision", "torch_fp32": "float32", "torch_need_autocast_promote": "widest"}
    expected |= {"nn_16": "low precision", "nn_fp32": "float32"}
    compared = 0
    for group, names in documented().items():
        for name in names & policies.keys() if group in expected else ():
            compared += 1
            assert policies[name] == expected[group], name
    assert compared > 20


def test_the_lists_are_the_dispatchers(lists):
    names = torch._C._dispatch_get_registrations_for_dispatch_key("AutocastCPU")
    assert {row.name for row in lists.operators} == {name for name in names if name.startswith("aten::")}
    assert {row.policy for row in lists.operators} == {"low precision", "float32", "widest"}
    row = next(row for row in lists.operators if row.name == "aten::mm")
    assert row.from_float32 == ("float32 → bfloat16",) * 2
    assert row.from_low == ()


def test_lines_say_what_pytorch_says(lists):
    assert [trial.code for trial in lists.trials] == list(LINES)
    told = {trial.code: trial for trial in lists.trials}
    a, b, out = torch.rand(4, 4), torch.rand(4, 4), torch.zeros(4, 4)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert str((a @ b).dtype) == "torch." + told["a @ b"].under_autocast
        with pytest.raises(RuntimeError) as caught:
            out.index_put((torch.arange(4),), a @ b)
    trial = told["out.index_put((index,), a @ b)"]
    assert trial.raises
    assert trial.under_autocast == str(caught.value).splitlines()[0]
    # On the CPU autocast casts the inputs of binary_cross_entropy to float32; on CUDA it raises.
    assert not told["F.binary_cross_entropy((a @ b).sigmoid(), target)"].raises


def test_both_dtypes_are_tried(lists):
    assert [one.dtype for one in lists.support] == ["bfloat16", "float16"]
    for one in lists.support:
        with torch.autocast("cpu", dtype=getattr(torch, one.dtype)):
            assert ((torch.ones(2, 2) @ torch.ones(2, 2)).dtype == getattr(torch, one.dtype)) == one.works


def test_a_step_and_its_parts_are_measured():
    model = ModelSpec(architecture=Mlp(layers=1, depth=1, width=8, in_features=8, residual=False))
    found = run(AutocastTimingSpec(model=model, rounds=5), inline=True)
    works = [f"autocast {one.dtype}" for one in found.support if one.works]
    assert found.steps.names == ("plain", *works)
    assert all(seconds > 0 for samples in found.steps.samples_s for seconds in samples)
    # Forward: two linear layers. Backward: their weights' gradients, and that of the hidden layer.
    assert found.products == 5
    # Forward: two weights, two biases and the input; backward: the gradients of the four parameters.
    assert found.casts == 9
    assert found.parts.names == ("matrix products float32", "matrix products bfloat16", "casts")
    # The key number carries the verdict: a ratio whose band holds 1 is not shown as a finding.
    shown, first = run(AutocastSpec(model=model), inline=True), found.steps.ratios[0]
    for low, high, label, words in ((0.9, 1.6, "Time, unclear", NO_DIFFERENCE), (1.1, 1.6, "Time ratio", "slower")):
        ratio = msgspec.structs.replace(first, ratio=1.2, low=low, high=high, chance=0.0)
        steps = msgspec.structs.replace(found.steps, ratios=(ratio,))
        number = map_numbers(shown, msgspec.structs.replace(found, steps=steps))[-1]
        assert (number.label, number.value) == (label, 1.2)
        assert words in number.read_from
    refused = run(AutocastTimingSpec(model=ModelSpec(grad_mode="no_grad"), rounds=5), inline=True)
    assert refused.steps is None
    assert "does not require grad" in refused.error.message
