"""The model families one can look at, as data and without torch."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from engine.runner.contract import check_ranges


class Architecture(msgspec.Struct, frozen=True, kw_only=True):
    """Base of the model families; each subclass is a tagged member of `AnyArchitecture`."""

    def __post_init__(self) -> None:
        check_ranges(self)


class Mlp(Architecture, frozen=True, kw_only=True, tag="mlp"):
    """Dynamic-depth MLP: `layers` are built, the first `depth` run; the rest stay unused."""

    layers: Annotated[int, Meta(ge=1, le=500)] = 3
    depth: Annotated[int, Meta(ge=1, le=500, description="layers that run; fewer than built leaves some unused")] = 3
    width: Annotated[int, Meta(ge=1, le=8192)] = 64
    in_features: Annotated[int, Meta(ge=1, le=8192)] = 32
    out_features: Annotated[int, Meta(ge=1, le=8192)] = 10
    residual: bool = True
    dropout: Annotated[float, Meta(ge=0.0, le=0.95)] = 0.0

    def __post_init__(self) -> None:
        check_ranges(self)
        if self.depth > self.layers:
            raise ValueError(
                f"Mlp.depth must not exceed layers; received depth={self.depth} with layers={self.layers}. "
                f"Build more layers or run at most {self.layers}."
            )


class DynamicBlock(Architecture, frozen=True, kw_only=True, tag="dynamic_block"):
    """One linear layer whose skip layer runs only when `use_skip` says so."""

    width: Annotated[int, Meta(ge=1, le=8192)] = 64
    use_skip: bool = True


class LinearStack(Architecture, frozen=True, kw_only=True, tag="linear_stack"):
    """A stack of Linear + ReLU, by default the 50 x 1024 of the checkpointing example."""

    layers: Annotated[int, Meta(ge=1, le=500)] = 50
    width: Annotated[int, Meta(ge=1, le=4096)] = 1024


class ResNet(Architecture, frozen=True, kw_only=True, tag="resnet"):
    """ResNet-18 or ResNet-50 shape (He et al. 2015, arXiv:1512.03385), random weights."""

    variant: Literal["resnet18", "resnet50"] = "resnet18"
    image_size: Annotated[int, Meta(ge=32, le=512)] = 64
    classes: Annotated[int, Meta(ge=1, le=10000)] = 1000


class ConvNet(Architecture, frozen=True, kw_only=True, tag="conv_net"):
    """A stem, `layers` equal blocks and a classifier; the blocks differ in what they do to the memory format."""

    block: Literal[
        "conv_bn_relu",
        "convnext",
        "squeeze_excite",
        "group_norm",
        "instance_norm",
        "channel_shuffle",
        "channel_softmax",
        "pixel_shuffle",
        "attention",
        "contiguous_call",
        "plain_mask_first",
        "plain_mask_last",
        "one_hot_first",
    ] = "conv_bn_relu"
    layers: Annotated[int, Meta(ge=1, le=48)] = 3
    channels: Annotated[int, Meta(ge=4, le=512, description="a multiple of 4: some blocks work on 4 groups")] = 32
    image_size: Annotated[int, Meta(ge=8, le=256)] = 32
    classes: Annotated[int, Meta(ge=1, le=10000)] = 10

    def __post_init__(self) -> None:
        check_ranges(self)
        if self.channels % 4:
            raise ValueError(
                f"ConvNet.channels must be a multiple of 4, the groups some blocks work on; received {self.channels}. "
                f"Try {4 * round(self.channels / 4)}."
            )

    @property
    def block_class(self) -> str:
        """Class of engine/models/conv_net.py: "conv_bn_relu" is ConvBnRelu."""
        return "".join(part.capitalize() for part in self.block.split("_"))


class Gpt(Architecture, frozen=True, kw_only=True, tag="gpt"):
    """GPT-2 block stack (Radford et al. 2019) with token and position embeddings, random weights."""

    layers: Annotated[int, Meta(ge=1, le=48)] = 4
    heads: Annotated[int, Meta(ge=1, le=32)] = 4
    width: Annotated[int, Meta(ge=8, le=4096)] = 128
    sequence: Annotated[int, Meta(ge=1, le=2048)] = 32
    vocabulary: Annotated[int, Meta(ge=2, le=60000)] = 1000
    dropout: Annotated[float, Meta(ge=0.0, le=0.95)] = 0.0
    attention: Literal["sdpa", "explicit"] = "sdpa"
    tie_weights: bool = True

    def __post_init__(self) -> None:
        check_ranges(self)
        if self.width % self.heads:
            raise ValueError(
                f"Gpt.width must be a multiple of heads; received width={self.width} with heads={self.heads}. "
                f"Try width={self.heads * max(1, round(self.width / self.heads))}."
            )


class Recurrent(Architecture, frozen=True, kw_only=True, tag="recurrent"):
    """An RNN unrolled over `steps`: torch's LSTM or GRU, or a cell written out by hand."""

    cell: Literal["lstm", "gru", "rnn", "hand_written_rnn", "hand_written_lstm"] = "lstm"
    steps: Annotated[int, Meta(ge=1, le=2000)] = 20
    width: Annotated[int, Meta(ge=1, le=2048)] = 32
    layers: Annotated[int, Meta(ge=1, le=8)] = 1
    fused: Annotated[bool, Meta(description="let oneDNN or cuDNN run a layer as one node, where they can")] = False


class TiedLoop(Architecture, frozen=True, kw_only=True, tag="tied_loop"):
    """One Linear applied `steps` times: a single weight used many times."""

    steps: Annotated[int, Meta(ge=1, le=2000)] = 6
    width: Annotated[int, Meta(ge=1, le=2048)] = 32


class Chain(Architecture, frozen=True, kw_only=True, tag="chain"):
    """A Linear, then a long chain of elementwise functions: as many autograd nodes as one likes."""

    operations: Annotated[int, Meta(ge=1, le=100_000)] = 300
    function: Literal["sin", "tanh", "neg", "mixed"] = "sin"
    width: Annotated[int, Meta(ge=1, le=2048)] = 8


class Embedding(Architecture, frozen=True, kw_only=True, tag="embedding"):
    """Embedding lookup with repeated indices and a linear head; dense or sparse gradient."""

    vocabulary: Annotated[int, Meta(ge=2, le=1_000_000)] = 1000
    width: Annotated[int, Meta(ge=1, le=4096)] = 32
    tokens: Annotated[int, Meta(ge=1, le=4096)] = 16
    sparse: bool = False


class TwoTower(Architecture, frozen=True, kw_only=True, tag="two_tower"):
    """Two inputs, two outputs in a dict, one shared trunk; the auxiliary head can be left out of the loss."""

    width: Annotated[int, Meta(ge=1, le=4096)] = 32
    use_auxiliary_loss: bool = False


EXPRESSIONS: dict[str, str] = {
    "mul_self": "(a * a).sum()",
    "shared_leaf": "(a * (a + 7)).sum()",
    "unbind_iter": "p, q, r = m  ->  (p * r).sum()",
    "slice_chain": "x[1, 2] + x[1:3, 0].sum() + x[..., -1].sum()",
    "cat_list": "(torch.cat([a, constant, b, a]) * weights).sum()",
    "view_write": "y = x * 2; y[0] = v  ->  CopySlices",
    "to_double": "x.double() makes a non-leaf: (x.double() ** 2).sum()",
    "where_sqrt": "torch.where(x > 0, x.sqrt(), x).sum()",
    "complex_abs2": "(z * z.conj()).real.sum()",
    "custom_function": "straight-through sign: StraightThrough.apply(x).sum()",
    "grad_of_grad": "torch.autograd.grad(x ** 4, x, create_graph=True)",
    "in_place_after_save": "y = x.sigmoid(); y.add_(1)  ->  version 1, saved at 0",
    "inference_leaf": "w made under inference_mode, then used",
    "python_loop": "element by element: sum of x[i] * w[i]",
}
"""Small tensor expressions: name -> what it computes, as one would type it."""

ExpressionName = Literal[
    "mul_self",
    "shared_leaf",
    "unbind_iter",
    "slice_chain",
    "cat_list",
    "view_write",
    "to_double",
    "where_sqrt",
    "complex_abs2",
    "custom_function",
    "grad_of_grad",
    "in_place_after_save",
    "inference_leaf",
    "python_loop",
]


class Expression(Architecture, frozen=True, kw_only=True, tag="expression"):
    """A small tensor expression chosen by name; text is never evaluated."""

    name: ExpressionName = "shared_leaf"

    @property
    def class_name(self) -> str:
        """Class of engine/models/expression.py: "mul_self" is MulSelf."""
        return "".join(part.capitalize() for part in self.name.split("_"))


AnyArchitecture = (
    Mlp
    | DynamicBlock
    | LinearStack
    | ResNet
    | ConvNet
    | Gpt
    | Recurrent
    | TiedLoop
    | Chain
    | Embedding
    | TwoTower
    | Expression
)


def constructor_arguments(architecture: AnyArchitecture) -> dict[str, object]:
    """The arguments its module is built with: the fields, except what only the loss or nobody needs."""
    if isinstance(architecture, Expression):
        return {}
    fields = msgspec.structs.asdict(architecture)
    fields.pop("use_auxiliary_loss", None)
    return fields
