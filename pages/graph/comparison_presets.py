"""Questions that open as a comparison: run A is pinned, and one setting differs."""

from __future__ import annotations

from engine.graph.spec import GraphSpec
from engine.models.spec import Gpt, Mlp, ModelSpec
from pages.shared.presets import Preset


def _against(model: ModelSpec) -> GraphSpec:
    return GraphSpec(model=model)


FOUR_LAYERS = Mlp(layers=4, depth=4)

COMPARISONS = (
    Preset(
        "What does checkpointing change?",
        "A keeps everything, here each block is checkpointed. Predict how many nodes are added, and what becomes of "
        "what they saved.",
        "Not one node is added or gone. In both blocks every slot turns from *kept* into *dropped by checkpoint*; what "
        "a block keeps is its input. The outermost operations, behind the last block, keep theirs.",
        ModelSpec(architecture=Gpt(layers=2), checkpoint="each_block"),
        against=_against(ModelSpec(architecture=Gpt(layers=2))),
    ),
    Preset(
        "What does AMP add?",
        "A runs in float32, this one under bfloat16 autocast. Predict which nodes are new.",
        "Two `ToCopyBackward0` per Linear: the casts of its weight and its bias, which need a gradient. The cast of "
        "the input needs none and leaves no node. Everything behind a cast turns from float32 into bfloat16, and what "
        "Addmm saves is no longer the weight but its copy.",
        ModelSpec(autocast="bfloat16"),
        against=_against(ModelSpec()),
    ),
    Preset(
        "What does freezing remove?",
        "`layers.2` is frozen, in A nothing is. Predict how many nodes go away, and how many saved bytes.",
        "Three nodes: the accumulators of weight and bias, and the transpose between. Its Addmm no longer saves its "
        "input, which only the weight's gradient needs; it still saves the weight, because the gradient passes "
        "through to the layers in front.",
        ModelSpec(architecture=FOUR_LAYERS, frozen=("layers.2",)),
        against=_against(ModelSpec(architecture=FOUR_LAYERS)),
    ),
    Preset(
        "One layer deeper: what is added?",
        "A has three layers, this model four. Predict how many nodes one more layer adds, and which others change.",
        "Six nodes, all inside `layers.3`: Addmm, ReLU, the residual sum, the transpose and two accumulators. No other "
        "node changes; the head only follows another layer. The new layer saves its weight, its input and the ReLU's "
        "output.",
        ModelSpec(architecture=FOUR_LAYERS),
        against=_against(ModelSpec()),
    ),
    Preset(
        "Without the residual: what goes away?",
        "A has residual connections, this model has none. Predict how many nodes go away, and what the Linear behind "
        "each saves instead.",
        "Three sums are gone, one per layer that had one. Each Linear behind saved the sum; now it saves the ReLU's "
        "output, which the ReLU keeps anyway, so the bytes of three activations go away.",
        ModelSpec(architecture=Mlp(layers=4, depth=4, residual=False)),
        against=_against(ModelSpec(architecture=FOUR_LAYERS)),
    ),
)
