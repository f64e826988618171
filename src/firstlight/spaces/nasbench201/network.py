"""Networks of NAS-Bench-201, and their cost in closed form."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from torch import nn

from firstlight.probe.cost import Cost
from firstlight.spaces.base import Skeleton
from firstlight.spaces.cells import EDGES, FourNodeCell, StagedNetwork, StagesSkeleton
from firstlight.spaces.nasbench201.cell import Cell201
from firstlight.spaces.ops import Conv2d, ReLUConvBN, ResidualReduction
from firstlight.spaces.tally import Size, Tally

KERNELS = {"nor_conv_1x1": 1, "nor_conv_3x3": 3}


@dataclass(frozen=True)
class Skeleton201(StagesSkeleton):
    """Three stages of `cells` cells. The first has `channels`; each next one has double channels and half size."""

    channels: int = 16
    cells: int = 5

    @property
    def widths(self) -> tuple[int, int, int]:
        return self.channels, 2 * self.channels, 4 * self.channels


def network_of(skeleton: Skeleton201, make_cell: Callable[[int], nn.Module]) -> StagedNetwork:
    """Build the network; `make_cell` makes a cell for a number of channels."""
    widths = skeleton.widths
    body: list[nn.Module] = []
    for before, channels in zip((None, *widths), widths, strict=False):
        if before is not None:
            body.append(ResidualReduction(before, channels))
        body += [make_cell(channels) for _ in range(skeleton.cells)]
    return StagedNetwork(body, widths[0], widths[-1], skeleton)


def cost_of(skeleton: Skeleton201, add_cell: Callable[[StageTally, int], None]) -> Cost:
    """Return the cost of the network; `add_cell` adds a cell with a number of channels to a tally."""
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
    """Build a cell. If the width changes, edges from the input change it."""
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
