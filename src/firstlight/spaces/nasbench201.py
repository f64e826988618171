"""NAS-Bench-201 (NATS-Bench topology space): 15,625 cells of four nodes (Dong & Yang, ICLR 2020)."""

from __future__ import annotations

import functools
import itertools
import operator
import random
from collections.abc import Iterator
from dataclasses import dataclass

from torch import Tensor, nn

from firstlight.cost import Cost
from firstlight.errors import ParseError, SettingError
from firstlight.spaces.base import Architecture, Drawing, Skeleton, Space
from firstlight.spaces.ops import Conv2d, Linear, ReLUConvBN, ResidualReduction

OPERATIONS = ("none", "skip_connect", "nor_conv_1x1", "nor_conv_3x3", "avg_pool_3x3")
KERNELS = {"nor_conv_1x1": 1, "nor_conv_3x3": 3}
# (target, source) of each edge in the order of the text form
EDGES = tuple((target, source) for target in range(1, 4) for source in range(target))


@dataclass(frozen=True)
class Cell201(Architecture):
    """One operation for each of the six edges, in the order of `EDGES`."""

    operations: tuple[str, ...]

    def __str__(self) -> str:
        nodes = []
        for target in range(1, 4):
            inputs = [
                f"{op}~{source}" for (node, source), op in zip(EDGES, self.operations, strict=True) if node == target
            ]
            nodes.append(f"|{'|'.join(inputs)}|")
        return "+".join(nodes)


@dataclass(frozen=True)
class Skeleton201(Skeleton):
    """Three stages of `cells` cells each; `channels` in the first stage, doubled and halved in size between stages."""

    channels: int = 16
    cells: int = 5

    def __post_init__(self) -> None:
        image = len(self.input_shape) == 3 and all(side > 0 and side % 4 == 0 for side in self.input_shape[1:])
        if not image or min(self.input_shape[0], self.classes, self.channels, self.cells) < 1:
            raise SettingError(
                f"A NAS-Bench-201 network cannot be built with {self}: it takes images whose sides are multiples of 4 "
                "(its two reductions halve them), and at least one class, channel and cell."
            )


class NASBench201(Space[Cell201]):
    """Cells with four nodes and six edges; every edge carries one of five operations."""

    name = "nasbench201"
    summary = "cells of four nodes, five operations on six edges: 15,625 architectures, 6,466 distinct"
    reference = "Dong2020nasbench201"
    skeleton_type = Skeleton201

    def __len__(self) -> int:
        return 15_625  # five operations on six edges

    def __iter__(self) -> Iterator[Cell201]:
        return map(Cell201, itertools.product(OPERATIONS, repeat=len(EDGES)))

    def sample(self, rng: random.Random) -> Cell201:
        return Cell201(tuple(rng.choice(OPERATIONS) for _ in EDGES))

    def mutate(self, architecture: Cell201, rng: random.Random) -> Cell201:
        edge = rng.randrange(len(EDGES))
        operations = list(architecture.operations)
        operations[edge] = rng.choice([op for op in OPERATIONS if op != operations[edge]])
        return Cell201(tuple(operations))

    def parse(self, text: str) -> Cell201:
        text = text.strip()
        position = 0
        operations = []

        def expect(literal: str) -> None:
            nonlocal position
            if not text.startswith(literal, position):
                raise ParseError(text, position, repr(literal))
            position += len(literal)

        for target, source in EDGES:
            if source == 0:
                expect("+|" if target > 1 else "|")
            operation = next((op for op in OPERATIONS if text.startswith(op, position)), None)
            if operation is None:
                raise ParseError(text, position, f"one of {', '.join(OPERATIONS)}")
            operations.append(operation)
            position += len(operation)
            expect(f"~{source}|")
        if position < len(text):
            raise ParseError(text, position, "the end of the text")
        return Cell201(tuple(operations))

    def canonical(self, architecture: Cell201) -> Cell201:
        """The first of the space's enumeration with the same function; skips and zeros are seen through."""
        return _first_of_class()[_function_text(architecture)]

    def network(self, architecture: Cell201, skeleton: Skeleton201) -> nn.Module:
        return Network201(architecture, skeleton)

    def cost(self, architecture: Cell201, skeleton: Skeleton | None = None) -> Cost:
        """The closed form: a thousand times faster than counting a network on the meta device."""
        skeleton = skeleton or self.skeleton()
        assert isinstance(skeleton, Skeleton201)
        image_channels, height, width = skeleton.input_shape
        stages = _stages(skeleton)
        kernel_areas = [KERNELS[op] ** 2 for op in architecture.operations if op in KERNELS]
        params = stages[0] * (9 * image_channels + 2)
        macs = stages[0] * 9 * image_channels * height * width
        for before, channels in zip((None, *stages), stages, strict=False):
            if before is not None:
                height, width = height // 2, width // 2
                reduction = channels * (9 * before + 9 * channels + before)
                params += reduction + 4 * channels
                macs += reduction * height * width
            weights = skeleton.cells * channels**2 * sum(kernel_areas)
            params += weights + skeleton.cells * 2 * channels * len(kernel_areas)
            macs += weights * height * width
        params += 2 * stages[-1] + (stages[-1] + 1) * skeleton.classes
        macs += stages[-1] * skeleton.classes
        return Cost(params, macs)

    def drawing(self, architecture: Cell201) -> Drawing:
        edges = [
            (source, target, operation)
            for (target, source), operation in zip(EDGES, architecture.operations, strict=True)
            if operation != "none"
        ]
        return Drawing(("input", "1", "2", "output"), tuple(edges))


class Cell(nn.Module):
    """Each node is the sum of its incoming edges; the last node is the output. Edges of `none` are not built."""

    def __init__(self, architecture: Cell201, channels: int) -> None:
        super().__init__()
        self.edges = nn.ModuleDict(
            {
                f"{source}-{target}": _operation(operation, channels)
                for (target, source), operation in zip(EDGES, architecture.operations, strict=True)
                if operation != "none"
            }
        )
        self.inputs = [
            [source for source in range(target) if f"{source}-{target}" in self.edges] for target in range(1, 4)
        ]
        self.unread = _unread_nodes(self.inputs)

    def forward(self, x: Tensor) -> Tensor:
        nodes = [x]
        for target, sources in enumerate(self.inputs, start=1):
            if target in self.unread and type(x) is not Tensor:  # derivatives that nobody would read
                sources = []
            terms = [self.edges[f"{source}-{target}"](nodes[source]) for source in sources]
            nodes.append(functools.reduce(operator.add, terms) if terms else x * 0)
        return nodes[-1]


class Network201(nn.Module):
    """Stem, three stages of cells with residual reductions between them, global pooling and a classifier."""

    def __init__(self, architecture: Cell201, skeleton: Skeleton201) -> None:
        super().__init__()
        stages = _stages(skeleton)
        self.stem = nn.Sequential(
            Conv2d(skeleton.input_shape[0], stages[0], 3, padding=1, bias=False), nn.BatchNorm2d(stages[0])
        )
        body: list[nn.Module] = []
        for stage, channels in enumerate(stages):
            if stage:
                body.append(ResidualReduction(stages[stage - 1], channels))
            body += [Cell(architecture, channels) for _ in range(skeleton.cells)]
        self.body = nn.Sequential(*body)
        self.top = nn.Sequential(nn.BatchNorm2d(stages[-1]), nn.ReLU())
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.classifier = Linear(stages[-1], skeleton.classes)

    def feature_blocks(self) -> list[nn.Module]:
        """Behind the stem, each cell and each reduction, for proxies that compare features between blocks."""
        return [self.stem, *self.body]

    def forward(self, x: Tensor) -> Tensor:
        features = self.pool(self.top(self.body(self.stem(x))))
        logits: Tensor = self.classifier(features.flatten(1))
        return logits


def _unread_nodes(inputs: list[list[int]]) -> set[int]:
    """The inner nodes from which no path leads to the output, given the sources of nodes 1 to 3."""
    read = {3}
    for target in (3, 2):
        read |= set(inputs[target - 1]) if target in read else set()
    return {1, 2} - read


def _stages(skeleton: Skeleton201) -> tuple[int, int, int]:
    return skeleton.channels, 2 * skeleton.channels, 4 * skeleton.channels


def _operation(name: str, channels: int) -> nn.Module:
    if name in KERNELS:
        return ReLUConvBN(channels, channels, KERNELS[name])
    if name == "avg_pool_3x3":
        return nn.AvgPool2d(3, stride=1, padding=1, count_include_pad=False)
    return nn.Identity()


def _function_text(architecture: Cell201) -> str:
    """The cell's output as nested text in which skips vanish and everything zero is written '#' (NATS-Bench's rule)."""
    nodes = ["0"]
    for target in range(1, 4):
        terms = []
        for (node, source), operation in zip(EDGES, architecture.operations, strict=True):
            if node != target:
                continue
            if operation == "none" or nodes[source] == "#":
                terms.append("#")
            elif operation == "skip_connect":
                terms.append(nodes[source])
            else:
                terms.append(f"({nodes[source]})@{operation}")
        nodes.append("+".join(sorted(terms)))
    return nodes[-1]


@functools.cache
def _first_of_class() -> dict[str, Cell201]:
    first: dict[str, Cell201] = {}
    for architecture in NASBench201():
        first.setdefault(_function_text(architecture), architecture)
    return first
