"""The map of a run under autocast against plain torch, hand arithmetic and a second way to see the same."""

from __future__ import annotations

import msgspec
import pytest
import torch
from torch.nn import functional

from engine import run
from engine.figures.mixed_precision_chart import track_chart
from engine.figures.mixed_precision_track import module_bands, step_name, track_of
from engine.figures.mixed_precision_words import memory_sentence
from engine.figures.units import format_bytes, shorten
from engine.graph.held import measure_held_bytes
from engine.mixed_precision.calls import attribute
from engine.mixed_precision.recorder import record_operations
from engine.mixed_precision.spec import AutocastSpec
from engine.models.build import build
from engine.models.spec import Chain, ConvNet, Embedding, Gpt, LinearStack, Mlp, ModelSpec, Recurrent, ResNet, TiedLoop

SMALL = ModelSpec(
    architecture=Mlp(layers=1, depth=1, width=32, in_features=32, out_features=32, residual=False), batch=32
)
LOOP = ModelSpec(architecture=TiedLoop(steps=6, width=32))
LANGUAGE = ModelSpec(
    architecture=Gpt(layers=1, heads=2, width=16, sequence=8, vocabulary=50), batch=2, loss="cross_entropy"
)
MODELS = (
    SMALL,
    LOOP,
    LANGUAGE,
    ModelSpec(architecture=ConvNet(layers=1, channels=8, image_size=8), batch=2),
    ModelSpec(architecture=Recurrent(steps=3, width=8), batch=2),
    ModelSpec(architecture=Embedding(sparse=True)),
    ModelSpec(architecture=LinearStack(layers=3, width=16), checkpoint="each_block"),
)


def mapped(model: ModelSpec, **settings):
    return run(AutocastSpec(model=model, **settings), inline=True)


@pytest.fixture(scope="module")
def found():
    return {model: mapped(model) for model in MODELS}


def run_plain(model: ModelSpec, dtype: torch.dtype | None, cache: bool = True):
    """Outputs, loss and gradients by plain torch; no recording."""
    built = build(model)
    with torch.autocast("cpu", dtype=dtype or torch.bfloat16, enabled=dtype is not None, cache_enabled=cache):
        outputs = built.forward()
        loss = built.loss(outputs)
    loss.backward()
    return outputs, loss, {name: p.grad for name, p in built.model.named_parameters() if p.grad is not None}


def test_autocast_raises_the_new_bytes_of_a_small_mlp_from_4096_to_6144(found):
    result = found[SMALL]
    # Plain: the ReLU's result, 32 x 32 float32. Under autocast: it, the input and the head's weight in bfloat16.
    assert result.held_plain.beside_leaves_bytes == 32 * 32 * 4 == 4096
    assert result.held.beside_leaves_bytes == 3 * 32 * 32 * 2 == 6144
    # Beside these the plain run reads the input and the head's weight where they are.
    assert result.held_plain.saved_bytes == 3 * 4096
    assert result.held.saved_bytes == 6144
    assert {(row.tensor, row.kind, row.copy_bytes) for row in result.kept_twice} == {
        ("x", "input", 2048),
        ("head.weight", "weight", 2048),
    }
    assert {row.source_bytes for row in result.kept_twice} == {4096}
    # Two weights, two biases, one input; the result of the ReLU is bfloat16 already.
    casts = [cast for cast in result.casts if cast.by == "autocast"]
    assert [cast.bytes for cast in casts] == [64, 2048, 2048, 64, 2048]
    assert [cast.phase for cast in result.casts if cast.by == "backward of autocast"] == ["backward"] * 4


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model.architecture).__name__)
def test_bytes_dtypes_errors_and_gradients_are_those_of_a_run_without_recording(found, model):
    result = found[model]
    built = build(model)
    for held, dtype in ((result.held_plain, None), (result.held, torch.bfloat16)):
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=dtype is not None):
            assert held.saved_bytes == measure_held_bytes(lambda: built.loss(built.forward()))
    (plain_outputs, plain_loss, plain), (outputs, loss, gradients) = (
        run_plain(model, dtype) for dtype in (None, torch.bfloat16)
    )
    assert (result.loss_plain, result.loss) == (plain_loss.item(), loss.item())
    assert (result.loss_dtype_plain, result.loss_dtype) == ("float32", str(loss.dtype).removeprefix("torch."))
    expected = (outputs.double() - plain_outputs.double()).norm() / plain_outputs.double().norm()
    assert result.outputs[0].relative == pytest.approx(expected.item(), rel=1e-9)
    rows = {row.name: row for row in result.gradients}
    for name, grad in gradients.items():
        a, b = plain[name].to_dense().double().flatten(), grad.to_dense().double().flatten()
        if a.norm() > 0 and rows[name].relative is not None:
            assert rows[name].relative == pytest.approx(((b - a).norm() / a.norm()).item(), rel=1e-9)
            cosine = functional.cosine_similarity(a, b, dim=0).item()
            assert rows[name].turned == pytest.approx(1 - cosine, abs=1e-12)


@pytest.mark.parametrize("model", MODELS[:5], ids=lambda model: type(model.architecture).__name__)
def test_what_operations_save_adds_up_to_what_is_held(found, model):
    result = found[model]
    made = sum(operation.saved_bytes for operation in result.operations)
    assert result.held.beside_leaves_bytes == made
    assert result.outside_graph_bytes == 0
    assert not any(operation.saved_bytes for operation in result.operations if operation.phase == "backward")


def test_checkpoints_keep_the_inputs_of_their_blocks_outside_the_graph():
    model = ModelSpec(architecture=Mlp(layers=6, depth=6), checkpoint="each_block", batch=4)
    result = mapped(model)
    kept = []
    built = build(model)
    for block in built.model.blocks:
        block.register_forward_pre_hook(lambda module, args: kept.append(args[0]))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        built.loss(built.forward())
    inputs = {one.data_ptr(): one.untyped_storage().nbytes() for one in kept[:6]}
    for tensor in built.inputs.values():
        inputs.pop(tensor.data_ptr(), None)
    made = sum(operation.saved_bytes for operation in result.operations)
    assert result.outside_graph_bytes == result.held.beside_leaves_bytes - made
    assert 0 < result.outside_graph_bytes == sum(inputs.values())
    assert f"({format_bytes(result.outside_graph_bytes)} of the latter kept by checkpoints" in memory_sentence(result)


@pytest.mark.parametrize("changes", [{"grad_mode": "detach"}, {"grad_mode": "no_grad", "grad_mode_block": 1}])
def test_what_the_loss_does_not_reach_is_not_held(changes):
    result = mapped(ModelSpec(architecture=Mlp(layers=3, depth=3), **changes))
    made = sum(operation.saved_bytes for operation in result.operations)
    assert result.held.beside_leaves_bytes == made
    assert (made == 0) == (changes["grad_mode"] == "detach")


def test_a_reentrant_checkpoint_undoes_the_casts_of_its_recomputation(found):
    model = ModelSpec(architecture=Mlp(layers=3, depth=3), checkpoint="each_block", input_requires_grad=True)
    by = []
    for reentrant in (False, True):
        casts = mapped(msgspec.structs.replace(model, use_reentrant=reentrant)).casts
        by.append(sorted(cast.by for cast in casts if cast.by.startswith("backward")))
    assert by[0] == by[1]
    assert set(by[1]) == {"backward of autocast"}


def test_every_operation_but_a_cast_has_its_partner_in_the_plain_run(found):
    for result in found.values():
        alone = {(one.phase, one.name) for one in result.operations if one.plain_inputs is None and not one.cast_by}
        # The engine adds gradients that meet when the second arrives: after a cast, that is at another node.
        assert alone <= {("backward", "aten::add.Tensor")}
        assert {one.number for one in result.operations if one.cast_by} == {cast.operation for cast in result.casts}


def test_dtypes_of_calls_are_those_of_probes_by_hand(found):
    by_name = {}
    for call in found[LANGUAGE].calls:
        by_name.setdefault(call.name, []).append(call)
    wide, low = torch.ones(2, 16), torch.ones(2, 16, dtype=torch.bfloat16)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        probes = {
            "aten::linear": functional.linear(wide, torch.ones(4, 16)),
            "aten::embedding": functional.embedding(torch.tensor([0]), wide),
            "aten::layer_norm": functional.layer_norm(wide, (16,)),
            "aten::add": wide + low,
            "aten::gelu": functional.gelu(low),
            "aten::cross_entropy_loss": functional.cross_entropy(low, torch.tensor([0, 1])),
        }
    for name, tensor in probes.items():
        dtype = str(tensor.dtype).removeprefix("torch.")
        assert {call.outputs[0] for call in by_name[name]} == {dtype}, name
    loss = by_name["aten::cross_entropy_loss"][0]
    assert (loss.policy, loss.came_in[0], loss.ran_in[0], loss.casts) == ("float32", "bfloat16", "float32", 1)
    assert {call.policy for call in by_name["aten::add"]} == {"not registered"}
    assert all(set(call.ran_in) == {"bfloat16"} for call in by_name["aten::linear"])


class Counting(torch.utils._python_dispatch.TorchDispatchMode):
    """A second way to count casts of one parameter: by the storage it reads."""

    def __init__(self, weight: torch.Tensor) -> None:
        super().__init__()
        self.pointer, self.casts = weight.data_ptr(), 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        outputs = func(*args, **(kwargs or {}))
        if isinstance(outputs, torch.Tensor) and args and isinstance(args[0], torch.Tensor):
            self.casts += args[0].data_ptr() == self.pointer and outputs.dtype != args[0].dtype
        return outputs


@pytest.mark.parametrize("mode", ["grad", "no_grad", "inference_mode", "frozen"])
def test_how_often_a_weight_is_cast_with_and_without_the_cache(mode):
    changes = {"frozen": ("step",), "input_requires_grad": True} if mode == "frozen" else {"grad_mode": mode}
    model = ModelSpec(architecture=LOOP.architecture, **changes)
    row = next(row for row in mapped(model).weights if row.name == "step.linear.weight")
    for enabled, casts in ((True, row.cache_on), (False, row.cache_off)):
        built = build(model)
        with (
            torch.autocast("cpu", dtype=torch.bfloat16, cache_enabled=enabled),
            Counting(built.model.step.linear.weight) as counted,
        ):
            built.forward()
        assert casts == counted.casts
    assert (row.uses, row.cache_on, row.cache_off) == (6, 1 if mode in ("grad", "no_grad") else 6, 6)


def test_the_models_own_casts_are_told_from_those_of_autocast():
    model = ModelSpec(architecture=Chain(operations=1))
    built = build(model)
    x, weight = built.inputs["x"], built.model.start.weight
    with record_operations() as recorder, torch.autocast("cpu", dtype=torch.bfloat16):
        functional.linear(x.double().float(), weight).float().softmax(-1, dtype=torch.float64)
    by = attribute(recorder.seen, "cpu", "bfloat16").cast_by
    # double(), float(), then autocast for input and weight, float(), and the one inside softmax.
    assert [one for one in by if one] == ["the model"] * 2 + ["autocast"] * 2 + ["the model", "an operator inside"]


def test_own_error_of_a_layer_is_that_of_the_layer_alone(found):
    built = build(LANGUAGE)
    taken = {}
    layer = built.model.blocks[0].mlp[0]
    layer.register_forward_hook(lambda module, args, output: taken.update(x=args[0].detach(), y=output.detach()))
    built.forward()
    with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
        alone = functional.linear(taken["x"], layer.weight, layer.bias)
    expected = ((alone.double() - taken["y"].double()).norm() / taken["y"].double().norm()).item()
    row = next(row for row in found[LANGUAGE].layers if row.path == "blocks.0.mlp.0")
    assert row.own.relative == pytest.approx(expected, rel=1e-9)
    assert row.all_before.relative > row.own.relative


def test_a_batch_norm_that_gets_low_precision_only_in_the_whole_run_is_not_measured_alone(found):
    rows = [row for result in found.values() for row in result.layers if row.own is not None]
    norms = [row for row in rows if row.type == "BatchNorm2d"]
    assert norms
    for row in norms:
        assert row.own.relative is None
        assert "float32 comes in alone" in row.own.missing
        assert row.all_before.dtypes == ("float32", "bfloat16")
    # A layer norm gets float32 in the whole run too.
    assert {row.own.relative for row in rows if row.type == "LayerNorm"} == {0.0}


def test_float16_and_refused_backward():
    half = mapped(SMALL, dtype="float16")
    assert {call.outputs[0] for call in half.calls if call.name == "aten::linear"} == {"float16"}
    assert half.all_gradients.relative < mapped(SMALL).all_gradients.relative
    refused = mapped(ModelSpec(grad_mode="no_grad"))
    assert refused.error == refused.error_plain
    with pytest.raises(RuntimeError) as caught:
        torch.ones(1).sum().backward()
    assert refused.error.message == str(caught.value)
    assert refused.held.peak_bytes is None
    untouched = mapped(ModelSpec(dtype="float64"))
    assert untouched.casts == ()
    assert untouched.all_gradients.relative == 0


def test_a_model_with_autocast_of_its_own_is_refused():
    with pytest.raises(ValueError, match="autocast must be 'off'"):
        AutocastSpec(model=ModelSpec(autocast="bfloat16"))


def test_steps_and_bands_of_a_folded_map_are_named():
    result = mapped(ModelSpec(architecture=ResNet()))
    every, folded = (track_of(result, "bfloat16", backward=back, fold=back) for back in (False, True))
    assert not every.folded
    assert folded.folded
    assert {name for _, _, name in module_bands(every)} >= {"layer1.0", "layer1.1", "layer4.1", "fc"}
    # A block that is one step has its name below it, and its stage's above.
    assert [step_name(step) for step in folded.steps if step.calls > 1][:3] == ["layer1.0", "layer1.1", "layer2.0"]
    bands = module_bands(folded)
    stages = [(name, after - first) for first, after, name in bands if name.startswith("layer")]
    assert stages == [(f"layer{stage}", 2) for stage in (1, 2, 3, 4, 4, 3, 2, 1)]
    assert [first for first, _, _ in bands] == [0, *(after for _, after, _ in bands[:-1])]
    for track in (every, folded):
        assert list(track_chart(track).layout.xaxis.ticktext) == [
            shorten(step_name(one), 16 if track is every else 20) for one in track.steps
        ]
