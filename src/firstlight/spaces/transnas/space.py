"""TransNAS-Bench-101: 4,096 cells, and 3,256 macro structures of residual blocks (Duan et al., CVPR 2021)."""

from __future__ import annotations

import functools
import itertools
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from torch import nn

from firstlight.core.errors import SettingError
from firstlight.probe.cost import Cost
from firstlight.spaces.base import Architecture, Drawing, Skeleton, Space
from firstlight.spaces.cells import EDGES, FourNodeCell
from firstlight.spaces.ops import FactorizedReduce, ReLUConvBN
from firstlight.spaces.reading import Reader
from firstlight.spaces.transnas.network import (
    DOUBLING,
    HALVING,
    MODULES,
    ResidualBlock,
    TransNASNetwork,
    TransNASSkeleton,
    TransNASTally,
    steps,
)

# ---------------------------------------- cells

NONE, SKIP = 0, 1
KERNELS = {2: 1, 3: 3}
NAMES = ("none", "skip_connect", "nor_conv_1x1", "nor_conv_3x3")


@dataclass(frozen=True)
class MicroCell(Architecture):
    """The index of an operation in `NAMES` for each of the six edges, in the order of `EDGES`."""

    operations: tuple[int, ...]

    def __str__(self) -> str:
        a, b, c, d, e, f = self.operations
        return f"64-41414-{a}_{b}{c}_{d}{e}{f}"


@dataclass(frozen=True)
class MicroSkeleton(TransNASSkeleton):
    """`modules` of the network: 1 keeps the shape, 2 doubles the channels, 3 halves the size, 4 does both."""

    modules: tuple[int, ...] = (4, 1, 4, 1, 4)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.modules or not set(self.modules) <= set(MODULES):
            raise SettingError(f"modules is {self.modules}; there must be at least one, numbered 1 to 4.")


class TransNASMicro(Space[MicroCell]):
    """Cells of four nodes; every edge has one of four operations.

    The text always names the 64 channels and the modules 41414 of the benchmark. The channels and modules of a network
    are those of the skeleton.
    """

    name = "transnas-micro"
    evidence = (
        "0.704 [0.564, 0.803] on 333 networks, scenes; params 0.643 [0.567, 0.700]; 0.497 [0.264, 0.653] on objects "
        "and 0.506 [0.264, 0.677] on jigsaws, by params 0.412 [0.273, 0.510] and 0.426 [0.303, 0.521] (dextr-table1)"
    )
    summary = "cells of four nodes, four operations on six edges: 4,096 architectures, trained on seven tasks"
    reference = "Duan2021transnas"
    channels_last = True
    benchmark = "TransNAS-Bench-101: all trained on seven vision tasks"
    used_by = ("Asthana2025dextr",)
    skeleton_type = MicroSkeleton
    proxy = "independence"  # which is Dextr here: the output does not move, whatever the image

    def __len__(self) -> int:
        return 4_096  # four operations on six edges

    def __iter__(self) -> Iterator[MicroCell]:
        return map(MicroCell, itertools.product(range(len(NAMES)), repeat=len(EDGES)))

    def sample(self, rng: random.Random) -> MicroCell:
        return MicroCell(tuple(rng.randrange(len(NAMES)) for _ in EDGES))

    def mutate(self, architecture: MicroCell, rng: random.Random) -> MicroCell:
        edge = rng.randrange(len(EDGES))
        operations = list(architecture.operations)
        operations[edge] = rng.choice([number for number in range(len(NAMES)) if number != operations[edge]])
        return MicroCell(tuple(operations))

    def parse(self, text: str) -> MicroCell:
        reader = Reader(text)
        reader.skip("64-41414-")
        operations = []
        for target, source in EDGES:
            if target > 1 and source == 0:
                reader.skip("_")
            operations.append(int(reader.one_of("0123", "an operation of 0, 1, 2, 3")))
        reader.end()
        return MicroCell(tuple(operations))

    def canonical(self, architecture: MicroCell) -> MicroCell:
        """Remove the edges that are on no path from the input to the output.

        Cells that differ in the numbering of their nodes are different: where the shape changes, a skip from the input
        is a layer with weights.
        """
        given = [edge for edge, number in zip(EDGES, architecture.operations, strict=True) if number != NONE]
        fed, read = {0}, {3}
        for node in range(4):
            fed |= {target for target, source in given if source == node and node in fed}
            read |= {source for target, source in given if target == 3 - node and 3 - node in read}
        return MicroCell(
            tuple(
                number if source in fed and target in read else NONE
                for (target, source), number in zip(EDGES, architecture.operations, strict=True)
            )
        )

    def choices(self) -> tuple[tuple[str, ...], ...]:
        return (NAMES,) * len(EDGES)

    def from_choices(self, indices: Sequence[int]) -> MicroCell:
        return MicroCell(tuple(indices))

    def to_choices(self, architecture: MicroCell) -> tuple[int, ...]:
        return architecture.operations

    def network(self, architecture: MicroCell, skeleton: MicroSkeleton) -> nn.Module:
        shapes = list(steps(skeleton.modules, skeleton.channels))
        cells = (_cell_network(architecture, *shape) for shape in shapes)
        return TransNASNetwork(cells, shapes[-1][1], skeleton)

    def cost(self, architecture: MicroCell, skeleton: Skeleton | None = None) -> Cost:
        """Return the cost in closed form, equal to counting a network on the meta device."""
        skeleton = skeleton or self.skeleton()
        assert isinstance(skeleton, MicroSkeleton)
        tally = TransNASTally(skeleton)
        width = skeleton.channels
        for inputs, width, stride in steps(skeleton.modules, skeleton.channels):
            tally.shrink(stride)
            for (_, source), number in zip(EDGES, architecture.operations, strict=True):
                before = inputs if source == 0 else width
                if number in KERNELS:
                    tally.conv(before, width, KERNELS[number] ** 2, tally.size)
                elif number == SKIP and source == 0 and (before != width or stride > 1):
                    tally.conv(before, width, 1, tally.size)
        tally.classifier(width)
        return tally.cost()

    def drawing(self, architecture: MicroCell, skeleton: Skeleton | None = None) -> Drawing:
        edges = [
            (source, target, NAMES[number])
            for (target, source), number in zip(EDGES, architecture.operations, strict=True)
            if number != NONE
        ]
        return Drawing(("input", "1", "2", "output"), tuple(edges))


def _cell_network(architecture: MicroCell, inputs: int, outputs: int, stride: int) -> FourNodeCell:
    """Build a cell. If the shape changes, edges from the input change it."""
    edges = {
        (target, source): _operation(number, inputs, outputs, stride)
        if source == 0
        else _operation(number, outputs, outputs, 1)
        for (target, source), number in zip(EDGES, architecture.operations, strict=True)
        if number != NONE
    }
    return FourNodeCell(edges, stride, outputs if inputs != outputs else None)


def _operation(number: int, inputs: int, outputs: int, stride: int) -> nn.Module:
    if number in KERNELS:
        return ReLUConvBN(inputs, outputs, KERNELS[number], stride)
    return nn.Identity() if inputs == outputs and stride == 1 else FactorizedReduce(inputs, outputs, stride)


# ---------------------------------------- skeletons


@dataclass(frozen=True)
class MacroModules(Architecture):
    """Four to six modules of residual blocks, by their numbers."""

    modules: tuple[int, ...]

    def __str__(self) -> str:
        return f"64-{''.join(map(str, self.modules))}-basic"

    @property
    def belongs(self) -> bool:
        """True if the image is halved one to four times and the channels are doubled one to three times."""
        halvings, doublings = (sum(module in kind for module in self.modules) for kind in (HALVING, DOUBLING))
        return 4 <= len(self.modules) <= 6 and 1 <= halvings <= 4 and 1 <= doublings <= 3


class TransNASMacro(Space[MacroModules]):
    """The number of modules, and which of them halve the image or double the channels."""

    name = "transnas-macro"
    evidence = "that of transnas-micro; its own networks were not measured"
    summary = "four to six modules that may double the channels or halve the image: 3,256 architectures, seven tasks"
    reference = "Duan2021transnas"
    channels_last = True
    benchmark = "TransNAS-Bench-101: all trained on seven vision tasks"
    skeleton_type = TransNASSkeleton
    proxy = "independence"  # which is Dextr here: the output does not move, whatever the image

    def __len__(self) -> int:
        return len(_all_macro())

    def __iter__(self) -> Iterator[MacroModules]:
        return iter(_all_macro())

    def sample(self, rng: random.Random) -> MacroModules:
        return rng.choice(_all_macro())

    def mutate(self, architecture: MacroModules, rng: random.Random) -> MacroModules:
        """Replace, add or remove one module."""
        modules = architecture.modules
        places = range(len(modules))
        neighbors = {modules[:place] + modules[place + 1 :] for place in places}
        neighbors |= {(*modules[:p], new, *modules[p + 1 :]) for p in places for new in MODULES}
        neighbors |= {(*modules[:p], new, *modules[p:]) for p in range(len(modules) + 1) for new in MODULES}
        candidates = map(MacroModules, sorted(neighbors - {modules}))
        return rng.choice([candidate for candidate in candidates if candidate.belongs])

    def parse(self, text: str) -> MacroModules:
        reader = Reader(text)
        reader.skip("64-")
        modules: list[int] = []
        while len(modules) < 4 or (len(modules) < 6 and not reader.at("-")):
            modules.append(int(reader.one_of("1234", "a module of 1, 2, 3, 4")))
        architecture = MacroModules(tuple(modules))
        if not architecture.belongs:
            reader.fail("modules that halve (3, 4) one to four times and double (2, 4) one to three times", len("64-"))
        reader.skip("-basic")
        reader.end()
        return architecture

    def canonical(self, architecture: MacroModules) -> MacroModules:
        return architecture  # no two compute the same function

    def network(self, architecture: MacroModules, skeleton: TransNASSkeleton) -> nn.Module:
        shapes = list(steps(architecture.modules, skeleton.channels))
        return TransNASNetwork((ResidualBlock(*shape) for shape in shapes), shapes[-1][1], skeleton)

    def cost(self, architecture: MacroModules, skeleton: Skeleton | None = None) -> Cost:
        """Return the cost in closed form, equal to counting a network on the meta device."""
        skeleton = skeleton or self.skeleton()
        assert isinstance(skeleton, TransNASSkeleton)
        tally = TransNASTally(skeleton)
        width = skeleton.channels
        for inputs, width, stride in steps(architecture.modules, skeleton.channels):
            tally.shrink(stride)
            tally.conv(inputs, width, 9, tally.size)
            tally.conv(width, width, 9, tally.size)
            if inputs != width or stride > 1:
                tally.conv(inputs, width, 1, tally.size)
        tally.classifier(width)
        return tally.cost()

    def drawing(self, architecture: MacroModules, skeleton: Skeleton | None = None) -> Drawing:
        """Draw the modules in a chain, with the fraction of the image's sides and the channels after each."""
        names, sides, channels = ["input"], 4, 1
        for module in (1, *architecture.modules):
            sides *= 2 if module in HALVING else 1
            channels *= 2 if module in DOUBLING else 1
            names.append(f"1/{sides}, {channels}x")
        labels = ("stem", *(f"module {module}" for module in architecture.modules))
        return Drawing(tuple(names), tuple((place, place + 1, label) for place, label in enumerate(labels)), "chain")


@functools.cache
def _all_macro() -> tuple[MacroModules, ...]:
    codes = (MacroModules(code) for depth in (4, 5, 6) for code in itertools.product(MODULES, repeat=depth))
    return tuple(code for code in codes if code.belongs)
