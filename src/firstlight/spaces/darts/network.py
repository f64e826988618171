"""Networks of repeated cells, as DARTS trains them on CIFAR and on ImageNet."""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn

from firstlight.core.errors import SettingError
from firstlight.probe.cost import Cost
from firstlight.spaces.base import Skeleton
from firstlight.spaces.darts.genotypes import Edge, Genotype
from firstlight.spaces.ops import Conv2d, FactorizedReduce, Linear, ReLUConvBN, SeparableConv, Zero
from firstlight.spaces.tally import Size, Tally, halved

# Stride of the 5x5 pooling in the auxiliary head, which must leave 2x2 features, by the stride of the stem
AUXILIARY_STRIDES = {1: 3, 8: 2}


@dataclass(frozen=True)
class DartsSkeleton(Skeleton):
    """The skeleton of DARTS. The cells after one and two thirds reduce: half the size, twice the channels.

    Args:
        input_shape: Shape of one image.
        classes: Number of classes.
        channels: Channels of the first cells.
        cells: Number of cells.
        stem_stride: 1 for the stem for CIFAR, 8 for the one for ImageNet.
        auxiliary: 1 adds a second classifier for training.
        pooled: 1 for the variant of NASI: max-pooling before a reduction cell halves the size instead of its edges, so
            that any operation can be on any edge.
        rectified: 1 adds a ReLU before the global pooling. Without it, and without pooling in the last cells, BatchNorm
            leaves each channel with mean 0 over a batch in training: for a single image the output does not depend on
            the image, and the outputs of a batch always have the same sum.
    """

    channels: int = 16
    cells: int = 8
    stem_stride: int = 1
    auxiliary: int = 0
    pooled: int = 0
    rectified: int = 0

    def __post_init__(self) -> None:
        image = len(self.input_shape) == 3 and min(self.input_shape) > 0
        if not image or min(self.classes, self.channels, self.cells) < 1:
            self._refuse("it takes images, and needs at least one class, channel and cell")
        if self.stem_stride not in AUXILIARY_STRIDES or not {self.auxiliary, self.pooled, self.rectified} <= {0, 1}:
            self._refuse("stem_stride must be 1 (CIFAR) or 8 (ImageNet), auxiliary, pooled and rectified 0 or 1")
        if self.stem_stride == 8 and self.channels < 2:
            self._refuse("the stem for ImageNet starts with half of the channels, so at least two are needed")
        smallest = (5 + AUXILIARY_STRIDES[self.stem_stride] - 1) * 4 * self.stem_stride + 1
        if self.auxiliary and min(self.input_shape[1:]) < smallest:
            self._refuse(f"its auxiliary head needs images with sides of at least {smallest}")

    def _refuse(self, reason: str) -> None:
        raise SettingError(f"A DARTS network cannot be built with {self}: {reason}.")

    @property
    def reductions(self) -> tuple[int, int]:
        return self.cells // 3, 2 * self.cells // 3


class PlacedEdge(NamedTuple):
    """An edge into a node of a cell. Without a source, it reads all states before the node."""

    name: str
    source: int | None
    operation: nn.Module


class CellPlace(NamedTuple):
    """The place of a cell in the network."""

    reduces: bool
    channels: int
    halves: bool

    def stride(self, source: int) -> int:
        """Return the stride of an edge: only edges from the inputs of a cell change the size."""
        return 2 if self.halves and source < 2 else 1


@dataclass(frozen=True)
class Wiring:
    """The edges into each node of a cell, and the states that its output concatenates."""

    nodes: Sequence[Sequence[PlacedEdge]]
    concat: Sequence[int]


def genotype_wiring(genotype: Genotype, place: CellPlace) -> Wiring:
    cell = genotype.reduce if place.reduces else genotype.normal
    edges = [
        PlacedEdge(str(number), source, make_operation(name, place.channels, place.stride(source)))
        for number, (name, source) in enumerate(cell.edges)
    ]
    return Wiring([edges[2 * node : 2 * node + 2] for node in range(cell.nodes)], cell.concat)


class DartsNetwork(nn.Module):
    """A stem, cells that read the outputs of the two before, global pooling and a classifier.

    The attribute `drop_path` is the probability that an edge is dropped for a sample in training; training code sets
    it.

    Args:
        skeleton: The skeleton.
        wire: Returns the wiring of the cell at a place.
    """

    def __init__(self, skeleton: DartsSkeleton, wire: Callable[[CellPlace], Wiring]) -> None:
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
            halves = reduces and not skeleton.pooled
            wiring = wire(CellPlace(reduces, channels, halves))
            first = FactorizedReduce(older, channels) if older_is_larger else ReLUConvBN(older, channels, 1)
            self.cells.append(DartsCell(first, ReLUConvBN(newer, channels, 1), wiring))
            older, newer, older_is_larger = newer, channels * len(wiring.concat), halves
            if index == self.auxiliary_behind:
                self.auxiliary = _auxiliary_head(newer, skeleton)
        self.shrink = nn.MaxPool2d(2, ceil_mode=True)
        self.pool: nn.Module = nn.AdaptiveAvgPool2d(1)
        if skeleton.rectified:
            self.pool = nn.Sequential(nn.ReLU(), self.pool)
        self.classifier = Linear(newer, skeleton.classes)

    def feature_blocks(self) -> list[nn.Module]:
        """Return the stems and the cells, for proxies that compare features between blocks."""
        return [*self.stems, *self.cells]

    def forward(self, x: Tensor) -> Tensor | tuple[Tensor, Tensor]:
        """Return the logits; in training also those of the auxiliary head, if there is one."""
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
    """A cell: both inputs are projected to its width, nodes add up their edges, and some are concatenated."""

    def __init__(self, first: nn.Module, second: nn.Module, wiring: Wiring) -> None:
        super().__init__()
        self.first = first
        self.second = second
        self.edges = nn.ModuleDict({edge.name: edge.operation for node in wiring.nodes for edge in node})
        self.nodes = [[(edge.name, edge.source) for edge in node] for node in wiring.nodes]
        self.concat = wiring.concat

    def forward(self, older: Tensor, newer: Tensor, drop_path: float = 0.0) -> Tensor:
        states = [self.first(older), self.second(newer)]
        for edges in self.nodes:
            terms = (
                self._term(self.edges[name], states if source is None else states[source], drop_path)
                for name, source in edges
            )
            states.append(functools.reduce(operator.add, terms))
        return torch.cat([states[state] for state in self.concat], 1)

    def _term(self, edge: nn.Module, read: Tensor | list[Tensor], drop_path: float) -> Tensor:
        term: Tensor = edge(read)
        dropped = self.training and drop_path > 0 and not isinstance(edge, nn.Identity)
        return _drop_samples(term, drop_path) if dropped else term


def _drop_samples(x: Tensor, chance: float) -> Tensor:
    """Drop random samples of the batch and scale the others to keep the mean."""
    kept = x.new_empty(x.shape[0], 1, 1, 1).bernoulli_(1 - chance)
    return x * kept / (1 - chance)


def make_operation(name: str, channels: int, stride: int) -> nn.Module:
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
    """Return the inputs of the first cell: on CIFAR one stem, on ImageNet two, at 1/4 and 1/8 of the size."""
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
    """Return a small classifier of intermediate features. The one for ImageNet lacks the second BatchNorm."""
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


def genotype_cost(genotype: Genotype, skeleton: DartsSkeleton) -> Cost:
    """Return the cost of a network without its auxiliary head."""
    cells = (genotype.normal, genotype.reduce)
    return darts_cost(skeleton, [cell.edges for cell in cells], [len(cell.concat) for cell in cells])


def darts_cost(
    skeleton: DartsSkeleton, edges: Sequence[Sequence[Edge]], widths: Sequence[int], *, gains: bool = True
) -> Cost:
    """Return the cost of a network in closed form.

    Args:
        skeleton: The skeleton.
        edges: The edges of the normal and of the reduction cell.
        widths: Number of nodes that the output of each of these cells concatenates.
        gains: Whether BatchNorms inside cells have parameters.
    """
    tally = Tally()
    image_channels, *size_of_image = skeleton.input_shape
    size: Size = (size_of_image[0], size_of_image[1])
    channels = older = newer = skeleton.channels
    if skeleton.stem_stride == 1:
        older = newer = 3 * channels
        tally.conv(image_channels, newer, 9, size)
    else:
        for inputs, outputs in itertools.pairwise((image_channels, channels // 2, channels, channels)):
            size = halved(size)
            tally.conv(inputs, outputs, 9, size)
    tally.gains = gains
    for index in range(skeleton.cells):
        reduces = index in skeleton.reductions
        channels *= 2 if reduces else 1
        if reduces and skeleton.pooled:
            size = halved(size)
        inner = halved(size) if reduces and not skeleton.pooled else size
        tally.conv(older, channels, 1, size)
        tally.conv(newer, channels, 1, size)
        for name, source in edges[reduces]:
            strided = reduces and not skeleton.pooled and source < 2
            _add_operation(tally, name, channels, size if strided else inner, inner, strided)
        older, newer, size = newer, channels * widths[reduces], inner
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
