"""Networks of repeated cells, as DARTS trains them on CIFAR and on ImageNet."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from firstlight.cost import Cost
from firstlight.errors import SettingError
from firstlight.spaces.base import Skeleton
from firstlight.spaces.genotypes import Cell, Genotype
from firstlight.spaces.ops import Conv2d, FactorizedReduce, Linear, ReLUConvBN, SeparableConv, Zero
from firstlight.spaces.tally import Size, Tally, halved

# The auxiliary head needs features of 2x2 behind its pooling of 5x5, which has this stride for each stride of the stem
AUXILIARY_STRIDES = {1: 3, 8: 2}


@dataclass(frozen=True)
class DartsSkeleton(Skeleton):
    """`cells` cells, of which those after a third and two thirds reduce: half the size, twice the channels.

    `stem_stride` 1 is the stem for CIFAR, 8 the one for ImageNet. `auxiliary` 1 adds a second classifier for training.
    `pooled` 1 is the variant that NASI searches in: inputs of a reduction cell are halved by max-pooling, so that its
    edges keep the size and any operation can stand on any of them.
    """

    channels: int = 16
    cells: int = 8
    stem_stride: int = 1
    auxiliary: int = 0
    pooled: int = 0

    def __post_init__(self) -> None:
        image = len(self.input_shape) == 3 and min(self.input_shape) > 0
        if not image or min(self.classes, self.channels, self.cells) < 1:
            self._refuse("it takes images, and at least one class, channel and cell")
        if self.stem_stride not in AUXILIARY_STRIDES or not {self.auxiliary, self.pooled} <= {0, 1}:
            self._refuse("stem_stride is 1 (CIFAR) or 8 (ImageNet), auxiliary and pooled are 0 or 1")
        if self.stem_stride == 8 and self.channels < 2:
            self._refuse("the stem for ImageNet starts with half of the channels, so that there must be two")
        smallest = (5 + AUXILIARY_STRIDES[self.stem_stride] - 1) * 4 * self.stem_stride + 1
        if self.auxiliary and min(self.input_shape[1:]) < smallest:
            self._refuse(f"for its auxiliary head the sides of an image must be {smallest} or more")

    def _refuse(self, reason: str) -> None:
        raise SettingError(f"A DARTS network cannot be built with {self}: {reason}.")

    @property
    def reductions(self) -> tuple[int, int]:
        return self.cells // 3, 2 * self.cells // 3


class DartsNetwork(nn.Module):
    """A stem, cells that each read the outputs of the two before, global pooling and a classifier.

    `drop_path` is the chance that an edge is left out for a sample in training, and for the training to set.
    """

    def __init__(self, genotype: Genotype, skeleton: DartsSkeleton) -> None:
        super().__init__()
        self.drop_path = 0.0
        self.pooled_before = skeleton.reductions if skeleton.pooled else ()
        self.auxiliary_behind = skeleton.reductions[-1] if skeleton.auxiliary else None
        self.stems = nn.ModuleList(_stems(skeleton))
        channels = skeleton.channels
        older = newer = 3 * channels if skeleton.stem_stride == 1 else channels
        older_is_larger = len(self.stems) > 1
        self.cells = nn.ModuleList()
        for index in range(skeleton.cells):
            reduces = index in skeleton.reductions
            channels *= 2 if reduces else 1
            cell = genotype.reduce if reduces else genotype.normal
            halves = reduces and not skeleton.pooled
            first = FactorizedReduce(older, channels) if older_is_larger else ReLUConvBN(older, channels, 1)
            self.cells.append(DartsCell(cell, first, ReLUConvBN(newer, channels, 1), channels, halves))
            older, newer, older_is_larger = newer, channels * len(cell.concat), halves
            if index == self.auxiliary_behind:
                self.auxiliary = _auxiliary_head(newer, skeleton)
        self.shrink = nn.MaxPool2d(2, ceil_mode=True)
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.classifier = Linear(newer, skeleton.classes)

    def feature_blocks(self) -> list[nn.Module]:
        """Behind the stem and each cell, for proxies that compare features between blocks."""
        return [*self.stems, *self.cells]

    def forward(self, x: Tensor) -> Tensor | tuple[Tensor, Tensor]:
        """The logits; in training also those of the auxiliary head, if there is one."""
        older = newer = self.stems[0](x)
        for stem in self.stems[1:]:
            newer = stem(newer)
        auxiliary_logits = None
        for index, cell in enumerate(self.cells):
            if index in self.pooled_before:
                older, newer = self.shrink(older), self.shrink(newer)
            older, newer = newer, cell(older, newer, self.drop_path)
            if index == self.auxiliary_behind and self.training:
                auxiliary_logits = self.auxiliary(newer)
        logits: Tensor = self.classifier(self.pool(newer).flatten(1))
        return logits if auxiliary_logits is None else (logits, auxiliary_logits)


class DartsCell(nn.Module):
    """Both inputs brought to the cell's width, nodes that add up two edges each, and some of them side by side."""

    def __init__(self, cell: Cell, first: nn.Module, second: nn.Module, channels: int, halves: bool) -> None:
        super().__init__()
        self.cell = cell
        self.first = first
        self.second = second
        self.edges = nn.ModuleList(
            _operation(name, channels, stride=2 if halves and source < 2 else 1) for name, source in cell.edges
        )

    def forward(self, older: Tensor, newer: Tensor, drop_path: float = 0.0) -> Tensor:
        states = [self.first(older), self.second(newer)]
        terms: list[Tensor] = []
        for edge, (_, source) in zip(self.edges, self.cell.edges, strict=True):
            term = edge(states[source])
            if self.training and drop_path > 0 and not isinstance(edge, nn.Identity):
                term = _drop_samples(term, drop_path)
            terms.append(term)
            if len(terms) == 2:
                states.append(terms[0] + terms[1])
                terms.clear()
        return torch.cat([states[state] for state in self.cell.concat], 1)


def _drop_samples(x: Tensor, chance: float) -> Tensor:
    """Zero for some samples of the batch; the others grow, so that the mean stays."""
    kept = x.new_empty(x.shape[0], 1, 1, 1).bernoulli_(1 - chance)
    return x * kept / (1 - chance)


def _operation(name: str, channels: int, stride: int) -> nn.Module:
    kind, _, size = name.rpartition("_")
    kernel = int(size[0]) if size[0].isdigit() else 0
    if name == "conv_7x1_1x7":
        return nn.Sequential(
            nn.ReLU(),
            Conv2d(channels, channels, (1, 7), (1, stride), (0, 3), bias=False),
            Conv2d(channels, channels, (7, 1), (stride, 1), (3, 0), bias=False),
            nn.BatchNorm2d(channels),
        )
    if kind == "sep_conv":
        return nn.Sequential(SeparableConv(channels, kernel, stride), SeparableConv(channels, kernel))
    if kind == "dil_conv":
        return SeparableConv(channels, kernel, stride, dilation=2)
    if kind == "max_pool":
        return nn.MaxPool2d(kernel, stride, padding=kernel // 2)
    if kind == "avg_pool":
        return nn.AvgPool2d(kernel, stride, padding=kernel // 2, count_include_pad=False)
    if name == "none":
        return Zero(stride)
    return nn.Identity() if stride == 1 else FactorizedReduce(channels, channels)


def _stems(skeleton: DartsSkeleton) -> list[nn.Module]:
    """What the first cell reads: on CIFAR twice the same, on ImageNet features at a quarter and at an eighth."""
    image_channels, channels = skeleton.input_shape[0], skeleton.channels
    if skeleton.stem_stride == 1:
        full = Conv2d(image_channels, 3 * channels, 3, padding=1, bias=False)
        return [nn.Sequential(full, nn.BatchNorm2d(3 * channels))]
    half = Conv2d(image_channels, channels // 2, 3, stride=2, padding=1, bias=False)
    quarter = ReLUConvBN(channels // 2, channels, 3, stride=2)
    return [
        nn.Sequential(half, nn.BatchNorm2d(channels // 2), quarter),
        ReLUConvBN(channels, channels, 3, stride=2),
    ]


def _auxiliary_head(inputs: int, skeleton: DartsSkeleton) -> nn.Module:
    """A small classifier of intermediate features; the one for ImageNet lacks the second BatchNorm."""
    second_norm = [nn.BatchNorm2d(768)] if skeleton.stem_stride == 1 else []
    return nn.Sequential(
        nn.ReLU(),
        nn.AvgPool2d(5, stride=AUXILIARY_STRIDES[skeleton.stem_stride]),
        Conv2d(inputs, 128, 1, bias=False),
        nn.BatchNorm2d(128),
        nn.ReLU(),
        Conv2d(128, 768, 2, bias=False),
        *second_norm,
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        Linear(768, skeleton.classes),
    )


def darts_cost(genotype: Genotype, skeleton: DartsSkeleton) -> Cost:
    """Of the network without its auxiliary head; follows how the network is put together."""
    tally = Tally()
    image_channels, *size_of_image = skeleton.input_shape
    size: Size = (size_of_image[0], size_of_image[1])
    channels = older = newer = skeleton.channels
    if skeleton.stem_stride == 1:
        older = newer = 3 * channels
        tally.conv(image_channels, newer, 9, size)
    else:
        widths = (image_channels, channels // 2, channels, channels)
        for inputs, outputs in itertools.pairwise(widths):
            size = halved(size)
            tally.conv(inputs, outputs, 9, size)
    for index in range(skeleton.cells):
        reduces = index in skeleton.reductions
        channels *= 2 if reduces else 1
        cell = genotype.reduce if reduces else genotype.normal
        if reduces and skeleton.pooled:
            size = halved(size)
        inner = halved(size) if reduces and not skeleton.pooled else size
        tally.conv(older, channels, 1, size)
        tally.conv(newer, channels, 1, size)
        for name, source in cell.edges:
            strided = reduces and not skeleton.pooled and source < 2
            _add_operation(tally, name, channels, size if strided else inner, inner, strided)
        older, newer, size = newer, channels * len(cell.concat), inner
    tally.linear(newer, skeleton.classes)
    return tally.cost()


def _add_operation(tally: Tally, name: str, channels: int, before: Size, behind: Size, strided: bool) -> None:
    kind, _, size = name.rpartition("_")
    if name == "conv_7x1_1x7":
        tally.conv(channels, channels, 7, (before[0], behind[1]), norm=False)
        tally.conv(channels, channels, 7, behind)
    elif kind in ("sep_conv", "dil_conv"):
        for _ in range(2 if kind == "sep_conv" else 1):
            tally.conv(1, channels, int(size[0]) ** 2, behind, norm=False)
            tally.conv(channels, channels, 1, behind)
    elif name == "skip_connect" and strided:
        tally.conv(channels, channels, 1, behind)
