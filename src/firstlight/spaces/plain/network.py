"""Plain networks, and the cost of each of their parts."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from firstlight.core.errors import SettingError
from firstlight.probe.cost import Cost
from firstlight.spaces.base import Skeleton
from firstlight.spaces.ops import Linear, initialize
from firstlight.spaces.plain.blocks import ChannelNorm, Size, convolution, patches, squeezed_width, stage_blocks
from firstlight.spaces.plain.shape import Plain, Stage
from firstlight.spaces.tally import Tally

POSITION_DEVIATION = 0.02


@dataclass(frozen=True)
class PlainSkeleton(Skeleton):
    """Images of any size and number of channels."""

    def __post_init__(self) -> None:
        if len(self.input_shape) != 3 or min(self.input_shape) < 1 or self.classes < 1:
            raise SettingError(
                f"A plain network cannot be built with {self}. It takes images, such as 3x32x32 or 1x28x28, and needs "
                "at least one class."
            )


class Positions(nn.Module):
    """Adds a learned vector to each position."""

    def __init__(self, width: int, size: Size) -> None:
        super().__init__()
        self.positions = nn.Parameter(torch.empty(1, width, *size))

    def forward(self, x: Tensor) -> Tensor:
        return x + self.positions


class PlainNetwork(nn.Module):
    """A stem, blocks, global pooling and a classifier."""

    def __init__(self, shape: Plain, skeleton: PlainSkeleton) -> None:
        super().__init__()
        size, channels = _image(skeleton), shape.stem.width
        self.stem = nn.Sequential(*_stem(shape, skeleton))
        size = _after_stem(shape, size)
        body: list[nn.Module] = []
        for stage in shape.stages:
            body += stage_blocks(shape.family.kind, channels, stage, size)
            size, channels = _strided(size, stage.stride), stage.width
        self.body = nn.Sequential(*body)
        self.head = nn.Sequential(*_head(shape, channels, skeleton.classes))

    @torch.no_grad()
    def initialize(self, generator: torch.Generator) -> None:
        """Draw positions from N(0, 0.02^2), and all other weights as PyTorch does."""
        for part in (self.stem, self.body, self.head):
            initialize(part, generator)
        for module in self.modules():
            if isinstance(module, Positions):
                module.positions.normal_(0, POSITION_DEVIATION, generator=generator)

    def feature_blocks(self) -> list[nn.Module]:
        """Return the stem and all blocks, for proxies that compare features between blocks."""
        return [self.stem, *self.body]

    def forward(self, x: Tensor) -> Tensor:
        logits: Tensor = self.head(self.body(self.stem(x)))
        return logits


def _stem(shape: Plain, skeleton: PlainSkeleton) -> list[nn.Module]:
    channels, stem = skeleton.input_shape[0], shape.stem
    if shape.family.stem == "k":
        return [*convolution(channels, stem.width, stem.size, stem.stride), nn.ReLU()]
    size = _image(skeleton)
    layers = patches(channels, stem.width, _patch(shape, size), size)
    end = ChannelNorm(stem.width) if shape.family.stem == "p" else Positions(stem.width, _after_stem(shape, size))
    return [*layers, end]


def _head(shape: Plain, channels: int, classes: int) -> list[nn.Module]:
    """Transformers normalize before pooling, ConvNeXts after it."""
    kind, pool = shape.family.kind, [nn.AdaptiveAvgPool2d(1), nn.Flatten()]
    if shape.family.has_head:
        return [*convolution(channels, shape.head, 1), nn.ReLU(), *pool, Linear(shape.head, classes)]
    before = [ChannelNorm(channels)] if kind == "transformer" else []
    after = [nn.LayerNorm(channels)] if kind == "convnext" else []
    return [*before, *pool, *after, Linear(channels, classes)]


def _image(skeleton: PlainSkeleton) -> Size:
    _, height, width = skeleton.input_shape
    return height, width


def _strided(size: Size, stride: int) -> Size:
    return -(-size[0] // stride), -(-size[1] // stride)


def _patch(shape: Plain, size: Size) -> Size:
    """Return the sides of the stem's patches. A grid divides the image into at most as many."""
    patch = shape.stem.size
    return (patch, patch) if shape.family.stem == "p" else _strided(size, patch)


def _after_stem(shape: Plain, size: Size) -> Size:
    if shape.family.stem == "k":
        return _strided(size, shape.stem.stride)
    patch = _patch(shape, size)
    return -(-size[0] // patch[0]), -(-size[1] // patch[1])


@dataclass(frozen=True)
class Part:
    """A part of a network: the shape of its output, and its cost."""

    channels: int
    size: Size
    cost: Cost


def parts_of(shape: Plain, skeleton: PlainSkeleton) -> list[Part]:
    """Return the stem, the stages and the head in closed form, without building them."""
    image, size = skeleton.input_shape[0], _after_stem(shape, _image(skeleton))
    positions, width = size[0] * size[1], shape.stem.width
    tally = Tally()
    if shape.family.stem == "k":
        tally.conv(image, width, shape.stem.size**2, size)
    else:
        patch = _patch(shape, _image(skeleton))
        tally.linear(image * patch[0] * patch[1], width, times=positions)
        tally.params += 2 * width if shape.family.stem == "p" else width * positions
    parts = [Part(width, size, tally.cost())]
    for stage in shape.stages:
        before, size = size, _strided(size, stage.stride)
        parts.append(Part(stage.width, size, _stage_cost(shape.family.kind, width, stage, before, size)))
        width = stage.width
    tally = Tally()
    if shape.family.has_head:
        tally.conv(width, shape.head, 1, size)
        width = shape.head
    elif shape.family.kind in ("convnext", "transformer"):
        tally.norm(width)
    tally.linear(width, skeleton.classes)
    return [*parts, Part(skeleton.classes, (1, 1), tally.cost())]


def _stage_cost(kind: str, inputs: int, stage: Stage, before: Size, after: Size) -> Cost:
    """Add up the first block, which may change the shape, and the others, which are alike."""
    if kind in ("convnext", "transformer"):
        first, block, times = Tally(), _same_shape_tally(kind, stage, after), stage.depth
        if inputs != stage.width or stage.stride > 1:
            first.norm(inputs)
            first.linear(inputs * stage.stride**2, stage.width, times=after[0] * after[1])
    else:
        first = _block_tally(kind, inputs, stage, stage.stride, before, after)
        block, times = _block_tally(kind, stage.width, stage, 1, after, after), stage.depth - 1
    return Cost(first.params + times * block.params, first.macs + times * block.macs)


def _block_tally(kind: str, inputs: int, stage: Stage, stride: int, before: Size, after: Size) -> Tally:
    tally = Tally()
    width, area = stage.width, stage.size**2
    if kind == "inverted":
        inner = inputs * stage.expansion
        if stage.expansion > 1:
            tally.conv(inputs, inner, 1, before)
        tally.conv(1, inner, area, after)
        _add_gate(tally, stage, inner)
        tally.conv(inner, width, 1, after)
        return tally
    if kind == "basic":
        tally.conv(inputs, width, area, after)
        tally.conv(width, width, area, after)
    else:
        inner = width // stage.expansion
        tally.conv(inputs, inner, 1, before)
        tally.conv(inner, inner, area, after)
        tally.conv(inner, width, 1, after)
    _add_gate(tally, stage, width)
    if inputs != width or stride > 1:
        tally.conv(inputs, width, 1, after)
    return tally


def _same_shape_tally(kind: str, stage: Stage, size: Size) -> Tally:
    tally = Tally()
    width, positions = stage.width, size[0] * size[1]
    if kind == "convnext":
        tally.conv(1, width, stage.size**2, size, norm=False)
        tally.params += width
        _add_gate(tally, stage, width)
    else:
        tally.norm(width)
        tally.linear(width, 3 * width, times=positions)
        tally.linear(width, width, times=positions)
        tally.macs += 2 * positions**2 * width
    tally.norm(width)
    tally.linear(width, width * stage.expansion, times=positions)
    tally.linear(width * stage.expansion, width, times=positions)
    return tally


def _add_gate(tally: Tally, stage: Stage, channels: int) -> None:
    if stage.gated:
        squeezed = squeezed_width(channels)
        tally.linear(channels, squeezed)
        tally.linear(squeezed, channels)
