"""Cells of four nodes and networks of three stages, for NAS-Bench-201, NATS-Bench and TransNAS-Bench-101."""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from torch import Tensor, nn

from firstlight.core.errors import SettingError
from firstlight.spaces.base import Skeleton
from firstlight.spaces.ops import Conv2d, Linear, zeros

# (target, source) of each edge in the order of the text forms
EDGES = tuple((target, source) for target in range(1, 4) for source in range(target))


class FourNodeCell(nn.Module):
    """A cell in which each node is the sum of its incoming edges, and the last node is the output.

    Args:
        edges: Operations by (target, source). Other edges are zero.
        stride: Stride of the edges from the input.
        channels: Output channels, if the edges from the input change their number.
    """

    def __init__(
        self, edges: Mapping[tuple[int, int], nn.Module], stride: int = 1, channels: int | None = None
    ) -> None:
        super().__init__()
        self.edges = nn.ModuleDict({f"{source}-{target}": operation for (target, source), operation in edges.items()})
        self.inputs = [[source for source in range(target) if (target, source) in edges] for target in range(1, 4)]
        self.unread = _unread_nodes(self.inputs)
        self.stride = stride
        self.channels = channels

    def forward(self, x: Tensor) -> Tensor:
        nodes = [x]
        for target, sources in enumerate(self.inputs, start=1):
            if target in self.unread and type(x) is not Tensor:  # derivatives that would not be used
                sources = []
            terms = [self.edges[f"{source}-{target}"](nodes[source]) for source in sources]
            nodes.append(functools.reduce(operator.add, terms) if terms else zeros(x, self.stride, self.channels))
        return nodes[-1]


def _unread_nodes(inputs: list[list[int]]) -> set[int]:
    """Return the inner nodes without a path to the output, given the sources of nodes 1 to 3."""
    read = {3}
    for target in (3, 2):
        read |= set(inputs[target - 1]) if target in read else set()
    return {1, 2} - read


@dataclass(frozen=True)
class StagesSkeleton(Skeleton):
    """The skeleton of networks with three stages. A reduction between stages halves the image."""

    def __post_init__(self) -> None:
        image = len(self.input_shape) == 3 and all(side > 0 and side % 4 == 0 for side in self.input_shape[1:])
        numbers = (value for value in vars(self).values() if isinstance(value, int))
        if not image or min(self.input_shape[0], *numbers) < 1:
            raise SettingError(
                f"The network cannot be built with {self}. It takes images whose sides are multiples of 4, because its "
                "two reductions halve them, and needs at least one class, channel and cell."
            )


class StagedNetwork(nn.Module):
    """A stem, a sequence of cells and reductions, global pooling and a classifier."""

    def __init__(self, body: Iterable[nn.Module], first: int, last: int, skeleton: Skeleton) -> None:
        super().__init__()
        stem = Conv2d(skeleton.input_shape[0], first, 3, padding=1, bias=False)
        self.stem = nn.Sequential(stem, nn.BatchNorm2d(first))
        self.body = nn.Sequential(*body)
        self.top = nn.Sequential(nn.BatchNorm2d(last), nn.ReLU())
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.classifier = Linear(last, skeleton.classes)

    def feature_blocks(self) -> list[nn.Module]:
        """Return the stem, the cells and the reductions, for proxies that compare features between blocks."""
        return [self.stem, *self.body]

    def forward(self, x: Tensor) -> Tensor:
        features = self.pool(self.top(self.body(self.stem(x))))
        logits: Tensor = self.classifier(features.flatten(1))
        return logits
