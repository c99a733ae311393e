"""Every kind of block: its size and price are what the module has, and it computes the same in both formats."""

from __future__ import annotations

import pytest
import torch

from engine.models.build import build
from engine.models.modules import module_for
from engine.models.size import parameter_count
from engine.models.spec import ConvNet
from engine.models.trial import measure_trial
from tests.memory_format.tracing import conv_net
from tests.models.families import CONV_BLOCKS
from tests.models.runs import held_bytes


@pytest.mark.parametrize("block", CONV_BLOCKS)
def test_size_and_price_are_those_of_the_module(block):
    model = conv_net(block, "contiguous")
    built = module_for(model.architecture)
    assert parameter_count(model.architecture) == sum(p.numel() for p in built.parameters())
    assert type(built.blocks[0]).__name__ == model.architecture.block_class
    assert measure_trial(model).saved_bytes == held_bytes(model)


@pytest.mark.parametrize("block", CONV_BLOCKS)
def test_both_formats_compute_the_same(block):
    plain, last = (
        build(conv_net(block, memory_format, dtype="float64")) for memory_format in ("contiguous", "channels_last")
    )
    torch.testing.assert_close(plain.forward(), last.forward())


@pytest.mark.parametrize("channels", [5, 30])
def test_channels_that_four_groups_do_not_divide_are_refused_with_a_neighbour(channels):
    with pytest.raises(ValueError, match=rf"multiple of 4.*received {channels}.*Try {4 * round(channels / 4)}"):
        ConvNet(channels=channels)
