"""Networks of NAS-Bench-101 cells and their cost, for all spaces of such cells."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from firstlight.core.errors import SettingError
from firstlight.probe.cost import Cost
from firstlight.spaces.base import Drawing, Skeleton, Space
from firstlight.spaces.nasbench101.cell import OUTPUT, Cell101
from firstlight.spaces.ops import Conv2d, Linear

KERNELS = {"conv1x1": 1, "conv3x3": 3}
MOST_SHARING = 5  # inner vertices that can lead to the output; each needs a channel


@dataclass(frozen=True)
class Skeleton101(Skeleton):
    """`stacks` of `cells` each, with `channels` in the first. Each next stack has double channels and half size."""

    channels: int = 128
    stacks: int = 3
    cells: int = 3

    def __post_init__(self) -> None:
        halvings = max(self.stacks - 1, 0)
        divisible = (side >> halvings << halvings == side > 0 for side in self.input_shape[1:])
        counts = (self.input_shape[0], self.classes, self.stacks, self.cells)
        if len(self.input_shape) != 3 or not all(divisible) or min(counts) < 1 or self.channels < MOST_SHARING:
            raise SettingError(
                f"A NAS-Bench-101 network cannot be built with {self}. It takes images whose sides can be halved "
                f"between the stacks, and needs at least one class, stack and cell, and at least {MOST_SHARING} "
                f"channels, because up to {MOST_SHARING} vertices of a cell share them."
            )

    def stages(self) -> Iterator[tuple[int, int, int, int]]:
        """Yield the input and output channels of each cell, and its height and width."""
        inputs = self.channels
        for stack in range(self.stacks):
            outputs = self.channels << stack
            for _ in range(self.cells):
                yield inputs, outputs, self.input_shape[1] >> stack, self.input_shape[2] >> stack
                inputs = outputs


class Space101(Space[Cell101]):
    """The base of all spaces of NAS-Bench-101 cells."""

    skeleton_type = Skeleton101

    def network(self, architecture: Cell101, skeleton: Skeleton101) -> nn.Module:
        """Build the network without vertices that are on no path from input to output."""
        return Network101(architecture.pruned(), skeleton)

    def cost(self, architecture: Cell101, skeleton: Skeleton | None = None) -> Cost:
        """Return the cost in closed form, a thousand times faster than counting a network on the meta device."""
        skeleton = skeleton or self.skeleton()
        assert isinstance(skeleton, Skeleton101)
        cell = architecture.pruned()
        image_channels, height, width = skeleton.input_shape
        weights = skeleton.channels * 9 * image_channels
        params, macs = weights + 2 * skeleton.channels, weights * height * width
        outputs = 0
        for inputs, outputs, height, width in skeleton.stages():
            weights, channels = _convolutions(cell, inputs, outputs)
            params += weights + 2 * channels
            macs += weights * height * width
        return Cost(params + (outputs + 1) * skeleton.classes, macs + outputs * skeleton.classes)

    def drawing(self, architecture: Cell101, skeleton: Skeleton | None = None) -> Drawing:
        cell = architecture.pruned()
        edges = [(source, vertex, "") for vertex, sources in enumerate(cell.sources, start=1) for source in sources]
        return Drawing(("input", *cell.operations, OUTPUT), tuple(edges))


def _convolutions(cell: Cell101, inputs: int, outputs: int) -> tuple[int, int]:
    """Return the number of weights and of output channels of all convolutions of a pruned cell."""
    widths = cell.widths(inputs, outputs)
    projected = sum(width for width, sources in zip(widths[1:], cell.sources, strict=True) if 0 in sources)
    weights, channels = inputs * projected, projected
    for width, operation in zip(widths[1:-1], cell.operations, strict=True):
        if operation in KERNELS:
            weights += (width * KERNELS[operation]) ** 2
            channels += width
    return weights, channels


class ConvBNReLU(nn.Sequential):
    """Bias-free convolution with "same" padding, BatchNorm with momentum 0.003, ReLU."""

    def __init__(self, inputs: int, outputs: int, kernel: int) -> None:
        super().__init__(
            Conv2d(inputs, outputs, kernel, padding=kernel // 2, bias=False),
            nn.BatchNorm2d(outputs, eps=1e-5, momentum=0.003),
            nn.ReLU(),
        )


class Cell(nn.Module):
    """A pruned cell. An inner vertex adds up its sources; the output concatenates them.

    The cell's input is projected to the width of each vertex that it leads to; the output adds this projection to the
    concatenation. Other sources are at most one channel too wide, and that channel is cut off.
    """

    def __init__(self, cell: Cell101, inputs: int, outputs: int) -> None:
        super().__init__()
        self.sources = cell.sources
        self.widths = cell.widths(inputs, outputs)
        self.projections = nn.ModuleDict(
            {
                str(vertex): ConvBNReLU(inputs, self.widths[vertex], 1)
                for vertex, sources in enumerate(cell.sources, start=1)
                if 0 in sources
            }
        )
        self.vertices = nn.ModuleList(map(make_operation, cell.operations, self.widths[1:]))

    def forward(self, x: Tensor) -> Tensor:
        values = [x]
        for vertex, operation in enumerate(self.vertices, start=1):
            inner = [values[source][:, : self.widths[vertex]] for source in self.sources[vertex - 1] if source]
            values.append(operation(self._with_input(vertex, x, inner)))
        last = len(self.sources)
        inner = [values[source] for source in self.sources[-1] if source]
        return self._with_input(last, x, [torch.cat(inner, 1)] if inner else [])

    def _with_input(self, vertex: int, x: Tensor, terms: list[Tensor]) -> Tensor:
        if 0 in self.sources[vertex - 1]:
            terms = [self.projections[str(vertex)](x), *terms]
        total = terms[0]
        for term in terms[1:]:
            total = total + term
        return total


class Network101(nn.Module):
    """A stem, stacks of cells with max-pooling between them, global pooling and a classifier."""

    def __init__(self, cell: Cell101, skeleton: Skeleton101) -> None:
        super().__init__()
        self.stem = ConvBNReLU(skeleton.input_shape[0], skeleton.channels, 3)
        body: list[nn.Module] = []
        outputs = 0
        for number, (inputs, outputs, _, _) in enumerate(skeleton.stages()):
            if number and number % skeleton.cells == 0:
                body.append(nn.MaxPool2d(2))
            body.append(Cell(cell, inputs, outputs))
        self.body = nn.Sequential(*body)
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.classifier = Linear(outputs, skeleton.classes)

    def feature_blocks(self) -> list[nn.Module]:
        """Return the stem and the cells, for proxies that compare features between blocks."""
        return [self.stem, *(module for module in self.body if isinstance(module, Cell))]

    def forward(self, x: Tensor) -> Tensor:
        features = self.pool(self.body(self.stem(x)))
        logits: Tensor = self.classifier(features.flatten(1))
        return logits


def make_operation(name: str, width: int) -> nn.Module:
    if name in KERNELS:
        return ConvBNReLU(width, width, KERNELS[name])
    return nn.MaxPool2d(3, stride=1, padding=1)
