"""The one-shot network of NAS-Bench-1Shot1: cells of choice blocks that can read all blocks before them.

Vertices are numbered as in the text of a cell: 0 is the input, then come the blocks, and the last is the output.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from firstlight.core.errors import SettingError
from firstlight.spaces.base import Skeleton
from firstlight.spaces.nasbench101.cell import OUTPUT, Cell101
from firstlight.spaces.nasbench101.network import ConvBNReLU, make_operation
from firstlight.spaces.ops import Conv2d, Linear
from firstlight.spaces.supernets.mixed import ChoicePoint, MixedEdge, MixedInputs, scaled
from firstlight.spaces.supernets.one_shot import Choice, OneShot, Preferences

OPERATIONS = ("maxpool3x3", "conv3x3", "conv1x1")


@dataclass(frozen=True)
class Skeleton1Shot1(Skeleton):
    """`cells` cells. Those after one and two thirds double the channels, with max-pooling before them."""

    channels: int = 16
    cells: int = 9

    def __post_init__(self) -> None:
        if len(self.input_shape) != 3 or min(*self.input_shape, self.classes, self.channels, self.cells) < 1:
            raise SettingError(
                f"The one-shot network of NAS-Bench-1Shot1 cannot be built with {self}. It takes images, and needs at "
                "least one class, channel and cell."
            )

    @property
    def doublings(self) -> tuple[int, int]:
        return self.cells // 3, 2 * self.cells // 3


class OneShot1Shot1(OneShot):
    """Chooses an operation in each block, and the inputs of each vertex that does not read all vertices before it."""

    def __init__(self, space: str, parents: Sequence[int]) -> None:
        """`parents` is the number of parents of each vertex after the input."""
        self.name = f"{space}-one-shot"
        *blocks, output = range(1, 1 + len(parents))
        titles = {vertex: str(vertex) for vertex in blocks} | {output: OUTPUT}
        self.operations = [Choice(f"operation of {titles[block]}", OPERATIONS) for block in blocks]
        self.inputs = [
            Choice(f"inputs of {titles[vertex]}", tuple(map(str, range(vertex))), taken=count)
            for vertex, count in enumerate(parents, start=1)
        ]
        self.choices = (*self.operations, *filter(is_open, self.inputs))

    def skeleton(self, of_networks: Skeleton) -> Skeleton1Shot1:
        """Return the published skeleton, for the same images and classes."""
        return Skeleton1Shot1(of_networks.input_shape, of_networks.classes)

    def network(self, skeleton: Skeleton1Shot1) -> nn.Module:
        return Network1Shot1(self.operations, self.inputs, skeleton)

    def path(self, architecture: Cell101) -> dict[str, tuple[str, ...]]:
        """Return the options of an architecture, by the name of the choice."""
        operations = zip(self.operations, architecture.operations, strict=True)
        inputs = zip(self.inputs, architecture.sources, strict=True)
        return {choice.name: (name,) for choice, name in operations} | {
            choice.name: tuple(map(str, sources)) for choice, sources in inputs if is_open(choice)
        }

    def architecture(self, preferences: Preferences) -> Cell101:
        operations = (choice.best(preferences)[0] for choice in self.operations)
        inputs = (choice.best(preferences) if is_open(choice) else choice.options for choice in self.inputs)
        return Cell101(tuple(operations), tuple(tuple(sorted(map(int, sources))) for sources in inputs))


def is_open(choice: Choice) -> bool:
    return choice.taken < len(choice.options)


class Network1Shot1(nn.Module):
    """A stem, cells as wide as all their blocks together, a projection to the width of a block, and a classifier."""

    def __init__(self, operations: Sequence[Choice], inputs: Sequence[Choice], skeleton: Skeleton1Shot1) -> None:
        super().__init__()
        channels = width = skeleton.channels
        self.stem = ConvBNReLU(skeleton.input_shape[0], channels, 3)
        body: list[nn.Module] = []
        for index in range(skeleton.cells):
            if index in skeleton.doublings:
                channels *= 2
                body.append(nn.MaxPool2d(2, padding=1))
            body.append(Cell1Shot1(operations, inputs, width, channels))
            width = channels * len(operations)
        self.body = nn.Sequential(*body)
        projection = Conv2d(width, channels, 1, bias=False)
        self.top = nn.Sequential(nn.ReLU(), projection, nn.BatchNorm2d(channels, affine=False))
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.classifier = Linear(channels, skeleton.classes)
        for norm in self.modules():
            if isinstance(norm, nn.BatchNorm2d):
                norm.momentum = 0.997  # as published; stand-alone networks have 0.003

    def forward(self, x: Tensor) -> Tensor:
        features = self.pool(self.top(self.body(self.stem(x))))
        logits: Tensor = self.classifier(features.flatten(1))
        return logits


class Cell1Shot1(nn.Module):
    """A cell in which each vertex has its own projection of the cell's input; `inputs` are the choices of inputs."""

    def __init__(self, operations: Sequence[Choice], inputs: Sequence[Choice], width: int, channels: int) -> None:
        super().__init__()
        *inputs_of_blocks, inputs_of_output = inputs
        self.projections = nn.ModuleList(ConvBNReLU(width, channels, 1) for _ in operations)
        self.inputs = nn.ModuleList(map(_reading, inputs_of_blocks))
        self.blocks = nn.ModuleList(
            MixedEdge(choice.name, {name: make_operation(name, channels) for name in OPERATIONS}, choice.even_weights)
            for choice in operations
        )
        self.shortcut = ConvBNReLU(width, channels * len(operations), 1)
        self.output = MixedOutput(inputs_of_output.name, inputs_of_output.even_weights)

    def forward(self, x: Tensor) -> Tensor:
        blocks: list[Tensor] = []
        for project, read, block in zip(self.projections, self.inputs, self.blocks, strict=True):
            blocks.append(block(read([project(x), *blocks])))
        out: Tensor = self.output(self.shortcut(x), blocks)
        return out


def _reading(choice: Choice) -> nn.Module:
    return MixedInputs(choice.name, choice.even_weights) if is_open(choice) else AllInputs()


class AllInputs(nn.Module):
    """The sum of all vertices before a block that has no choice of inputs."""

    def forward(self, inputs: Sequence[Tensor]) -> Tensor:
        return functools.reduce(operator.add, inputs)


class MixedOutput(ChoicePoint):
    """The concatenation of the weighted blocks plus the weighted projection of the cell's input."""

    def forward(self, shortcut: Tensor, blocks: Sequence[Tensor]) -> Tensor:
        first, *others = self.weights.values()
        weighted = [scaled(weight, block) for weight, block in zip(others, blocks, strict=True)]
        return scaled(first, shortcut) + torch.cat(weighted, 1)
