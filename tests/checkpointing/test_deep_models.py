"""Models of more operations than can be noted one by one are refused in words, before they take minutes."""

from __future__ import annotations

import pytest

from engine.checkpointing.experiment import forecast_policies, run_policies, trace_policy
from engine.checkpointing.spec import ForecastSpec, PolicyGraphSpec, PolicySpec
from engine.mixed_precision.experiment import map_autocast
from engine.mixed_precision.spec import AutocastSpec
from engine.models.spec import Chain, ModelSpec
from engine.runner.faults import Fault

DEEP = ModelSpec(architecture=Chain(operations=60_000))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("verb", "spec"),
    [
        (forecast_policies, ForecastSpec(model=DEEP, policies=ForecastSpec().policies[:1])),
        (run_policies, PolicySpec(model=DEEP, policies=PolicySpec().policies[:1])),
        (trace_policy, PolicyGraphSpec(model=DEEP, policy=PolicySpec().policies[0])),
        (map_autocast, AutocastSpec(model=DEEP)),
    ],
    ids=["forecast", "run", "trace", "autocast"],
)
def test_too_many_operations_are_a_fault_and_no_lesson_of_pytorch(verb, spec):
    with pytest.raises(Fault, match=r"more than .* operations") as caught:
        verb(spec, lambda stage, fraction: None)
    assert caught.value.kind == "too_much"
    assert caught.value.report.remedy
