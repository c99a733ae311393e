"""What a run under policies is predicted to need is never less than what it takes."""

from __future__ import annotations

import pytest

from engine import run
from engine.checkpointing.experiment import price
from engine.checkpointing.outcome import run_policies
from engine.checkpointing.policy import Policy, label_of
from engine.checkpointing.pricing import GENERATOR_BYTES
from engine.checkpointing.spec import ForecastSpec, PolicyGraphSpec, PolicySpec, PolicyTimingSpec
from engine.checkpointing.standard import matrix_operations
from engine.models.build import price as price_model
from engine.models.spec import ConvNet, Gpt, LinearStack, ModelSpec, Recurrent
from engine.runner.faults import Fault
from tests.models.families import label

EVERYTHING = ("aten.addmm.default", "aten.relu.default", "aten.view.default", "aten.gelu.default")
WIDE = ModelSpec(architecture=LinearStack(layers=20, width=64), batch=1000)
LARGE = (
    WIDE,
    ModelSpec(architecture=Gpt(layers=4, width=64, sequence=64, vocabulary=200), batch=8),
    ModelSpec(architecture=Recurrent(cell="hand_written_lstm", steps=10, width=64, layers=2), batch=128),
    ModelSpec(architecture=ConvNet(layers=3, channels=32, image_size=32), batch=16),
)


def policies_of(model):
    keep = matrix_operations(model)
    return (
        Policy(),
        Policy(kind="each_block"),
        Policy(kind="groups", groups=((0, 2),)),
        Policy(kind="selective", keep=keep),
        *([Policy(kind="selective", keep=EVERYTHING)] if isinstance(model.architecture, LinearStack | Gpt) else []),
        Policy(kind="save_on_disk"),
    )


@pytest.mark.parametrize(
    "model",
    [WIDE, *(pytest.param(model, marks=pytest.mark.slow) for model in LARGE[1:])],
    ids=lambda model: label(model.architecture),
)
def test_no_policy_takes_more_than_was_predicted(model):
    spec = PolicySpec(model=model, policies=policies_of(model))
    predicted = price(spec).predicted_bytes
    found = run_policies(spec, lambda *_: None)
    gradients = found.before_bytes  # at least the size of those of off, which are kept to compare with
    for outcome in found.outcomes:
        assert outcome.error is None, outcome.error
        assert found.before_bytes + outcome.peak_bytes <= predicted, label_of(outcome.policy)
    assert predicted < 6 * (max(outcome.peak_bytes for outcome in found.outcomes) + gradients)


def test_a_cache_beside_the_graph_is_priced():
    plain = price_model(WIDE).predicted_bytes
    each = price(PolicyGraphSpec(model=WIDE)).predicted_bytes
    keeping = price(PolicyGraphSpec(model=WIDE, policy=Policy(kind="selective", keep=EVERYTHING))).predicted_bytes
    assert each == plain + 20 * GENERATOR_BYTES
    assert keeping - each >= 2 * 20 * 1000 * 64 * 4  # an addmm and a relu per block
    assert price(ForecastSpec(model=WIDE)) is None


@pytest.mark.slow
@pytest.mark.parametrize("spec", [PolicySpec, PolicyTimingSpec])
def test_a_model_too_large_is_refused_with_its_bytes_before_it_starts(spec):
    huge = ModelSpec(architecture=LinearStack(layers=50, width=4096), batch=4096)
    with pytest.raises(Fault, match=r"GiB"):
        run(spec(model=huge))
