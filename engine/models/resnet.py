"""ResNet (He et al. 2015, arXiv:1512.03385) with torchvision's topology and parameter names."""

import torch
from torch import nn


def convolution(in_channels: int, out_channels: int, kernel: int, stride: int = 1) -> nn.Conv2d:
    """A convolution without bias, padded to keep the size at stride 1."""
    return nn.Conv2d(in_channels, out_channels, kernel, stride, padding=kernel // 2, bias=False)


def shortcut(in_channels: int, out_channels: int, stride: int) -> nn.Sequential | None:
    """A 1 x 1 convolution where the shape changes; None where the input can be added as it is."""
    if stride == 1 and in_channels == out_channels:
        return None
    return nn.Sequential(convolution(in_channels, out_channels, 1, stride), nn.BatchNorm2d(out_channels))


class BasicBlock(nn.Module):
    """Two 3 x 3 convolutions; ResNet-18."""

    expansion = 1

    def __init__(self, in_channels: int, channels: int, stride: int) -> None:
        super().__init__()
        self.conv1 = convolution(in_channels, channels, 3, stride)
        self.bn1 = nn.BatchNorm2d(channels)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = convolution(channels, channels, 3)
        self.bn2 = nn.BatchNorm2d(channels)
        self.downsample = shortcut(in_channels, channels, stride)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.relu(self.bn1(self.conv1(x)))  # (N, in, H, W) -> (N, channels, H / stride, W / stride)
        y = self.bn2(self.conv2(y))
        y += x if self.downsample is None else self.downsample(x)
        out: torch.Tensor = self.relu(y)
        return out


class Bottleneck(nn.Module):
    """1 x 1, 3 x 3, 1 x 1 convolutions, four times as wide at the end; ResNet-50."""

    expansion = 4

    def __init__(self, in_channels: int, channels: int, stride: int) -> None:
        super().__init__()
        self.conv1 = convolution(in_channels, channels, 1)
        self.bn1 = nn.BatchNorm2d(channels)
        self.conv2 = convolution(channels, channels, 3, stride)
        self.bn2 = nn.BatchNorm2d(channels)
        self.conv3 = convolution(channels, 4 * channels, 1)
        self.bn3 = nn.BatchNorm2d(4 * channels)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = shortcut(in_channels, 4 * channels, stride)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.relu(self.bn1(self.conv1(x)))  # (N, in, H, W) -> (N, channels, H, W)
        y = self.relu(self.bn2(self.conv2(y)))  # -> (N, channels, H / stride, W / stride)
        y = self.bn3(self.conv3(y))  # -> (N, 4 channels, H / stride, W / stride)
        y += x if self.downsample is None else self.downsample(x)
        out: torch.Tensor = self.relu(y)
        return out


Residual = type[BasicBlock] | type[Bottleneck]


class ResNet(nn.Module):
    """Stem, four stages of residual blocks, global average pooling and a linear classifier."""

    def __init__(self, variant: str, image_size: int, classes: int) -> None:
        super().__init__()
        block: Residual = BasicBlock if variant == "resnet18" else Bottleneck
        counts = {"resnet18": (2, 2, 2, 2), "resnet50": (3, 4, 6, 3)}[variant]
        self.conv1 = nn.Conv2d(3, 64, 7, stride=2, padding=3, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(3, stride=2, padding=1)
        self.channels = 64
        self.layer1 = self.stage(block, 64, counts[0], stride=1)
        self.layer2 = self.stage(block, 128, counts[1], stride=2)
        self.layer3 = self.stage(block, 256, counts[2], stride=2)
        self.layer4 = self.stage(block, 512, counts[3], stride=2)
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(512 * block.expansion, classes)
        self.image_size = image_size

    def stage(self, block: Residual, channels: int, count: int, stride: int) -> nn.Sequential:
        """`count` blocks; only the first changes size and width."""
        blocks: list[nn.Module] = []
        for index in range(count):
            blocks.append(block(self.channels, channels, stride if index == 0 else 1))
            self.channels = channels * block.expansion
        return nn.Sequential(*blocks)

    @property
    def blocks(self) -> list[nn.Module]:
        return [*self.layer1, *self.layer2, *self.layer3, *self.layer4]

    def run_blocks(self, x: torch.Tensor) -> torch.Tensor:
        for block in self.blocks:
            x = block(x)
        return x

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))  # (N, 3, H, W) -> (N, 64, H / 4, W / 4)
        x = self.run_blocks(x)  # -> (N, 512 or 2048, H / 32, W / 32)
        logits: torch.Tensor = self.fc(self.avgpool(x).flatten(1))  # -> (N, classes)
        return logits

    def example_inputs(self, batch: int) -> dict[str, torch.Tensor]:
        return {"x": torch.randn(batch, 3, self.image_size, self.image_size)}

    def example_target(self, batch: int) -> torch.Tensor:
        return torch.randint(self.fc.out_features, (batch,))
