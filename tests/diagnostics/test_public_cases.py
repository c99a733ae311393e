"""Public cases about missing and non-finite gradients, each with the values PyTorch gave there."""

from __future__ import annotations

import pytest

from engine.diagnostics.spec import DiagnosisSpec
from engine.models.spec import LinearStack, Mlp, ModelSpec
from tests.diagnostics.diagnosing import deciding, diagnose, origin, program, tensor


def test_a_hook_on_a_weight_used_twice_runs_once_with_the_sum():
    """pytorch/pytorch#8023: [8, 12] twice, .grad still None in the tensor hook."""
    found = program("hook_on_tied_weight")
    expected = [["tensor_hook", [[8.0, 12.0], [8.0, 12.0]], True], ["post_acc", [[8.0, 12.0], [8.0, 12.0]], False]]
    assert [(one.name, one.value) for one in found.noted] == [("log", str(expected))]
    path = next(step for step in tensor(found, "emb").steps if "path" in step.question)
    assert path.evidence.startswith("2 edges")
    assert [(hook.where, hook.kind, hook.function) for hook in found.hooks] == [
        ("emb", "tensor hook", "look"),
        ("emb", "post-accumulate hook", "after"),
    ]


def test_a_cast_tensor_is_no_leaf_and_its_retained_gradient_is_known():
    """pytorch/pytorch#22860: ToCopyBackward0, .grad None; mid after retain_grad() has [6, 6]; b has [18, 18]."""
    broken, mended = program("to_non_leaf"), program("to_non_leaf", mended=True)
    a = tensor(broken, "a")
    assert not a.is_leaf
    assert a.grad is None
    assert "ToCopyBackward0" in next(step.evidence for step in a.steps if step.question == "Is it a leaf?")
    assert broken.grad_of_non_leaf.startswith(
        "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed"
    )
    assert tensor(broken, "b").grad.norm == pytest.approx((2 * 18.0**2) ** 0.5)
    passed = tensor(broken, "mid").passed.norm
    assert passed == tensor(mended, "mid").grad.norm == pytest.approx((2 * 6.0**2) ** 0.5)


def test_where_does_not_keep_the_nan_out():
    """pytorch/pytorch#187297: sqrt(-4) in the branch not taken; SqrtBackward0 by anomaly mode."""
    found = program("where_nan")
    born = origin(found)
    assert found.loss == -1.0
    assert (born.phase, born.operation, born.nans) == ("forward", "aten.sqrt.default", 1)
    assert born.elements[0].index == (0,)
    assert born.elements[0].operands == (("self", -4.0),)
    assert born.reached == ("x.grad",)
    assert born.source.text == "y = torch.where(x > 0, x.sqrt(), x)"
    assert found.anomaly.message.startswith("Function 'SqrtBackward0' returned nan values in its 0th output.")
    assert tensor(found, "x").grad.nans == 1
    mended = program("where_nan", mended=True)
    assert mended.births == ()
    assert tensor(mended, "x").grad.norm == pytest.approx((1 + 1 / 36) ** 0.5)


@pytest.mark.parametrize("use_reentrant", [True, False])
@pytest.mark.parametrize("input_requires_grad", [True, False])
def test_a_reentrant_checkpoint_needs_an_input_that_requires_grad(use_reentrant, input_requires_grad):
    """pytorch/pytorch#7617: of the four combinations only reentrant without such an input loses the gradients."""
    model = ModelSpec(
        architecture=LinearStack(layers=2, width=4),
        checkpoint="each_block",
        use_reentrant=use_reentrant,
        input_requires_grad=input_requires_grad,
    )
    found = diagnose(DiagnosisSpec(model=model))
    weight = tensor(found, "blocks.0.linear.weight")
    lost = use_reentrant and not input_requires_grad
    assert (weight.state == "none") == lost
    assert any("None of the inputs have requires_grad=True" in warning for warning in found.warnings) == lost
    if lost:
        assert "CheckpointFunction.forward" in deciding(weight)
        assert found.error.message.startswith("element 0 of tensors does not require grad")


def test_dropout_recomputed_without_its_random_state_draws_another_mask():
    """openai/guided-diffusion#167: 483 of 1000 elements disagree without preserve_rng_state, none with."""
    notes = {mended: program("dropout_recomputed", mended).noted[0] for mended in (False, True)}
    assert {mended: (note.name, note.value) for mended, note in notes.items()} == {
        False: ("kept_without_gradient", "483"),
        True: ("kept_without_gradient", "0"),
    }


def test_layers_that_do_not_run_are_what_ddp_waits_for():
    """pytorch/pytorch#68862, the part of one process: idle parameters have no path and .grad None."""
    found = program("unused_parameters")
    assert found.unused == ("idle.weight", "idle.bias")
    assert {tensor(found, name).state for name in found.unused} == {"none"}
    assert "nothing used it" in deciding(tensor(found, "idle.weight"))
    model = diagnose(DiagnosisSpec(model=ModelSpec(architecture=Mlp(layers=4, depth=2))))
    assert {name.split(".")[1] for name in model.unused} == {"2", "3"}


def test_tensors_in_a_list_are_not_seen_by_a_function():
    """pytorch/pytorch#55438: apply([a, b]) gives no grad_fn; apply(a, b) gives gradients 2 and 5."""
    broken, mended = program("list_into_function"), program("list_into_function", mended=True)
    assert tensor(broken, "a").state == tensor(broken, "joined").state == "none"
    assert "inside of Joined.forward" in deciding(tensor(broken, "a"))
    assert [tensor(mended, name).grad.norm for name in "ab"] == [2.0, 5.0]
