"""Reported surprises of checkpointing, refusals, and what PyTorch says to a policy that cannot be."""

from __future__ import annotations

import msgspec
import pytest
import torch
from torch import nn

from engine.checkpointing.gradients import compared, take_gradients
from engine.checkpointing.outcome import run_policies
from engine.checkpointing.policies import applied
from engine.checkpointing.policy import Policy, label_of
from engine.checkpointing.spec import PolicyGraphSpec, PolicySpec, PolicyTimingSpec
from engine.models.build import Built
from engine.models.spec import Chain, Gpt, LinearStack, Mlp, ModelSpec, Recurrent, TiedLoop

EACH = Policy(kind="each_block")
REENTRANT = Policy(kind="each_block", use_reentrant=True)
NOT_PRESERVED = Policy(kind="each_block", preserve_rng_state=False)


def outcomes_of(model, *policies):
    found = run_policies(PolicySpec(model=model, policies=(Policy(), *policies)), lambda *_: None)
    return found.outcomes[1:]


@pytest.mark.parametrize("input_requires_grad", [False, True])
def test_a_reentrant_checkpoint_needs_an_input_that_requires_grad(input_requires_grad):
    """pytorch/pytorch#7617: two by two, and only reentrant without such an input loses the gradients."""
    model = ModelSpec(architecture=Mlp(layers=1, depth=1, width=8), input_requires_grad=input_requires_grad)
    reentrant, other = outcomes_of(model, REENTRANT, EACH)
    lost = () if input_requires_grad else ("layers.0.linear.weight", "layers.0.linear.bias")
    assert reentrant.missing == lost
    assert other.missing == ()
    assert (
        any("None of the inputs have requires_grad=True" in said for said in reentrant.warnings) != input_requires_grad
    )
    assert other.warnings == ()
    assert reentrant.loss_identical
    assert other.gradients_identical


def test_a_model_all_of_whose_blocks_are_reentrant_has_no_loss_to_go_back_from():
    (reentrant,) = outcomes_of(ModelSpec(architecture=LinearStack(layers=2, width=8)), REENTRANT)
    assert "does not require grad and does not have a grad_fn" in reentrant.error.message
    assert reentrant.held_bytes is reentrant.live_bytes is reentrant.peak_bytes is None
    assert len(reentrant.missing) == 4
    assert not reentrant.gradients_identical


class OneBlock(nn.Module):
    """dropout(sin(x)) * 3 as one block."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks = [lambda x: nn.functional.dropout(x.sin(), 0.5) * 3]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out: torch.Tensor = self.run_blocks(x) if "run_blocks" in self.__dict__ else self.blocks[0](x)
        return out


def test_another_dropout_mask_in_backward_is_counted_element_by_element():
    """pytorch/pytorch#14253: 483 of 1000 gradients belong to another mask than the forward's; preserved, none."""
    x = torch.ones(1000, requires_grad=True)
    built = Built(ModelSpec(architecture=LinearStack(), seed=7), OneBlock(), {"x": x})

    def step(policy):
        with applied(built, policy) as one:
            loss = one.run()[1]
            loss.backward()
        return take_gradients(built, loss)

    off = step(Policy())
    lost, kept = compared(step(NOT_PRESERVED), off), compared(step(EACH), off)
    assert (lost["differing_elements"], lost["gradient_elements"]) == (483, 1000)
    assert lost["differing"] == ("x",)
    assert lost["loss_identical"]
    assert kept["differing_elements"] == 0
    assert kept["gradients_identical"]


def test_a_model_with_dropout_gets_wrong_gradients_without_a_word():
    """openai/guided-diffusion#167: the loss is right, the gradients are not, and PyTorch says nothing."""
    model = ModelSpec(architecture=Gpt(layers=2, heads=2, width=16, sequence=8, vocabulary=20, dropout=0.3))
    (lost,) = outcomes_of(model, NOT_PRESERVED)
    assert lost.error is None
    assert lost.warnings == ()
    assert lost.loss_identical
    assert not lost.gradients_identical
    assert lost.missing == ()
    assert 0 < lost.differing_elements < lost.gradient_elements
    assert lost.largest_difference > 1e-3


@pytest.mark.parametrize(
    ("architecture", "autocast", "policy", "words"),
    [
        (LinearStack(layers=3, width=8), "off", Policy(kind="segments", segments=4), "must not be zero"),
        (LinearStack(layers=3, width=8), "off", Policy(kind="selective", keep=("aten.nothing.default",)), "nothing"),
        (LinearStack(layers=3, width=8), "off", Policy(kind="selective", use_reentrant=True), "use_reentrant=False"),
        (Recurrent(steps=3, width=8), "off", Policy(kind="selective", keep=("aten.addmm.default",)), "been mutated"),
        (TiedLoop(), "bfloat16", Policy(kind="selective", keep=("aten.addmm.default",)), "not found in storage"),
    ],
    ids=lambda value: value.kind if isinstance(value, Policy) else str(type(value).__name__),
)
def test_what_pytorch_refuses_is_the_result_in_its_words(architecture, autocast, policy, words):
    model = ModelSpec(architecture=architecture, autocast=autocast)
    refused, after = outcomes_of(model, policy, EACH)
    assert words in refused.error.message
    assert refused.held_bytes is None
    assert after.error is None  # and the next one is not disturbed
    assert after.gradients_identical


@pytest.mark.parametrize("spec", [PolicySpec, PolicyTimingSpec])
def test_a_policy_over_blocks_that_are_not_there_is_refused(spec):
    with pytest.raises(ValueError, match=r"no sequence of blocks.*received 'each_block'.*save_on_cpu"):
        spec(model=ModelSpec(architecture=Chain()))
    with pytest.raises(ValueError, match=r"within the 3 blocks.*received \(2, 5\).*at 3"):
        spec(
            model=ModelSpec(architecture=LinearStack(layers=3)),
            policies=(Policy(), Policy(kind="groups", groups=((0, 2), (2, 5)))),
        )
    with pytest.raises(ValueError, match="off first"):
        spec(policies=(EACH, Policy()))


def test_a_graph_is_not_traced_under_a_policy_that_does_not_fit():
    with pytest.raises(ValueError, match="no sequence of blocks"):
        PolicyGraphSpec(model=ModelSpec(architecture=Chain()))
    with pytest.raises(ValueError, match="must not checkpoint by itself"):
        PolicyGraphSpec(model=ModelSpec(checkpoint="each_block"))


def test_policies_differ_in_their_labels():
    plain = [Policy(), EACH, Policy(kind="segments"), Policy(kind="every_k"), Policy(kind="selective")]
    varied = [msgspec.structs.replace(policy, use_reentrant=True) for policy in plain[1:]]
    assert len(set(map(label_of, [*plain, *varied, NOT_PRESERVED]))) == 10
