"""Sizes and names worked out without torch equal those of the built module."""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch

from engine.models.modules import module_for
from engine.models.size import parameter_count, small_elements
from engine.models.spec import Gpt, Mlp, ModelSpec, ResNet, block_count, describe, parameter_groups
from tests.models.families import NETWORKS, SOUND_EXPRESSIONS, label
from tests.models.runs import held_bytes


def on_meta(architecture):
    with torch.device("meta"):
        return module_for(architecture)


@pytest.mark.parametrize("architecture", NETWORKS, ids=label)
def test_parameter_count_equals_the_module(architecture):
    assert parameter_count(architecture) == sum(p.numel() for p in on_meta(architecture).parameters())


@pytest.mark.parametrize("architecture", NETWORKS, ids=label)
def test_block_count_equals_the_module(architecture):
    assert block_count(architecture) == len(getattr(on_meta(architecture), "blocks", ()))


@pytest.mark.parametrize("architecture", NETWORKS, ids=label)
def test_parameter_groups_are_the_first_level_and_the_blocks(architecture):
    model = on_meta(architecture)
    expected = []
    for name, child in model.named_children():
        if not any(n.startswith(f"{name}.") for n, _ in model.named_parameters()):
            continue  # without parameters of its own, such as a head that shares the token table
        expected.append(name)
        if isinstance(child, torch.nn.ModuleList | torch.nn.Sequential):
            expected += [f"{name}.{i}" for i in range(len(child))]
    assert list(parameter_groups(architecture)) == expected


# torchvision's published counts at 1000 classes (docs of resnet18 and resnet50 weights, "num_params").
@pytest.mark.parametrize(("variant", "parameters"), [("resnet18", 11_689_512), ("resnet50", 25_557_032)])
def test_resnet_has_the_published_parameter_count(variant, parameters):
    architecture = ResNet(variant=variant, classes=1000)
    assert sum(p.numel() for p in on_meta(architecture).parameters()) == parameters
    assert parameter_count(architecture) == parameters


def test_resnet_names_and_shapes_are_torchvisions():
    shapes = {name: tuple(p.shape) for name, p in on_meta(ResNet(variant="resnet50")).named_parameters()}
    assert len(shapes) == 161  # 53 convolutions, 53 batch norms of 2, fc of 2
    assert shapes["conv1.weight"] == (64, 3, 7, 7)
    assert shapes["layer1.0.downsample.0.weight"] == (256, 64, 1, 1)
    assert shapes["layer2.0.conv2.weight"] == (128, 128, 3, 3)
    assert shapes["layer4.2.bn3.bias"] == (2048,)
    assert shapes["fc.weight"] == (1000, 2048)
    assert "layer1.1.downsample.0.weight" not in shapes


def test_resnet_halves_the_image_five_times():
    model = module_for(ResNet(image_size=64, classes=7)).eval()
    sizes = []
    for layer in (model.maxpool, model.layer1[-1], model.layer2[-1], model.layer3[-1], model.layer4[-1]):
        layer.register_forward_hook(lambda _module, _inputs, output: sizes.append(tuple(output.shape)))
    with torch.no_grad():
        assert model(torch.zeros(1, 3, 64, 64)).shape == (1, 7)
    assert sizes == [(1, 64, 16, 16), (1, 64, 16, 16), (1, 128, 8, 8), (1, 256, 4, 4), (1, 512, 2, 2)]


def test_gpt2_small_has_the_published_parameter_count():
    w, layers, vocabulary, context = 768, 12, 50257, 1024
    norm, attention = 2 * w, (3 * w * w + 3 * w) + (w * w + w)
    mlp = (4 * w * w + 4 * w) + (4 * w * w + w)
    by_hand = vocabulary * w + context * w + layers * (2 * norm + attention + mlp) + norm
    assert by_hand == 124_439_808  # GPT-2 small, head tied to the token table
    small = Gpt(layers=12, heads=12, width=768, sequence=1024, vocabulary=50257)
    assert sum(p.numel() for p in on_meta(small).parameters()) == by_hand


@pytest.mark.parametrize("architecture", [a for a in (*NETWORKS, *SOUND_EXPRESSIONS) if small_elements(a)], ids=label)
def test_small_bound_holds(architecture):
    """The closed bound covers parameters, gradients and everything saved."""
    kept = held_bytes(ModelSpec(architecture=architecture, batch=4), count_parameters=True)
    assert kept <= 4 * (parameter_count(architecture) + 4 * small_elements(architecture))


def test_labels_read_as_one_would_say_them():
    assert describe(Gpt(layers=12, heads=12, width=768, sequence=1024)) == "GPT 12 x 768, 12 heads, T=1024"
    assert describe(Mlp(layers=5, depth=2)) == "MLP 2 x 64 of 5 layers"
    labels = [describe(a) for a in (*NETWORKS, *SOUND_EXPRESSIONS)]
    assert all(labels)


def test_the_description_needs_no_torch():
    code = "import sys, engine.models.spec, engine.models.size, engine.script; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
