"""NAS-Bench-201 (NATS-Bench topology space): 15,625 cells of four nodes (Dong & Yang, ICLR 2020)."""

from __future__ import annotations

import functools
import itertools
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torch import nn

from firstlight.core.errors import ParseError
from firstlight.probe.cost import Cost
from firstlight.spaces.base import Architecture, Drawing, Skeleton, Space
from firstlight.spaces.cells import EDGES, FourNodeCell, StagedNetwork, StagesSkeleton
from firstlight.spaces.ops import Conv2d, ReLUConvBN, ResidualReduction
from firstlight.spaces.reading import Reader
from firstlight.spaces.tally import Size, Tally

if TYPE_CHECKING:
    from firstlight.spaces.supernets import OneShot, Supernet
    from firstlight.spaces.supernets.shared import Shared

OPERATIONS = ("none", "skip_connect", "nor_conv_1x1", "nor_conv_3x3", "avg_pool_3x3")
# what the digits of NASLib stand for
DIGITS = ("skip_connect", "none", "nor_conv_3x3", "nor_conv_1x1", "avg_pool_3x3")
KERNELS = {"nor_conv_1x1": 1, "nor_conv_3x3": 3}


@dataclass(frozen=True)
class Cell201(Architecture):
    """One operation for each of the six edges, in the order of `EDGES`."""

    operations: tuple[str, ...]

    @classmethod
    def from_digits(cls, digits: str) -> Cell201:
        """From one digit for each edge, as NASLib and the tables made with it write a cell.

        Edges are listed by their source, 0-1, 0-2, 0-3, 1-2, 1-3, 2-3; the text lists them by their target.
        """
        for position, digit in enumerate(digits):
            if digit not in "01234":
                raise ParseError(digits, position, "a digit from 0 to 4")
        if len(digits) != len(EDGES):
            raise ParseError(digits, min(len(digits), len(EDGES)), "six digits")
        by_source = sorted((source, target) for target, source in EDGES)
        operations = {edge: DIGITS[int(digit)] for edge, digit in zip(by_source, digits, strict=True)}
        return cls(tuple(operations[source, target] for target, source in EDGES))

    def __str__(self) -> str:
        nodes = []
        for target in range(1, 4):
            inputs = [
                f"{op}~{source}" for (node, source), op in zip(EDGES, self.operations, strict=True) if node == target
            ]
            nodes.append(f"|{'|'.join(inputs)}|")
        return "+".join(nodes)


@dataclass(frozen=True)
class Skeleton201(StagesSkeleton):
    """Three stages of `cells` cells each; `channels` in the first stage, doubled and halved in size between stages."""

    channels: int = 16
    cells: int = 5

    @property
    def widths(self) -> tuple[int, int, int]:
        return self.channels, 2 * self.channels, 4 * self.channels


class NASBench201(Space[Cell201]):
    """Cells with four nodes and six edges; every edge carries one of five operations."""

    name = "nasbench201"
    summary = "cells of four nodes, five operations on six edges: 15,625 architectures, 6,466 distinct"
    reference = "Dong2020nasbench201"
    benchmark = "NAS-Bench-201 and NATS-Bench (topology): all trained on CIFAR-10, CIFAR-100 and ImageNet16-120"
    used_by = (
        "Asthana2025dextr",
        "Chen2021tenas",
        "Lee2024aznas",
        "Mellor2021naswot",
        "Shu2022hnas",
        "Shu2022nasi",
        "Xu2021knas",
        "Zhang2022gradsign",
        "Zheng2023sigeo",
    )
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
        reader = Reader(text)
        operations = []
        for target, source in EDGES:
            if source == 0:
                reader.skip("+|" if target > 1 else "|")
            operations.append(reader.one_of(OPERATIONS))
            reader.skip(f"~{source}|")
        reader.end()
        return Cell201(tuple(operations))

    def canonical(self, architecture: Cell201) -> Cell201:
        """The first of the space's enumeration with the same function; skips and zeros are seen through."""
        return _first_of_class()[_function_text(architecture)]

    def choices(self) -> tuple[tuple[str, ...], ...]:
        return (OPERATIONS,) * len(EDGES)

    def from_choices(self, indices: Sequence[int]) -> Cell201:
        return Cell201(tuple(OPERATIONS[index] for index in indices))

    def to_choices(self, architecture: Cell201) -> tuple[int, ...]:
        return tuple(map(OPERATIONS.index, architecture.operations))

    def network(self, architecture: Cell201, skeleton: Skeleton201) -> nn.Module:
        return network_of(skeleton, lambda channels: cell_network(architecture, channels, channels))

    def cost(self, architecture: Cell201, skeleton: Skeleton | None = None) -> Cost:
        """The closed form: a thousand times faster than counting a network on the meta device."""
        skeleton = skeleton or self.skeleton()
        assert isinstance(skeleton, Skeleton201)
        return cost_of(skeleton, lambda tally, channels: tally.cell(architecture, channels, channels))

    def supernet(self) -> Supernet:
        from firstlight.spaces.nasbench201.supernet import Supernet201

        return Supernet201()

    def one_shot(self) -> OneShot:
        from firstlight.spaces.nasbench201.supernet import OneShot201

        return OneShot201()

    def shared(self) -> Shared:
        from firstlight.spaces.supernets.shared import SharedCells

        return SharedCells()

    def drawing(self, architecture: Cell201) -> Drawing:
        edges = [
            (source, target, operation)
            for (target, source), operation in zip(EDGES, architecture.operations, strict=True)
            if operation != "none"
        ]
        return Drawing(("input", "1", "2", "output"), tuple(edges))


def network_of(skeleton: Skeleton201, make_cell: Callable[[int], nn.Module]) -> StagedNetwork:
    """The network whose cells of so many channels `make_cell` makes."""
    widths = skeleton.widths
    body: list[nn.Module] = []
    for before, channels in zip((None, *widths), widths, strict=False):
        if before is not None:
            body.append(ResidualReduction(before, channels))
        body += [make_cell(channels) for _ in range(skeleton.cells)]
    return StagedNetwork(body, widths[0], widths[-1], skeleton)


def cost_of(skeleton: Skeleton201, add_cell: Callable[[StageTally, int], None]) -> Cost:
    """The cost of the network whose cells of so many channels `add_cell` adds to a tally."""
    tally = StageTally(skeleton)
    widths = skeleton.widths
    tally.stem(widths[0])
    for before, channels in zip((None, *widths), widths, strict=False):
        if before is not None:
            tally.reduction(before, channels)
        for _ in range(skeleton.cells):
            add_cell(tally, channels)
    tally.head(widths[-1])
    return tally.cost()


def cell_network(architecture: Cell201, inputs: int, outputs: int) -> FourNodeCell:
    """Edges from the input change the width, where it changes."""
    edges = {
        (target, source): make_operation(operation, inputs if source == 0 else outputs, outputs)
        for (target, source), operation in zip(EDGES, architecture.operations, strict=True)
        if operation != "none"
    }
    return FourNodeCell(edges)


def make_operation(name: str, inputs: int, outputs: int) -> nn.Module:
    if name in KERNELS:
        return ReLUConvBN(inputs, outputs, KERNELS[name])
    if name == "avg_pool_3x3":
        return nn.AvgPool2d(3, stride=1, padding=1, count_include_pad=False)
    if inputs != outputs:
        return nn.Sequential(Conv2d(inputs, outputs, 1, bias=False), nn.BatchNorm2d(outputs))
    return nn.Identity()


class StageTally(Tally):
    """The cost of a `StagedNetwork`, part by part."""

    def __init__(self, skeleton: Skeleton) -> None:
        super().__init__()
        self.skeleton = skeleton
        self.size: Size = (skeleton.input_shape[1], skeleton.input_shape[2])

    def stem(self, channels: int) -> None:
        self.conv(self.skeleton.input_shape[0], channels, 9, self.size)

    def cell(self, architecture: Cell201, inputs: int, outputs: int) -> None:
        for (_, source), operation in zip(EDGES, architecture.operations, strict=True):
            self.operation(operation, inputs if source == 0 else outputs, outputs)

    def operation(self, name: str, inputs: int, outputs: int) -> None:
        if name in KERNELS:
            self.conv(inputs, outputs, KERNELS[name] ** 2, self.size)
        elif name == "skip_connect" and inputs != outputs:
            self.conv(inputs, outputs, 1, self.size)

    def reduction(self, inputs: int, outputs: int) -> None:
        self.size = self.size[0] // 2, self.size[1] // 2
        self.conv(inputs, outputs, 9, self.size)
        self.conv(outputs, outputs, 9, self.size)
        self.conv(inputs, outputs, 1, self.size, norm=False)

    def head(self, inputs: int) -> None:
        self.norm(inputs)
        self.linear(inputs, self.skeleton.classes)


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
