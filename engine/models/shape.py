"""What an architecture will look like once built, worked out without torch."""

from __future__ import annotations

from engine.models.architecture import (
    AnyArchitecture,
    Chain,
    ConvNet,
    DynamicBlock,
    Embedding,
    Expression,
    Gpt,
    LinearStack,
    Mlp,
    Recurrent,
    ResNet,
    TiedLoop,
    TwoTower,
)

STAGES = {"resnet18": (2, 2, 2, 2), "resnet50": (3, 4, 6, 3)}
"""Residual blocks per stage (He et al. 2015, table 1)."""


def block_count(architecture: AnyArchitecture) -> int:
    """Blocks that run one after the other; 0 where there is no such sequence."""
    match architecture:
        case Mlp():
            return architecture.depth
        case LinearStack() | ConvNet() | Gpt() | Recurrent():
            return architecture.layers
        case ResNet():
            return sum(STAGES[architecture.variant])
        case TiedLoop():
            return architecture.steps
        case TwoTower():
            return 2
        case DynamicBlock():
            return 1
        case Chain() | Embedding() | Expression():
            return 0


def parameter_groups(architecture: AnyArchitecture) -> tuple[str, ...]:
    """Module paths usable in `ModelSpec.frozen`: first-level modules with parameters, block lists and their blocks."""
    match architecture:
        case Mlp():
            return (*_listed("layers", architecture.layers), "head")
        case LinearStack():
            return _listed("blocks", architecture.layers)
        case DynamicBlock():
            return _listed("blocks", 1)
        case ResNet():
            stages = enumerate(STAGES[architecture.variant], start=1)
            return ("conv1", "bn1", *(path for i, n in stages for path in _listed(f"layer{i}", n)), "fc")
        case ConvNet():
            return ("stem", "norm", *_listed("blocks", architecture.layers), "head")
        case Gpt():
            head = () if architecture.tie_weights else ("head",)
            return ("tokens", "positions", *_listed("blocks", architecture.layers), "norm", *head)
        case Recurrent():
            return (*_listed("blocks", architecture.layers), "head")
        case TiedLoop():
            return ("step",)
        case Chain():
            return ("start",)
        case Embedding():
            return ("table", "head")
        case TwoTower():
            return ("left_tower", "right_tower", *_listed("blocks", 2), "head", "auxiliary_head")
        case Expression():
            return ()


def _listed(path: str, count: int) -> tuple[str, ...]:
    return (path, *(f"{path}.{i}" for i in range(count)))


def has_dropout(architecture: AnyArchitecture) -> bool:
    """Whether a dropout with p > 0 runs in train mode."""
    return isinstance(architecture, Mlp | Gpt) and architecture.dropout > 0


def has_batch_norm(architecture: AnyArchitecture) -> bool:
    """Whether train and eval mode differ by batch statistics."""
    return isinstance(architecture, ResNet | ConvNet)


def has_images(architecture: AnyArchitecture) -> bool:
    """Whether the input is (N, C, H, W), which is what channels_last is about."""
    return isinstance(architecture, ResNet | ConvNet)


def describe(architecture: AnyArchitecture) -> str:
    """A short label, such as "GPT 12 x 768, 12 heads, T=1024"."""
    match architecture:
        case Mlp(layers=layers, depth=depth, width=width):
            return f"MLP {depth} x {width}" + (f" of {layers} layers" if depth < layers else "")
        case DynamicBlock(width=width, use_skip=use_skip):
            return f"Dynamic block {width}, skip {'on' if use_skip else 'off'}"
        case LinearStack(layers=layers, width=width):
            return f"Linear stack {layers} x {width}"
        case ResNet(variant=variant, image_size=size):
            return f"ResNet-{variant.removeprefix('resnet')}, {size} x {size} px"
        case ConvNet(block=block, layers=layers, channels=channels, image_size=size):
            return f"ConvNet {layers} x {channels}, {block}, {size} x {size} px"
        case Gpt(layers=layers, width=width, heads=heads, sequence=sequence):
            return f"GPT {layers} x {width}, {heads} heads, T={sequence}"
        case _:
            return _describe_small(architecture)


def _describe_small(architecture: AnyArchitecture) -> str:
    match architecture:
        case Recurrent(cell=cell, steps=steps, width=width, layers=layers, fused=fused):
            name = cell.removeprefix("hand_written_").upper() + (" by hand" if cell.startswith("hand") else "")
            return f"{name} {layers} x {width}, T={steps}" + (", fused" if fused else "")
        case TiedLoop(steps=steps, width=width):
            return f"One Linear {width}, {steps} times"
        case Chain(operations=operations, function=function):
            return f"Chain of {operations:,} {'functions' if function == 'mixed' else function}"
        case Embedding(vocabulary=vocabulary, width=width, sparse=sparse):
            return f"Embedding {vocabulary} x {width}, {'sparse' if sparse else 'dense'} gradient"
        case TwoTower(width=width):
            return f"Two towers {width}"
        case Expression(name=name):
            return f"Expression {name}"
        case _:
            raise AssertionError(f"no description for {type(architecture).__name__}")
