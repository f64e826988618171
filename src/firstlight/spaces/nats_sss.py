"""The size space of NATS-Bench: one cell, 32,768 combinations of channels (Dong et al., TPAMI 2021)."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from torch import nn

from firstlight.probe.cost import Cost
from firstlight.spaces.base import Architecture, Drawing, Skeleton, Space
from firstlight.spaces.cells import StagedNetwork, StagesSkeleton
from firstlight.spaces.nasbench201.cell import Cell201
from firstlight.spaces.nasbench201.network import StageTally, cell_network
from firstlight.spaces.ops import ResidualReduction
from firstlight.spaces.reading import Reader

WIDTHS = range(8, 65, 8)
POSITIONS = ("cell", "reduction", "cell", "reduction", "cell")
# |nor_conv_3x3~0|+|nor_conv_3x3~0|nor_conv_3x3~1|+|skip_connect~0|nor_conv_3x3~1|nor_conv_3x3~2|
CELL = Cell201(("nor_conv_3x3", "nor_conv_3x3", "nor_conv_3x3", "skip_connect", "nor_conv_3x3", "nor_conv_3x3"))


@dataclass(frozen=True)
class Sizes(Architecture):
    """The output channels of each of the five `POSITIONS`; the stem has those of the first."""

    channels: tuple[int, ...]

    def __str__(self) -> str:
        return ":".join(map(str, self.channels))

    def steps(self) -> list[tuple[str, int, int]]:
        """Return each position with its input and output channels."""
        return list(zip(POSITIONS, (self.channels[0], *self.channels), self.channels, strict=False))


@dataclass(frozen=True)
class SizesSkeleton(StagesSkeleton):
    """`cells` cells in each of three stages; the first cell changes the number of channels."""

    cells: int = 1


class NATSSizes(Space[Sizes]):
    """Five widths from 8 to 64 in steps of 8."""

    name = "nats-sss"
    summary = "the widths of a network with one fixed cell: 8 to 64 channels at five positions, 32,768 architectures"
    reference = "Dong2021nats"
    channels_last = True
    benchmark = "NATS-Bench (size): all trained on CIFAR-10, CIFAR-100 and ImageNet16-120"
    used_by = ("Asthana2025dextr",)
    evidence = "published (Dextr, Table 6): 0.73 on CIFAR-10; params 0.72"
    proxy = "zico"  # Dextr ranks these networks upside down, because it takes width for redundancy
    skeleton_type = SizesSkeleton

    def __len__(self) -> int:
        return 32_768  # eight widths at five positions

    def __iter__(self) -> Iterator[Sizes]:
        return map(Sizes, itertools.product(WIDTHS, repeat=len(POSITIONS)))

    def sample(self, rng: random.Random) -> Sizes:
        return Sizes(tuple(rng.choice(WIDTHS) for _ in POSITIONS))

    def mutate(self, architecture: Sizes, rng: random.Random) -> Sizes:
        place = rng.randrange(len(POSITIONS))
        channels = list(architecture.channels)
        channels[place] = rng.choice([width for width in WIDTHS if width != channels[place]])
        return Sizes(tuple(channels))

    def parse(self, text: str) -> Sizes:
        reader = Reader(text)
        channels = []
        for place in range(len(POSITIONS)):
            if place:
                reader.skip(":")
            channels.append(reader.number(WIDTHS, "a number of channels"))
        reader.end()
        return Sizes(tuple(channels))

    def canonical(self, architecture: Sizes) -> Sizes:
        return architecture  # no two compute the same function

    def choices(self) -> tuple[tuple[str, ...], ...]:
        return (tuple(map(str, WIDTHS)),) * len(POSITIONS)

    def from_choices(self, indices: Sequence[int]) -> Sizes:
        return Sizes(tuple(WIDTHS[index] for index in indices))

    def to_choices(self, architecture: Sizes) -> tuple[int, ...]:
        return tuple(map(WIDTHS.index, architecture.channels))

    def network(self, architecture: Sizes, skeleton: SizesSkeleton) -> nn.Module:
        body: list[nn.Module] = []
        for kind, before, behind in architecture.steps():
            if kind == "reduction":
                body.append(ResidualReduction(before, behind))
            else:
                body.append(cell_network(CELL, before, behind))
                body += [cell_network(CELL, behind, behind) for _ in range(skeleton.cells - 1)]
        return StagedNetwork(body, architecture.channels[0], architecture.channels[-1], skeleton)

    def cost(self, architecture: Sizes, skeleton: Skeleton | None = None) -> Cost:
        """Return the cost in closed form, equal to counting a network on the meta device."""
        skeleton = skeleton or self.skeleton()
        assert isinstance(skeleton, SizesSkeleton)
        tally = StageTally(skeleton)
        tally.stem(architecture.channels[0])
        for kind, before, behind in architecture.steps():
            if kind == "reduction":
                tally.reduction(before, behind)
            else:
                tally.cell(CELL, before, behind)
                for _ in range(skeleton.cells - 1):
                    tally.cell(CELL, behind, behind)
        tally.head(architecture.channels[-1])
        return tally.cost()

    def drawing(self, architecture: Sizes, skeleton: Skeleton | None = None) -> Drawing:
        nodes = ("input", *map(str, (architecture.channels[0], *architecture.channels)), "output")
        steps = ("stem", *POSITIONS, "pool, linear")
        return Drawing(nodes, tuple((place, place + 1, step) for place, step in enumerate(steps)), "chain")
