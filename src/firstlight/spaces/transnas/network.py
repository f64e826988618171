"""The networks of TransNAS-Bench-101: a stem, modules of two blocks each, global pooling and a classifier."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from firstlight.core.errors import SettingError
from firstlight.spaces.base import Skeleton
from firstlight.spaces.ops import Conv2d, Linear, ReLUConvBN, initialize
from firstlight.spaces.tally import Size, Tally, halved

MODULES = range(1, 5)  # 1 keeps the shape, 2 doubles the channels, 3 halves the size, 4 does both
DOUBLING, HALVING = {2, 4}, {3, 4}


@dataclass(frozen=True)
class TransNASSkeleton(Skeleton):
    """The skeleton of TransNAS-Bench-101. The stem reduces the sides of the image to a quarter.

    Args:
        input_shape: Three numbers for an image; four, such as 9x3x64x64, for the tiles of a jigsaw. Each tile goes
            through the network separately, and the classifier sees the features of all.
        classes: Number of classes.
        channels: Channels after the stem.
        rectified: 1 adds a ReLU before the global pooling. Published networks lack it: for a single image, BatchNorm
            leaves each channel with mean 0, so that the output does not depend on the image.
    """

    input_shape: tuple[int, ...] = (3, 224, 224)
    classes: int = 75
    channels: int = 64
    rectified: int = field(default=0, kw_only=True)

    def __post_init__(self) -> None:
        if self.rectified not in (0, 1):
            raise SettingError(f"rectified is {self.rectified}; it must be 0 or 1.")
        if len(self.input_shape) not in (3, 4) or min(*self.input_shape, self.classes, self.channels - 1) < 1:
            raise SettingError(
                f"A TransNAS-Bench-101 network cannot be built with {self}. It takes images, or several tiles of one, "
                "and needs at least one class and two channels."
            )

    @property
    def tiles(self) -> int:
        return self.input_shape[0] if len(self.input_shape) == 4 else 1


Step = tuple[int, int, int]  # input and output channels of a block, and its stride


def steps(modules: Sequence[int], channels: int) -> Iterator[Step]:
    """Yield the two blocks of each module. The first changes the shape."""
    for module in modules:
        behind = 2 * channels if module in DOUBLING else channels
        yield channels, behind, 2 if module in HALVING else 1
        yield behind, behind, 1
        channels = behind


class TransNASNetwork(nn.Module):
    """A network without normalization, and by default without a ReLU, between the last block and the pooling."""

    def __init__(self, blocks: Iterable[nn.Module], width: int, skeleton: TransNASSkeleton) -> None:
        super().__init__()
        half, channels = skeleton.channels // 2, skeleton.channels
        first = Conv2d(skeleton.input_shape[-3], half, 3, stride=2, padding=1, bias=False)
        self.stem = nn.Sequential(first, nn.BatchNorm2d(half), ReLUConvBN(half, channels, 3, stride=2))
        self.body = nn.Sequential(*blocks)
        self.pool: nn.Module = nn.AdaptiveAvgPool2d(1)
        if skeleton.rectified:
            self.pool = nn.Sequential(nn.ReLU(), self.pool)
        self.classifier = Linear(skeleton.tiles * width, skeleton.classes)

    @torch.no_grad()
    def initialize(self, generator: torch.Generator) -> None:
        """Draw convolutions from a normal distribution with variance 2 / fan-out; the classifier as in PyTorch."""
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                fan_out = module.out_channels * math.prod(module.kernel_size)
                module.weight.normal_(0, math.sqrt(2 / fan_out), generator=generator)
        initialize(self.classifier, generator)

    def feature_blocks(self) -> list[nn.Module]:
        """Return the stem and the blocks, for proxies that compare features between blocks."""
        return [self.stem, *self.body]

    def forward(self, x: Tensor) -> Tensor:
        images = [x] if x.ndim == 4 else x.unbind(1)
        features = torch.cat([self.pool(self.body(self.stem(image))) for image in images], 1)
        logits: Tensor = self.classifier(features.flatten(1))
        return logits


class ResidualBlock(nn.Module):
    """Two 3x3 convolutions plus a shortcut; nothing follows the sum.

    The BatchNorm of a shortcut that changes the shape has eps 1 and momentum 1, as for the published results.
    """

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.first = ReLUConvBN(inputs, outputs, 3, stride)
        self.second = ReLUConvBN(outputs, outputs, 3)
        self.shortcut: nn.Module = nn.Identity()
        if inputs != outputs or stride > 1:
            projection = Conv2d(inputs, outputs, 1, stride, bias=False)
            self.shortcut = nn.Sequential(projection, nn.BatchNorm2d(outputs, eps=1.0, momentum=1.0))

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.second(self.first(x)) + self.shortcut(x)
        return out


class TransNASTally(Tally):
    """The cost of a `TransNASNetwork`, part by part."""

    def __init__(self, skeleton: TransNASSkeleton) -> None:
        super().__init__()
        self.skeleton = skeleton
        half, channels = skeleton.channels // 2, skeleton.channels
        self.size: Size = halved((skeleton.input_shape[-2], skeleton.input_shape[-1]))
        self.conv(skeleton.input_shape[-3], half, 9, self.size)
        self.size = halved(self.size)
        self.conv(half, channels, 9, self.size)

    def shrink(self, stride: int) -> None:
        self.size = halved(self.size) if stride > 1 else self.size

    def classifier(self, width: int) -> None:
        """Add the classifier. Call it last: everything before is done for each tile."""
        self.macs *= self.skeleton.tiles
        self.linear(self.skeleton.tiles * width, self.skeleton.classes)
