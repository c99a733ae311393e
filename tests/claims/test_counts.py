"""Exact counts against hand arithmetic."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn

from engine.claims import (
    checkpointed_stack,
    clipped_sigmoid,
    combined,
    combined_model,
    cube,
    dynamic_block,
    dynamic_depth,
    hessian_product,
    image_bytes,
    inference_modes,
    low_rank,
    row_sums,
    safe_sigmoid,
    scripted_gelu,
    sparse_product,
    two_ranks,
    update_in_place,
)
from engine.claims.counting import count_nodes, held_bytes, live_bytes

FLOAT_BYTES = 4


def test_the_cube_has_its_derivatives():
    assert cube.counts(2.0) == {"first derivative": 12.0, "second derivative": 12.0, "relative error": 0.0}
    assert cube.counts(-5.0)["second derivative"] == -30.0


def test_nodes_follow_the_depth():
    # A Linear is addmm, the transposed weight, two accumulators; the input one more; relu and dropout between; one sum.
    found = dynamic_depth.counts(hidden=8, batch=2)
    assert found == {"nodes at depth 1": 5, "nodes at depth 2": 5 + 4 + 2, "nodes at depth 3": 5 + 2 * 6 + 1}


def test_the_printed_depth_model_reads_a_name_before_it_is_assigned():
    with pytest.raises(UnboundLocalError, match="residual"):
        dynamic_depth.calls(8, 2)["model(x, depth=2) as printed"]()


@pytest.mark.parametrize(("beta", "clip"), [(2.0, 0.1), (4.0, 0.25), (1.0, 0.5)])
def test_the_clip_bites_where_the_derivative_is_larger(beta, clip):
    found = clipped_sigmoid.counts(beta, clip)
    assert found["largest true derivative"] == pytest.approx(beta / 4)
    assert found["largest clipped derivative"] == pytest.approx(min(clip, beta / 4))
    assert found["largest gradient of 1000 y"] == pytest.approx(1000 * min(clip, beta / 4))
    reach = math.acosh(max(1.0, beta / (2 * clip) - 1))  # beta / (2 + 2 cosh u) > clip
    assert found["clipped share"] == pytest.approx(reach / 6, abs=1e-3)


def test_the_clamp_changes_gradients_of_a_scaled_loss():
    found = safe_sigmoid.counts(largest=100.0, scale=10.0)
    assert found["values that are not finite"] == 0
    assert found["exp(-x) that overflow"] > 0
    assert found["wrong gradients share"] == pytest.approx(math.acosh(4) / 4, abs=1e-3)  # 10 / (2 + 2 cosh u) > 1
    assert (found["largest true gradient"], found["largest clamped gradient"]) == (2.5, 1.0)
    assert safe_sigmoid.counts(largest=100.0, scale=4.0)["wrong gradients share"] == 0


def test_an_8k_image_and_its_copy():
    found = image_bytes.counts(7680, 4320, 3)
    assert found["image bytes"] == found["extra bytes of .contiguous()"] == 3 * 7680 * 4320 * FLOAT_BYTES
    assert found["extra bytes of a transposed view"] == found["permuted.is_contiguous()"] == 0


@pytest.mark.parametrize(("height", "width"), [(1, 1), (1, 9), (9, 1), (2, 3)])
def test_contiguous_copies_only_what_is_not_contiguous(height, width):
    found, image = image_bytes.counts(height, width, 3), torch.zeros(1, 3, height, width)
    copied = image.transpose(2, 3).contiguous().data_ptr() != image.data_ptr()
    assert found["extra bytes of .contiguous()"] == (image.nbytes if copied else 0)
    assert copied == (min(height, width) > 1)
    assert found["extra bytes of a transposed view"] == 0


@pytest.mark.parametrize(("inputs", "hidden", "parameters"), [(4, 6, 58), (2, 3, 17)])
def test_the_hessian_grows_with_the_square(inputs, hidden, parameters):
    found = hessian_product.counts(inputs, hidden)
    assert found["parameters"] == parameters == 2 * inputs * hidden + hidden + inputs
    assert found["peak bytes of the whole Hessian"] > found["Hessian bytes"] == FLOAT_BYTES * parameters**2
    assert found["relative difference of the results"] < 1e-4


def test_both_mlps_of_the_comparison_have_the_sizes_told():
    assert (hessian_product.Problem(16, 32).size, hessian_product.Problem(32, 80).size) == (1072, 5232)


def test_checkpoints_hold_what_can_be_added_up():
    layers, width, batch, every = 50, 16, 8, 5
    found = checkpointed_stack.counts(layers, width, batch, every)
    tensor = batch * width * FLOAT_BYTES
    block = 4 * tensor + 2 * batch * FLOAT_BYTES  # input, LayerNorm's, Linear's, dropout's mask; mean and rstd
    assert found["Linear + ReLU held bytes"] == found["Linear + ReLU checkpointed held bytes"] == (layers + 1) * tensor
    assert found["blocks held bytes"] == layers * block
    assert found["blocks checkpointed held bytes"] == 40 * block + 10 * tensor
    assert found["segments held bytes"] == 6 * tensor + (layers - 6 * 7) * block  # the last of 7 is not checkpointed


def test_the_loop_and_einsum_agree_to_rounding_only():
    found = row_sums.counts(rows=20, columns=50)
    assert found["steps of the loop"] == 1000
    assert found["allclose()"] == 1
    assert max(found["largest error of the loop"], found["largest error of einsum"]) < 1e-5


def test_the_approximate_backward_is_off():
    found = scripted_gelu.counts(16)
    x = torch.tensor(found["x where it is largest"], dtype=torch.float64, requires_grad=True)
    (true,) = torch.autograd.grad(nn.functional.gelu(x, approximate="tanh"), x)
    s = 1 / (1 + math.exp(-1.702 * x.item()))
    theirs = s + 1.702 * x.item() * s * (1 - s)
    assert found["largest error of the derivative"] == pytest.approx(abs(theirs - true.item()), rel=1e-9)
    assert found["peak bytes of F.gelu"] == 16 * 16 * FLOAT_BYTES + 2 * FLOAT_BYTES


def test_a_skipped_branch_halves_the_multiplications():
    found = dynamic_block.counts(width=8, batch=2)
    assert found["multiplications with the branch"] == 2 * found["multiplications without"] == 2 * 2 * 8 * 8


def test_lora_trains_one_percent():
    found = low_rank.counts(width=768, rank=4)
    whole, trained = 768 * 768 + 768, 2 * 768 * 4
    assert (found["parameters of the layer"], found["trainable parameters"]) == (whole, trained)
    assert found["trainable share"] == trained / (whole + trained) == pytest.approx(0.0103, abs=5e-5)
    assert found["gradient and Adam bytes, LoRA"] == 3 * FLOAT_BYTES * trained
    assert found["change of the output at the start"] == 0


def test_inference_holds_nothing():
    found = inference_modes.counts(tiny=2, wide=8, layers=2, batch=3)
    # The first Linear's input needs no grad but its weight does; each ReLU's result is the next Linear's input.
    assert found["held bytes with gradients"] == 3 * 3 * 8 * FLOAT_BYTES
    assert found["held bytes in inference_mode"] == 0


def test_sparse_bytes_follow_the_formula():
    size, found = 64, sparse_product.counts(64)
    for name, density in sparse_product.DENSITIES.items():
        entries = max(1, round(density * size * size))
        assert found[f"COO bytes at {name}"] == entries * (2 * 8 + FLOAT_BYTES)
        assert found[f"CSR bytes at {name}"] == entries * (8 + FLOAT_BYTES) + 8 * (size + 1)


def test_an_update_in_place_makes_no_storage():
    found = update_in_place.counts(tensors=3, width=4)
    assert (found["allocations in place"], found["peak bytes in place"]) == (0, 0)
    assert found["allocations out of place"] == 2 * 3
    # What a step makes at most: three new values, one of them beside its scaled gradient.
    assert found["peak bytes out of place"] == (3 + 1) * 4 * 4 * FLOAT_BYTES


def test_both_ranks_see_half_of_the_samples():
    found = two_ranks.counts(8, 512)
    assert found["samples of rank 0"] == found["samples of rank 1"] == 500
    assert found["steps per epoch at batch 32"] == 16


def test_the_recipe_keeps_what_can_be_added_up():
    found = combined.counts(width=16, layers=2, steps=10, batch=32)
    # embed, head, and of the block: attention in and out, two linear layers with biases, two norms.
    block = 3 * 16 * 16 + 3 * 16 + 16 * 16 + 16 + 2 * 4 * 16 * 16 + 4 * 16 + 16 + 4 * 16
    parameters = 16 * 16 + 16 + 8 * 16 + 8 + 2 * block
    assert found["parameters and Adam state bytes"] == 3 * FLOAT_BYTES * parameters
    assert found["peak bytes of a step, checkpoints"] < found["peak bytes of a step, as it stands"]
    for name in [name for name in combined.TRAINED if f"accuracy share {name}" in found]:
        kept = found[f"accuracy share {name}"] / found["accuracy share as it stands"]
        assert found[f"accuracy share kept, {name}"] == pytest.approx(kept)


def test_both_kinds_of_block_compute_the_same():
    torch.manual_seed(0)
    plain = combined_model.Block(16, compiled=False).eval()
    compiled = combined_model.Block(16, compiled=True).eval()
    compiled.load_state_dict(plain.state_dict())
    x = torch.randn(2, 5, 16)
    results, gradients = [], []
    for block in (plain, compiled):
        given = x.clone().requires_grad_()
        results.append(block(given))
        gradients.append(torch.autograd.grad(results[-1].square().sum(), [given, *block.parameters()]))
    torch.testing.assert_close(*results)
    torch.testing.assert_close(*gradients)


def test_the_compiled_adamw_is_adamw():
    first, second = (nn.Parameter(torch.arange(4.0)) for _ in range(2))
    theirs, ours = torch.optim.AdamW([first], lr=0.1), combined_model.CompiledAdamW([second], 0.1)
    for number in range(3):
        for parameter in (first, second):
            parameter.grad = torch.tensor([1.0, -2.0, 0.5, 3.0]) * (number + 1)
        theirs.step()
        ours.step()
    torch.testing.assert_close(first, second)
    ours.zero_grad()
    assert second.grad is None


def test_live_bytes_count_what_lives():
    x = torch.randn(1000, requires_grad=True)
    counted = live_bytes(lambda: x.sigmoid() + 1)
    assert (counted.allocations, counted.peak_bytes, counted.live_bytes) == (2, 8000, 0)


def test_live_bytes_keep_a_saved_result():
    x, kept = torch.randn(1000, requires_grad=True), []
    counted = live_bytes(lambda: kept.append(x.sigmoid() + 1))
    assert counted.live_bytes == 8000  # the sum, and the sigmoid that backward needs
    kept.clear()
    assert counted.live_bytes == 0


def test_views_and_writes_in_place_make_no_storage():
    x = torch.randn(10, 10)
    assert live_bytes(lambda: x.t()[2:].add_(1)).allocations == 0
    assert live_bytes(lambda: torch.relu(x.t())).allocations == 1


def test_held_bytes_leave_parameters_out():
    layer, x = nn.Linear(5, 7), torch.randn(3, 5, requires_grad=True)
    assert held_bytes(lambda: layer(x), layer) == 3 * 5 * FLOAT_BYTES


def test_nodes_are_counted_once():
    a = torch.randn(3, requires_grad=True)
    assert count_nodes(a * a) == 2
    assert count_nodes((a * a).sum()) == 3
