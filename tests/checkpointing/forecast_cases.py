"""Small models of every family, and the policies to forecast them under."""

from __future__ import annotations

from engine.checkpointing.policy import Policy
from engine.models.architecture import (
    EXPRESSIONS,
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
from engine.models.spec import ModelSpec

POLICIES = (
    Policy(),
    Policy(kind="each_block"),
    Policy(kind="segments", segments=2),
    Policy(kind="every_k", k=2),
    Policy(kind="groups", groups=((0, 1),)),
    Policy(kind="selective", keep=("aten.addmm.default", "aten.convolution.default")),
    Policy(kind="each_block", use_reentrant=True, preserve_rng_state=False),
    Policy(kind="save_on_cpu"),
    Policy(kind="save_on_disk"),
)
SMALL = [
    ModelSpec(architecture=Mlp(layers=4, depth=4, dropout=0.1), batch=16),
    ModelSpec(architecture=Gpt(layers=2, width=32, sequence=8, vocabulary=50, dropout=0.1), batch=2),
    ModelSpec(architecture=ConvNet(layers=2, channels=16, image_size=16), loss="cross_entropy"),
]
_BLOCKS = ("convnext", "squeeze_excite", "group_norm", "channel_shuffle", "pixel_shuffle", "attention")
_CELLS = ("lstm", "gru", "rnn", "hand_written_rnn", "hand_written_lstm")
FAMILIES = [
    *(
        ModelSpec(architecture=one)
        for one in (
            DynamicBlock(),
            LinearStack(layers=4, width=64),
            ResNet(image_size=32),
            *(ConvNet(block=block, layers=2, channels=8, image_size=16) for block in _BLOCKS),
            Gpt(layers=2, width=32, sequence=8, vocabulary=50, attention="explicit"),
            *(Recurrent(cell=cell, steps=2, layers=2) for cell in _CELLS),
            Recurrent(fused=True, steps=2, layers=2),
            TiedLoop(),
            Chain(operations=20, function="mixed"),
            Embedding(),
            Embedding(sparse=True),
            TwoTower(),
            *(Expression(name=name) for name in EXPRESSIONS if name != "in_place_after_save"),
        )
    ),
    ModelSpec(architecture=Gpt(layers=2, width=32, sequence=8, vocabulary=50), autocast="bfloat16"),
    ModelSpec(architecture=Mlp(layers=4, depth=4), autocast="bfloat16", batch=16),
    *(
        ModelSpec(architecture=ConvNet(block=block, layers=2, channels=8, image_size=16), autocast=autocast)
        for block, autocast in zip(
            ("conv_bn_relu", "instance_norm", *_BLOCKS), ("bfloat16", "float16") * len(_BLOCKS), strict=False
        )
    ),
    ModelSpec(architecture=ResNet(image_size=32), batch=2, autocast="bfloat16"),
    ModelSpec(architecture=ConvNet(layers=2, channels=8, image_size=16), memory_format="channels_last"),
    ModelSpec(architecture=ConvNet(layers=2, channels=8, image_size=16), dtype="float64"),
    ModelSpec(architecture=LinearStack(layers=4, width=64), dtype="bfloat16"),
    ModelSpec(architecture=LinearStack(layers=4, width=64), dtype="float64", input_requires_grad=True),
    ModelSpec(architecture=Mlp(layers=4, depth=4), frozen=("layers.0", "layers.1")),
    ModelSpec(architecture=ResNet(image_size=32), train=False),
]
"""Without in_place_after_save: tensors that hold nothing have no version to be wrong."""
