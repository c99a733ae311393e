"""What a gradient job will need is told before it runs, and too much is refused with the predicted bytes."""

from __future__ import annotations

import pytest

from engine import run
from engine.gradients.experiment import price
from engine.gradients.spec import DifferenceSpec
from engine.models.build import price as price_model
from engine.models.spec import Gpt, ModelSpec
from engine.runner.faults import Fault
from pages.backward.gradient_values_controls import KINDS

LARGE = ModelSpec(
    architecture=Gpt(layers=12, heads=12, width=768, sequence=512, vocabulary=50257), batch=512, loss="mean"
)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: kind.__name__)
def test_every_section_costs_more_than_the_run_alone_and_a_huge_one_is_refused(kind):
    alone = price_model(LARGE).predicted_bytes
    spec = kind(model=LARGE)
    assert price(spec).predicted_bytes > alone
    with pytest.raises(Fault) as caught:
        run(spec, inline=True)
    assert caught.value.report.kind == "refused"
    assert "GiB" in caught.value.report.what or "TiB" in caught.value.report.what


def test_two_runs_cost_the_larger_one_and_what_is_compared():
    small = ModelSpec(architecture=Gpt(layers=1, heads=2, width=16, sequence=8, vocabulary=50))
    spec = DifferenceSpec(model=small, against="given", other=LARGE)
    assert price(spec).predicted_bytes > price_model(LARGE).predicted_bytes
