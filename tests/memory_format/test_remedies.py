"""What the page says would keep channels_last does keep it."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional as F

from engine.figures.format_words import remedy
from engine.memory_format import trace_formats
from tests.memory_format.test_trace_formats import LOSING
from tests.memory_format.tracing import conv_net, lost, traced

CL = torch.channels_last
NAMED = {
    "channel_shuffle": "channel_shuffle",
    "channel_softmax": "softmax(x.permute",
    "instance_norm": "group norm",
    "contiguous_call": "memory_format=torch.channels_last",
    "plain_mask_first": "ones_like",
}


@pytest.fixture
def x() -> torch.Tensor:
    torch.manual_seed(0)
    return torch.randn(2, 8, 4, 4).to(memory_format=CL)


@pytest.mark.parametrize("block", LOSING)
def test_every_losing_block_has_its_own_remedy(block):
    assert NAMED[block] in remedy(lost(traced(conv_net(block))))


def test_channels_shuffled_as_last_dimension_or_by_pytorch(x):
    n, c, h, w = x.shape
    lost_again = x.view(n, 4, c // 4, h, w).transpose(1, 2).reshape(n, c, h, w)
    last = x.permute(0, 2, 3, 1).reshape(n, h, w, 4, c // 4).transpose(3, 4).reshape(n, h, w, c).permute(0, 3, 1, 2)
    for kept in (last, F.channel_shuffle(x, 4)):
        assert torch.equal(kept, lost_again)
        assert kept.is_contiguous(memory_format=CL)
    assert not lost_again.is_contiguous(memory_format=CL)


def test_softmax_over_the_last_dimension_of_the_permuted_image(x):
    kept = F.softmax(x.permute(0, 2, 3, 1), -1).permute(0, 3, 1, 2)
    assert kept.is_contiguous(memory_format=CL)
    torch.testing.assert_close(kept, F.softmax(x, 1))


def test_group_norm_with_a_group_per_channel_is_instance_norm(x):
    kept = F.group_norm(x, x.shape[1])
    assert kept.is_contiguous(memory_format=CL)
    torch.testing.assert_close(kept, F.instance_norm(x))


def test_contiguous_in_the_same_format_copies_nothing(x):
    assert x.contiguous(memory_format=CL).data_ptr() == x.data_ptr() != x.contiguous().data_ptr()


def test_the_first_operand_decides_and_a_converted_or_like_one_keeps(x):
    plain = torch.ones(x.shape)
    assert not (plain * x).is_contiguous(memory_format=CL)
    for other in (torch.ones_like(x), plain.to(memory_format=CL)):
        assert (other * x).is_contiguous(memory_format=CL)
    assert (x * plain).is_contiguous(memory_format=CL)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_cat_keeps_channels_last_only_when_every_input_is(x, order):
    both = (x, torch.ones(x.shape))
    mixed = [both[i] for i in order]
    assert not torch.cat(mixed, 1).is_contiguous(memory_format=CL)
    assert torch.cat([x, x], 1).is_contiguous(memory_format=CL)

    class Cat(torch.nn.Module):
        def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
            return torch.cat([a, b], 1)

    assert "every input" in remedy(lost(trace_formats(Cat(), mixed, backward=False)))
