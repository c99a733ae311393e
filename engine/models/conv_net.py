"""A small image network whose blocks treat memory formats differently: each has one line worth looking at."""

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812


class ConvBlock(nn.Module):
    """A 3 x 3 convolution, what a subclass does to its output, a ReLU; (N, C, H, W) stays (N, C, H, W)."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, 3, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out: torch.Tensor = torch.relu(self.change(self.conv(x)))
        return out

    def change(self, x: torch.Tensor) -> torch.Tensor:
        return x


class ConvBnRelu(ConvBlock):
    """Batch norm, as in a residual network."""

    def __init__(self, channels: int) -> None:
        super().__init__(channels)
        self.norm = nn.BatchNorm2d(channels)

    def change(self, x: torch.Tensor) -> torch.Tensor:
        out: torch.Tensor = self.norm(x)
        return out


class Convnext(nn.Module):
    """Depthwise 7 x 7, then LayerNorm and two Linear over the channels as last dimension (arXiv:2201.03545)."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, 7, padding=3, groups=channels)
        self.norm = nn.LayerNorm(channels)
        self.wide = nn.Linear(channels, 2 * channels)
        self.narrow = nn.Linear(2 * channels, channels)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.conv(x).permute(0, 2, 3, 1)  # (N, C, H, W) -> (N, H, W, C)
        y = self.narrow(F.gelu(self.wide(self.norm(y))))
        out: torch.Tensor = x + y.permute(0, 3, 1, 2)  # -> (N, C, H, W)
        return out


class SqueezeExcite(ConvBlock):
    """Every channel scaled by a number worked out from all channels' means (arXiv:1709.01507)."""

    def __init__(self, channels: int) -> None:
        super().__init__(channels)
        self.gate = nn.Conv2d(channels, channels, 1)

    def change(self, x: torch.Tensor) -> torch.Tensor:
        return x * torch.sigmoid(self.gate(F.adaptive_avg_pool2d(x, 1)))


class GroupNorm(ConvBlock):
    """Normalised over groups of channels (arXiv:1803.08494)."""

    def __init__(self, channels: int) -> None:
        super().__init__(channels)
        self.norm = nn.GroupNorm(4, channels)

    def change(self, x: torch.Tensor) -> torch.Tensor:
        out: torch.Tensor = self.norm(x)
        return out


class InstanceNorm(ConvBlock):
    """Normalised image by image and channel by channel (arXiv:1607.08022)."""

    def change(self, x: torch.Tensor) -> torch.Tensor:
        return F.instance_norm(x)


class ChannelShuffle(ConvBlock):
    """Channels of the groups interleaved by view, transpose and reshape, as ShuffleNet is written (1707.01083)."""

    def change(self, x: torch.Tensor) -> torch.Tensor:
        n, c, h, w = x.shape
        x = x.view(n, 4, c // 4, h, w).transpose(1, 2)  # 4 groups, changing places with their channels
        return x.reshape(n, c, h, w)


class ChannelSoftmax(ConvBlock):
    """Softmax over the channels of every pixel."""

    def change(self, x: torch.Tensor) -> torch.Tensor:
        return x * F.softmax(x, dim=1)


class PixelShuffle(ConvBlock):
    """Channels moved into space and the doubled image averaged back (arXiv:1609.05158)."""

    def __init__(self, channels: int) -> None:
        super().__init__(channels)
        self.more = nn.Conv2d(channels, 4 * channels, 1)

    def change(self, x: torch.Tensor) -> torch.Tensor:
        x = F.pixel_shuffle(self.more(x), 2)  # (N, 4 C, H, W) -> (N, C, 2 H, 2 W)
        return F.avg_pool2d(x, 2)


class Attention(ConvBlock):
    """Self-attention over the pixels, one head."""

    def __init__(self, channels: int) -> None:
        super().__init__(channels)
        self.query_key_value = nn.Linear(channels, 3 * channels)

    def change(self, x: torch.Tensor) -> torch.Tensor:
        tokens = x.flatten(2).transpose(1, 2)  # (N, C, H, W) -> (N, H W, C)
        query, key, value = self.query_key_value(tokens).unsqueeze(1).chunk(3, dim=-1)  # -> (N, one head, H W, C)
        mixed = F.scaled_dot_product_attention(query, key, value).squeeze(1)
        return x + mixed.transpose(1, 2).reshape(x.shape)  # (N, H W, C) -> (N, C, H, W)


class ContiguousCall(ConvBlock):
    """Somebody calls `.contiguous()` to be safe."""

    def change(self, x: torch.Tensor) -> torch.Tensor:
        return x.contiguous()


class PlainMaskFirst(ConvBlock):
    """A mask made by torch.ones, times the image: the mask is the first operand."""

    def change(self, x: torch.Tensor) -> torch.Tensor:
        mask = torch.ones(x.shape, dtype=x.dtype, device=x.device)
        return mask * x


class PlainMaskLast(ConvBlock):
    """The image, times a mask made by torch.ones: the image is the first operand."""

    def change(self, x: torch.Tensor) -> torch.Tensor:
        mask = torch.ones(x.shape, dtype=x.dtype, device=x.device)
        return x * mask


class OneHotFirst(ConvBlock):
    """The strongest channel of every pixel kept, by a permuted one_hot mask times the image."""

    def change(self, x: torch.Tensor) -> torch.Tensor:
        mask = F.one_hot(x.argmax(dim=1), x.shape[1]).permute(0, 3, 1, 2)  # (N, H, W, C) -> (N, C, H, W)
        return mask * x


BLOCKS: dict[str, type[nn.Module]] = {
    "conv_bn_relu": ConvBnRelu,
    "convnext": Convnext,
    "squeeze_excite": SqueezeExcite,
    "group_norm": GroupNorm,
    "instance_norm": InstanceNorm,
    "channel_shuffle": ChannelShuffle,
    "channel_softmax": ChannelSoftmax,
    "pixel_shuffle": PixelShuffle,
    "attention": Attention,
    "contiguous_call": ContiguousCall,
    "plain_mask_first": PlainMaskFirst,
    "plain_mask_last": PlainMaskLast,
    "one_hot_first": OneHotFirst,
}


class ConvNet(nn.Module):
    """A stem that halves the image, `layers` equal blocks, global average pooling and a linear classifier."""

    def __init__(self, block: str, layers: int, channels: int, image_size: int, classes: int) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, channels, 3, stride=2, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(channels)
        self.blocks = nn.ModuleList(BLOCKS[block](channels) for _ in range(layers))
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.head = nn.Linear(channels, classes)
        self.image_size = image_size

    def run_blocks(self, x: torch.Tensor) -> torch.Tensor:
        for block in self.blocks:
            x = block(x)
        return x

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.relu(self.norm(self.stem(x)))  # (N, 3, H, W) -> (N, C, H / 2, W / 2)
        x = self.run_blocks(x)
        logits: torch.Tensor = self.head(self.pool(x).flatten(1))  # -> (N, classes)
        return logits

    def example_inputs(self, batch: int) -> dict[str, torch.Tensor]:
        return {"x": torch.randn(batch, 3, self.image_size, self.image_size)}

    def example_target(self, batch: int) -> torch.Tensor:
        return torch.randint(self.head.out_features, (batch,))
