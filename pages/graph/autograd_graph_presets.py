"""Questions of the autograd graph page."""

from __future__ import annotations

from engine.models.spec import (
    Chain,
    Expression,
    Gpt,
    LinearStack,
    Mlp,
    ModelSpec,
    Recurrent,
    ResNet,
    TiedLoop,
    TwoTower,
)
from pages.graph.comparison_presets import COMPARISONS
from pages.shared.presets import Preset

PRESETS = (
    Preset(
        "What does a residual connection add to the graph?",
        "Predict: how many nodes does one `x = x + block(x)` add, and how many bytes does it keep for backward?",
        "Each residual is one `AddBackward0` with two incoming edges, and it saves nothing itself. Pin this "
        "run and switch *residual* off: saved bytes fall all the same. The sum is a new tensor that the next "
        "Linear saves as its input; without it the Linear saves the ReLU's output, which the ReLU keeps "
        "anyway.",
        ModelSpec(architecture=Mlp(layers=4, depth=4, residual=True)),
    ),
    Preset(
        "Why is `.grad` None?",
        "Five layers are built, three run, one group is frozen, and block 1 is detached. Predict which "
        "parameters get a gradient.",
        "The leaf table names the reason for each one: *unused* (its layer never ran), *frozen* "
        "(`requires_grad=False`), *detached* (the path to the loss was cut in front of it).",
        ModelSpec(architecture=Mlp(layers=5, depth=3), frozen=("layers.2",), grad_mode="detach", grad_mode_block=1),
    ),
    Preset(
        "Checkpointing: where did the saved tensors go?",
        "Every block of this GPT is checkpointed. Predict which saved slots are still there after the forward.",
        "The nodes and edges do not change: checkpointing is invisible in the graph's shape. The hatched "
        "slots are *dropped*: a hook keeps a recipe instead of the tensor, and backward runs the block's "
        "forward again.",
        ModelSpec(architecture=Gpt(layers=4), checkpoint="each_block"),
    ),
    Preset(
        "Why did memory not drop?",
        "50 x Linear(1024) + ReLU, every fifth layer checkpointed. Predict how much of *Beyond params* goes away.",
        "Not one byte: a checkpointed Linear + ReLU drops its input and its output, and its neighbours save "
        "both. What left the saved set are ten weights, and those stay alive as parameters. Pin this run and "
        "try *segments* with 7: only stretches of several layers between two checkpoints free memory.",
        ModelSpec(architecture=LinearStack(), checkpoint="every_k", checkpoint_k=5, batch=64),
    ),
    Preset(
        "What does mixed precision add?",
        "The default MLP under bfloat16 autocast. Predict: does backward keep fewer bytes, or more?",
        "Every cast is a `ToCopyBackward0` node. *Saved bytes* halve, but *Beyond params* grows: float32 "
        "weights are alive anyway, their bfloat16 copies are kept for backward only. Raise *batch* to 64, "
        "pin, and switch autocast off: once activations dominate, it pays.",
        ModelSpec(architecture=Mlp(), autocast="bfloat16"),
    ),
    Preset(
        "What does `no_grad` in the middle cut off?",
        "Block 1 runs under `torch.no_grad()`. Predict how far the graph reaches back from the loss.",
        "It ends behind block 1. Everything in front of the cut has no path to the loss; the leaf table says "
        "so for each parameter.",
        ModelSpec(architecture=Mlp(layers=4, depth=4, residual=False), grad_mode="no_grad", grad_mode_block=1),
    ),
    Preset(
        "Which operand sits in which slot?",
        "`torch.cat([a, constant, b, a])`: predict the number of slots and where the constant is.",
        "`next_functions` has one slot per list element, in order. The constant is an empty slot, and `a` is "
        "reached twice: its gradient is the sum over both uses.",
        ModelSpec(architecture=Expression(name="cat_list")),
    ),
    Preset(
        "Who broke backward with an in-place write?",
        "`y = x.sigmoid(); y.add_(1)`. Predict which node complains, and why `y = x + 1` would not.",
        "Sigmoid saves its *output*. The slot was saved at version 0 and the tensor is at version 1 now, so "
        "backward refuses. Addition saves nothing and does not mind.",
        ModelSpec(architecture=Expression(name="in_place_after_save")),
    ),
    Preset(
        "One weight, many uses: how often is it in the graph?",
        "One Linear applied 24 times. Predict the number of `AccumulateGrad` nodes.",
        "Two, one for the weight and one for the bias, each reached 24 times. The picture draws one leaf mark "
        "per use, because a single box with 24 lines into it explains nothing.",
        ModelSpec(architecture=TiedLoop(steps=24)),
    ),
    Preset(
        "Which head trains when the loss ignores one?",
        "Two inputs, two outputs; the loss uses only the main head. Predict what the auxiliary head's `.grad` is.",
        "`None`, not zero: backward never reaches it. The output is in the picture as a root of its own.",
        ModelSpec(architecture=TwoTower(use_auxiliary_loss=False)),
    ),
    Preset(
        "ResNet-50: what does backward keep?",
        "Batch 4, 64 x 64 pixels. Predict which saves more: parameters or activations.",
        "Convolutions save their input and weight, batch norms save input and statistics, ReLUs their output. "
        "Open a stage to see the block inside; the table sorts every slot by bytes.",
        ModelSpec(architecture=ResNet(variant="resnet50"), loss="cross_entropy"),
    ),
    Preset(
        "GPT-2 small: what does one forward record?",
        "12 blocks, 12 heads, width 768. Predict the number of nodes, and how many of them are views.",
        "About two nodes in five are views and transposes that compute nothing. Switch *attention* to "
        "explicit and compare the saved bytes: the attention matrix now has to be kept.",
        ModelSpec(architecture=Gpt(layers=12, heads=12, width=768, sequence=64, vocabulary=50257), batch=1),
    ),
    Preset(
        "An LSTM over 200 steps: how deep is its graph?",
        "One layer, 200 time steps. Predict how many nodes one step adds, and how they hang together.",
        "About 13 nodes per step, all on one chain: this depth is what vanishing gradients travel through, "
        "and what makes recursive graph tools fail.",
        ModelSpec(architecture=Recurrent(cell="lstm", steps=200)),
    ),
    Preset(
        "What is in 100,000 nodes?",
        "100,000 sines one after the other. Predict how many bytes backward keeps, and how small the gradient at the "
        "far end of the chain has become.",
        "Every sine saves its input, 128 B each: 12.2 MiB. The chain is one box that opens down to single nodes, and "
        "the search reads all of them. The gradient is small but not 0: it is a product of 100,000 cosines, and the "
        "values shrink so slowly that most of these are almost 1. Set *function* to neg: nothing is saved.",
        ModelSpec(architecture=Chain(operations=100_000)),
    ),
    Preset(
        "Where does this parameter's gradient come from?",
        "The bias of the first layer is selected. Predict how many ways its gradient comes back from the loss.",
        "Press *path to the root* above the picture. At every residual sum the gradient arrives both through the layer "
        "and around it: each of the three blocks behind doubles the ways, 8 in all. The link holds the selected "
        "node, so a colleague who opens it sees the same one.",
        ModelSpec(architecture=Mlp(layers=4, depth=4, in_features=64)),
        settings={"node": "layers.0.linear.bias/AccumulateGrad#0"},
    ),
    Preset(
        "Which module keeps the most?",
        "Explicit attention over 128 tokens, four heads. Predict: attention or the MLP?",
        "Attention, by its scores: softmax keeps 128 x 128 numbers per head and example, which grow with the square of "
        "the sequence. Set *attention* to sdpa and they are gone; then the MLPs are the darkest boxes.",
        ModelSpec(architecture=Gpt(layers=4, sequence=128, attention="explicit")),
        settings={"colour": "saved bytes"},
    ),
    Preset(
        "Which layers got the smallest gradients?",
        "Sixteen layers without a residual connection. Predict where the gradients are smallest, and by how much.",
        "At the input: every layer that backward passes through takes its share, and the first gets a gradient 100,000 "
        "times smaller than the last. Switch *residual* on: the sum hands the gradient on as it is.",
        ModelSpec(architecture=Mlp(layers=16, depth=16, residual=False)),
        settings={"colour": "gradient norm"},
    ),
    *COMPARISONS,
)
