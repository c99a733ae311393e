"""Nonsense is refused in words: what, limit, received, remedy; controls without effect carry a reason."""

from __future__ import annotations

import msgspec
import pytest
import torch

from engine.devices import require_device
from engine.models.applicability import architecture_reasons, refusals, settle, toggle_reasons
from engine.models.build import build
from engine.models.spec import (
    Embedding,
    Expression,
    Gpt,
    LinearStack,
    Mlp,
    ModelSpec,
    Recurrent,
    ResNet,
    TwoTower,
    parameter_groups,
)
from tests.models.families import NETWORKS, SOUND_EXPRESSIONS, label
from tests.models.runs import node_names

EVERY = (*NETWORKS, *SOUND_EXPRESSIONS)
OTHER = {
    "memory_format": "channels_last",
    "checkpoint": "each_block",
    "checkpoint_k": 7,
    "checkpoint_segments": 3,
    "use_reentrant": True,
    "preserve_rng_state": False,
    "grad_mode_block": 0,
    "input_requires_grad": True,
    "loss": "mean",
    "batch": 9,
    "frozen": ("head",),
}

NONSENSE = [
    ({"frozen": ("layers.9",)}, "frozen", "layers.9", "Choose among layers, layers.0"),
    ({"architecture": Gpt(), "frozen": ("head",)}, "frozen", "head", "shares the weight of tokens"),
    ({"grad_mode": "detach", "grad_mode_block": 3}, "grad_mode_block", "runs 3, received 3", "Choose 0 to 2"),
    ({"checkpoint": "segments", "checkpoint_segments": 4}, "checkpoint_segments", "received 4", "at most 3"),
    (
        {"architecture": Embedding(), "checkpoint": "each_block"},
        "checkpoint",
        "no sequence of blocks",
        "Leave it at 'off'",
    ),
    ({"architecture": Gpt(), "input_requires_grad": True}, "input_requires_grad", "integer ids", "Leave it at False"),
    ({"architecture": Expression(), "loss": "cross_entropy"}, "loss", "its own loss", "Leave it at 'sum'"),
    ({"memory_format": "channels_last"}, "memory_format", "needs images", "Leave it at 'contiguous'"),
    ({"dtype": "float64", "autocast": "bfloat16"}, "autocast", "leaves float64 alone", "Leave it at 'off'"),
    ({"architecture": Expression(name="complex_abs2"), "dtype": "bfloat16"}, "dtype", "complex", "Use float32"),
    ({"device": "mps", "dtype": "float64"}, "device", "no float64", "Use cpu"),
    ({"device": "mps", "architecture": Expression(name="to_double")}, "device", "no float64", "Use cpu"),
    ({"architecture": ResNet(image_size=32), "batch": 1}, "batch", "received batch=1", "Use batch 2 or more"),
    ({"batch": 0}, "batch", "between 1 and 4096", "Choose a value"),
    ({"checkpoint": "sometimes"}, "checkpoint", "'sometimes'", "Choose one"),
]


@pytest.mark.parametrize(("fields", "name", "received", "remedy"), NONSENSE, ids=lambda v: str(v)[:50])
def test_nonsense_is_refused_in_words(fields, name, received, remedy):
    with pytest.raises(ValueError, match=f"ModelSpec.{name}") as caught:
        ModelSpec(**fields)
    assert received in str(caught.value)
    assert remedy in str(caught.value)


@pytest.mark.parametrize("architecture", EVERY, ids=label)
def test_every_refused_toggle_is_refused_and_every_other_is_built(architecture):
    refused = refusals(architecture)
    for name, value in OTHER.items():
        if name == "frozen" and name not in refused:
            value = parameter_groups(architecture)[-1:]
        if name == "checkpoint_segments" and "checkpoint" not in refused:
            continue  # only checked where it is used
        fields = {"architecture": architecture, name: value}
        if name in refused:
            with pytest.raises(ValueError, match=name):
                ModelSpec(**fields)
        else:
            build(ModelSpec(**fields))


@pytest.mark.parametrize("architecture", EVERY, ids=label)
def test_reasons_name_fields_and_cover_the_refusals(architecture):
    reasons = toggle_reasons(ModelSpec(architecture=architecture))
    assert reasons.keys() <= set(ModelSpec.__struct_fields__)
    assert refusals(architecture).items() <= reasons.items()
    assert all(reasons.values())


def test_a_control_without_effect_changes_nothing():
    """The family of "no effect" reasons, checked by running both values."""
    for architecture in (Mlp(), LinearStack(layers=4, width=8), TwoTower(width=8)):
        spec = ModelSpec(architecture=architecture)
        for name, value in {
            "train": False,
            "checkpoint_k": 2,
            "use_reentrant": True,
            "preserve_rng_state": False,
        }.items():
            assert name in toggle_reasons(spec)
            changed = msgspec.structs.replace(spec, **{name: value})
            first, second = (built.loss(built.forward()) for built in (build(spec), build(changed)))
            assert torch.equal(first, second)


def test_an_architecture_field_without_effect_changes_nothing():
    for model, name, value in (
        (ModelSpec(architecture=Mlp(), train=False), "dropout", 0.5),
        (ModelSpec(architecture=Gpt(layers=1), train=False), "dropout", 0.5),
        (ModelSpec(architecture=Mlp(depth=1)), "residual", False),
        *((ModelSpec(architecture=Recurrent(cell=c)), "fused", True) for c in ("gru", "rnn", "hand_written_lstm")),
        (ModelSpec(architecture=Recurrent(), dtype="float64"), "fused", True),
    ):
        assert name in architecture_reasons(model)
        other = msgspec.structs.replace(
            model, architecture=msgspec.structs.replace(model.architecture, **{name: value})
        )
        losses = [built.loss(built.forward()) for built in (build(model), build(other))]
        assert torch.equal(*losses)
        names = [node_names(loss) for loss in losses]
        assert names[0] == names[1]
    assert not architecture_reasons(ModelSpec(architecture=Recurrent()))
    assert not architecture_reasons(ModelSpec())


def test_reasons_follow_the_toggles():
    assert "train" not in toggle_reasons(ModelSpec(architecture=ResNet()))
    assert "train" not in toggle_reasons(ModelSpec(architecture=Mlp(dropout=0.5)))
    on = ModelSpec(architecture=Mlp(dropout=0.5), checkpoint="every_k", grad_mode="detach")
    assert toggle_reasons(on).keys() == {"checkpoint_segments", "memory_format"}
    assert "preserve_rng_state" in toggle_reasons(msgspec.structs.replace(on, architecture=Mlp()))
    assert "autocast" in toggle_reasons(ModelSpec(dtype="float64"))


@pytest.mark.parametrize("architecture", EVERY, ids=label)
def test_settle_makes_any_shared_toggles_fit(architecture):
    shared = dict(OTHER, grad_mode="detach", grad_mode_block=40, checkpoint="segments", checkpoint_segments=40)
    shared |= {"frozen": ("head", "conv1", "nowhere"), "dtype": "float64", "autocast": "bfloat16"}
    model, reasons = settle(architecture, **shared)
    assert reasons == toggle_reasons(model)
    assert model.autocast == "off"
    build(model)


def test_an_absent_device_says_why():
    absent = [name for name in ("cuda", "mps") if not getattr(torch, name).is_available()]
    for name in absent:
        with pytest.raises(ValueError, match=f"'{name}' is not available here: torch .* Use 'cpu'"):
            build(ModelSpec(device=name))
    require_device("cpu", "ModelSpec.device")
