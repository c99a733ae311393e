"""From the description of an architecture to its torch module."""

from __future__ import annotations

from torch import nn

from engine.models import expression
from engine.models.architecture import AnyArchitecture, Expression, constructor_arguments
from engine.models.chain import Chain
from engine.models.conv_net import ConvNet
from engine.models.dynamic_block import DynamicBlock
from engine.models.embedding import Embedding
from engine.models.gpt import Gpt
from engine.models.linear_stack import LinearStack
from engine.models.mlp import Mlp
from engine.models.recurrent import Recurrent
from engine.models.resnet import ResNet
from engine.models.tied_loop import TiedLoop
from engine.models.two_tower import TwoTower

_MODULES: dict[str, type[nn.Module]] = {
    module.__name__: module
    for module in (
        Chain,
        ConvNet,
        DynamicBlock,
        Embedding,
        Gpt,
        LinearStack,
        Mlp,
        Recurrent,
        ResNet,
        TiedLoop,
        TwoTower,
    )
}


def module_for(architecture: AnyArchitecture) -> nn.Module:
    """The module of `architecture` with fresh random weights, on the current default device."""
    if isinstance(architecture, Expression):
        module: nn.Module = getattr(expression, architecture.class_name)()
        return module
    return _MODULES[type(architecture).__name__](**constructor_arguments(architecture))
