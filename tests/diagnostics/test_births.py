"""Where a NaN is born: right node, operation and arithmetic, on programs and on any model with a fault in it."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from engine import run
from engine.diagnostics.births import Births, is_finite
from engine.diagnostics.catalogue import NAMES, PROGRAMS
from engine.diagnostics.detectors import any_non_finite
from engine.diagnostics.flow import Flow
from engine.diagnostics.spec import DetectorSpec, DiagnosisSpec, Fault
from engine.diagnostics.watch_backward import slot_of
from engine.models.build import build
from engine.models.spec import ConvNet, Gpt, LinearStack, Mlp, ModelSpec, TwoTower
from tests.diagnostics.diagnosing import diagnose, origin, program, tensor

BORN = {
    "where_nan": ("forward", "aten.sqrt.default", "", "sqrt(-4) = nan"),
    "divide_by_zero": ("forward", "aten.div.Tensor", "", "0 / 0 = nan"),
    "sqrt_at_zero": ("backward", "aten.div.Tensor", "SqrtBackward0", "1 / 0 = inf"),
    "log_of_zero": ("forward", "aten.log.default", "", "log(0) = -inf"),
    "softmax_without_max": ("forward", "aten.exp.default", "", "exp(100) = inf"),
    "zero_times_inf": ("forward", "aten.mul.Tensor", "", "inf * 0 = nan"),
    "norm_at_zero": ("backward", "aten.div.Tensor", "SqrtBackward0", "2 / 0 = inf"),
    "float16_overflow": ("forward", "aten.mm.default", "", ""),
    "masked_row": ("forward", "aten._softmax.default", "", ""),
}


@pytest.mark.parametrize("name", BORN)
def test_the_first_bad_operation_with_its_arithmetic(name):
    phase, operation, node, arithmetic = BORN[name]
    born = origin(program(name))
    assert (born.phase, born.operation, born.node) == (phase, operation, node)
    assert arithmetic in {element.arithmetic for element in born.elements} or not arithmetic
    assert born.source.file == "program"


@pytest.mark.parametrize("name", [name for name in NAMES if PROGRAMS[name].file != "non_finite"])
def test_nothing_is_born_in_programs_that_stay_finite(name):
    assert program(name).births == ()


@pytest.mark.parametrize("name", [name for name in BORN if name not in ("sqrt_at_zero", "norm_at_zero")])
def test_anomaly_mode_agrees_on_the_first_node_with_nan(name):
    """It sees NaN in backward only: its node is among those in which the page saw one, or took one in."""
    found = program(name)
    if found.anomaly is None:
        assert all(not one.grad or not one.grad.nans for one in found.watched)
        return
    node = found.anomaly.message.split("'")[1]
    assert any(
        node in (birth.node, f"{birth.called.rpartition('.')[2].capitalize()}Backward0") for birth in found.births
    )
    assert found.anomaly.message.count('File "') == found.anomaly.message.count('File "program", line ') > 0
    assert "/" not in found.anomaly.message.split('File "', 1)[1].replace("a / b", "").replace("exponentials /", "")


def test_a_constant_of_minus_infinity_is_not_the_origin():
    first, second = program("masked_row").births[:2]
    assert first.on_purpose
    assert first.infinities == 3
    assert not second.on_purpose
    assert second.nans == 2


@pytest.mark.parametrize("architecture", [ConvNet(layers=2), ConvNet(layers=1)])
def test_nan_made_by_batch_norm_is_computed_though_its_statistics_are_written_meanwhile(architecture):
    found = diagnose(DiagnosisSpec(model=ModelSpec(architecture=architecture), fault=Fault(kind="inf in the input")))
    norms = [birth for birth in found.births if "batch_norm" in birth.operation]
    assert norms
    assert not any(birth.on_purpose or "Written down" in birth.explanation for birth in norms)


def test_a_tensor_from_elsewhere_is_told_from_one_written_in_place_meanwhile():
    outside = torch.from_numpy(np.array([1.0, np.inf]))
    births = Births(Flow(lambda call, out: None))
    with births:
        outside * 2
        torch.ones(2).div_(torch.zeros(2))
        buffer = torch.empty(2)
        buffer.fill_(1.0)
        buffer.mul_(3e38).mul_(10.0)
    assert [birth.on_purpose for birth in births.births] == [True, False, False]


OVERFLOWING = {
    "sum": (lambda: torch.full((4,), 6e4, dtype=torch.float16).sum(), "The sum of finite elements"),
    "cumsum": (lambda: torch.full((3,), 3e38).cumsum(0), "The cumsum of finite elements"),
    "mm": (lambda: torch.full((2, 2), 1e20) @ torch.full((2, 2), 1e20), "The sum of products"),
    "bmm": (lambda: torch.bmm(torch.full((1, 2, 2), 1e20), torch.full((1, 2, 2), 1e20)), "The sum of products"),
    "conv": (lambda: torch.conv1d(torch.full((1, 1, 3), 1e20), torch.full((1, 1, 3), 1e20)), "The sum of products"),
}


@pytest.mark.parametrize("name", OVERFLOWING)
def test_an_overflow_is_worded_by_what_was_computed(name):
    make, words = OVERFLOWING[name]
    births = Births(Flow(lambda call, out: None))
    with births:
        assert torch.isinf(make()).any()
    assert words in births.births[0].explanation
    assert ("products" in births.births[0].explanation) == (name in ("mm", "bmm", "conv"))


def test_anomaly_mode_shows_no_file_of_this_project_around_a_program_or_model():
    for found in (program("where_nan"), diagnose(DiagnosisSpec(fault=Fault(kind="inf in the input")))):
        assert 'File "' in found.anomaly.message
        assert not any(name in found.anomaly.message for name in ("detectors.py", "experiment.py", "lambda"))


FAULTY = [
    (ModelSpec(), Fault(kind="scale weights"), "layers.1.linear", "aten.addmm.default"),
    (ModelSpec(), Fault(kind="NaN in a parameter", group="layers.1"), "layers.1.linear", "layers.1.linear.weight"),
    (ModelSpec(), Fault(kind="inf in the input"), "", "x"),
    (ModelSpec(autocast="float16"), Fault(kind="scale input", exponent=6), "layers.0.linear", "aten._to_copy.default"),
    (ModelSpec(architecture=TwoTower()), Fault(kind="scale weights"), "blocks.0.linear", "aten.addmm.default"),
    (
        ModelSpec(architecture=Gpt(layers=2, heads=2, width=16, sequence=8, vocabulary=50)),
        Fault(kind="NaN in a parameter", group="blocks.1"),
        "blocks.1.attention_norm",
        "blocks.1.attention_norm.weight",
    ),
]


@pytest.mark.parametrize(("model", "fault", "module", "operation"), FAULTY)
def test_a_fault_in_any_model_is_found_where_it_was_put(model, fault, module, operation):
    found = diagnose(DiagnosisSpec(model=model, fault=fault))
    born = origin(found)
    assert (born.module, born.operation) == (module, operation)
    assert "loss" in born.reached


def test_the_overflow_is_where_the_activations_by_hand_overflow():
    built = build(ModelSpec())
    with torch.no_grad():
        for parameter in built.model.parameters():
            parameter.mul_(1e20)
    bad: list[str] = []
    for path, module in built.model.named_modules():
        module.register_forward_hook(
            lambda m, a, out, path=path: None if torch.isfinite(out).all() else bad.append(path)
        )
    built.forward()
    assert origin(diagnose(DiagnosisSpec(fault=Fault(kind="scale weights")))).module == bad[0]


@pytest.mark.parametrize("model", [ModelSpec(), ModelSpec(architecture=Gpt(layers=2, width=16, heads=2, sequence=8))])
def test_nothing_is_born_without_a_fault(model):
    found = diagnose(DiagnosisSpec(model=model))
    assert (found.births, found.origin, found.anomaly) == ((), None, None)


def test_one_layer_in_float64_gives_pytorchs_own_error_and_a_finding():
    found = diagnose(DiagnosisSpec(fault=Fault(kind="a layer in float64")))
    assert found.error_stage == "forward"
    assert "must have the same dtype, but got Float and Double" in found.error.message
    assert {(one.subject, one.severity) for one in found.findings} == {("head.weight", "error"), ("head.bias", "error")}


VALUES = [
    (torch.tensor([1.0, math.nan]), False, "non_finite"),
    (torch.tensor([1.0, -math.inf, math.inf]), False, "non_finite"),
    (torch.full((4,), 3e38), True, "flows"),
    (torch.full((4,), 60000.0, dtype=torch.float16), True, "flows"),
    (torch.full((4,), 1e-40), True, "flows"),
    (torch.zeros(3), True, "zero"),
    (torch.zeros(0), True, "zero"),
    (torch.tensor([complex(0, math.nan)]), False, "non_finite"),
    (torch.tensor([1.0, 0.0]).to_sparse(), True, "flows"),
]


@pytest.mark.parametrize(("values", "finite", "slot"), VALUES, ids=str)
def test_fast_checks_are_exact_where_sums_and_squares_overflow(values, finite, slot):
    assert is_finite(values) is finite
    assert slot_of(values) == slot


def test_one_look_at_the_end_sees_what_is_not_finite():
    fine, bad = torch.ones(3), torch.tensor([1.0, math.inf])
    assert not any_non_finite(torch.tensor(1.0), [fine])
    assert any_non_finite(torch.tensor(1.0), [fine, bad])
    assert any_non_finite(torch.tensor(math.nan), [fine])
    assert not any_non_finite(torch.tensor(1.0), [])


def test_the_four_ways_of_looking_are_timed_on_the_same_step():
    cost = run(DetectorSpec(model=ModelSpec(architecture=Mlp(width=8)), rounds=5), inline=True)
    assert cost.comparison.names == ("plain", "look at the end", "every operation", "detect_anomaly")
    assert cost.operations > 20
    refused = run(DetectorSpec(model=ModelSpec(grad_mode="no_grad"), rounds=5), inline=True)
    assert "does not require grad" in refused.error.message


def test_dead_units_are_counted_and_have_no_gradient():
    found = diagnose(
        DiagnosisSpec(model=ModelSpec(architecture=LinearStack(layers=2, width=8)), fault=Fault(kind="bias of -1e4"))
    )
    assert [(row.operation, row.units, row.dead, row.without_gradient) for row in found.units] == [
        ("relu", 8, 8, 8)
    ] * 2
    assert tensor(found, "blocks.0.linear.weight").state == "zero"


def test_one_hook_of_every_kind_is_listed_and_counted():
    found = diagnose(DiagnosisSpec(example_hooks=True))
    counted = {hook.kind: hook.calls for hook in found.hooks if not hook.kind.startswith("saved")}
    kinds = ("forward pre-hook", "forward hook", "full backward pre-hook", "full backward hook")
    assert counted == dict.fromkeys((*kinds, "tensor hook", "post-accumulate hook"), 1)
    assert any(hook.kind.startswith("saved-tensor hook") and hook.calls > 0 for hook in found.hooks)
    assert diagnose(DiagnosisSpec()).hooks == ()
