"""Questions of the memory formats page."""

from __future__ import annotations

from engine.models.spec import ConvNet, ModelSpec, ResNet
from pages.shared.presets import Preset


def _conv_net(block: str, memory_format: str = "channels_last", **changes: object) -> ModelSpec:
    architecture = ConvNet(block=block)  # type: ignore[arg-type]
    return ModelSpec(architecture=architecture, memory_format=memory_format, **changes)  # type: ignore[arg-type]


PRESETS = (
    Preset(
        "Where did channels_last go?",
        "ShuffleNet interleaves channels by `view`, `transpose`, `reshape`; model and images are channels_last. "
        "Predict which of the three loses it, and what the next convolution gets.",
        "The view and the transpose only rename dimensions. The `reshape` has to copy (`aten::clone`) and writes "
        "contiguous. The convolution in the next block gets contiguous images and gives channels_last again, because "
        "its weight is channels_last: a copy inside its kernel, in every block.",
        _conv_net("channel_shuffle"),
        {"formats.converted": "model and inputs"},
    ),
    Preset(
        "Does a ResNet-50 ever leave channels_last?",
        "53 convolutions, batch norms, residual sums. Predict how many operations on images write another format, "
        "backward included.",
        "One: the gradient of the average pooling, which spreads one number per channel and writes it contiguous. "
        "The next operation reads the saved channels_last activation beside it and is back.",
        ModelSpec(architecture=ResNet(variant="resnet50"), memory_format="channels_last"),
        {"formats.converted": "model and inputs"},
    ),
    Preset(
        "Which operand decides the format of a product?",
        "`mask * x` with a mask from `torch.ones(x.shape)` and a channels_last `x`. Predict the format of the product.",
        "Contiguous: both operands have all strides set, and the first one wins. Choose *plain_mask_last* for `block`, "
        "which writes `x * mask`: nothing is lost.",
        _conv_net("plain_mask_first"),
        {"formats.converted": "model and inputs"},
    ),
    Preset(
        "Nobody asked for channels_last: why is it there?",
        "A contiguous model multiplies by `one_hot(labels).permute(0, 3, 1, 2)`. Predict the format of the product.",
        "channels_last, without a copy: `one_hot` puts the classes last, and permuting that *is* channels_last. As "
        "first operand it decides, and every later convolution stays in it. Weights are contiguous still, so each "
        "kernel reorders them, call by call.",
        _conv_net("one_hot_first", "contiguous"),
    ),
    Preset(
        "Do the permutes of a ConvNeXt block cost anything?",
        "Permute to (N, H, W, C), LayerNorm and two Linear, permute back. Predict how many bytes the forward copies.",
        "None. In channels_last the permuted image is already row-major, so the permutes are views and LayerNorm reads "
        "it as it lies. Pin this run and set *memory_format* to contiguous: LayerNorm and the kernels now reorder.",
        _conv_net("convnext"),
        {"formats.converted": "model and inputs"},
    ),
    Preset(
        "I converted the inputs and forgot the model: what happens?",
        "A ResNet-50 with contiguous weights gets channels_last images. Predict the format of the activations, and "
        "which gradients have other strides than their parameter.",
        "Activations are channels_last all the same: one such operand is enough for a convolution. But kernels "
        "reorder the weights on every call, gradients are copied back, and the gradients of three 1 x 1 "
        "convolutions keep other strides: what DistributedDataParallel warns of.",
        ModelSpec(architecture=ResNet(variant="resnet50"), memory_format="channels_last"),
        {"formats.converted": "inputs only"},
    ),
    Preset(
        "Which copies does no stride show?",
        "Softmax over the channels, then a product. Predict what `aten::_softmax` does to a channels_last image.",
        "It copies its input into contiguous order first, inside the kernel (the ring around the cell): strides in "
        "and out do not tell. The product is channels_last again, since its first operand is: one loss per block, "
        "found again one operation later.",
        _conv_net("channel_softmax"),
        {"formats.converted": "model and inputs"},
    ),
    Preset(
        "Is `.contiguous()` harmless?",
        "Somebody calls it in every block, to be safe. Predict the bytes copied.",
        "Each call copies the whole image into contiguous order, and the next convolution copies it back inside its "
        "kernel. Nothing warns.",
        _conv_net("contiguous_call"),
        {"formats.converted": "model and inputs"},
    ),
)
