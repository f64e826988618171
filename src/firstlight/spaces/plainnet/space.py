"""PlainNet spaces: structures that grow by mutation (Lin et al., ICCV 2021; also used by ZiCo and AZ-NAS)."""

from __future__ import annotations

import random
from abc import abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from torch import nn

from firstlight.core.errors import SettingError
from firstlight.probe.cost import Cost
from firstlight.spaces.base import Drawing, Skeleton, Space
from firstlight.spaces.plainnet.grammar import (
    BASICS,
    BOTTLENECKS,
    CHANNEL_STEP,
    CONVOLUTIONS,
    IMAGE_CHANNELS,
    INVERTED,
    MOST_CHANNELS,
    MOST_LAYERS,
    MOST_SUBLAYERS,
    Block,
    Structure,
    read_structure,
)
from firstlight.spaces.plainnet.network import (
    ImageNetSkeleton,
    PlainNetSkeleton,
    PlainNetwork,
    PublishedCost,
    exact_cost,
    published_cost,
)

SCALES = (2.5, 2, 1.5, 1.25, 1, 1 / 1.25, 1 / 1.5, 1 / 2, 1 / 2.5)
# Largest number of mutations between the initial structure and a sample
LONGEST_WALK = 12


@dataclass(frozen=True)
class Replacements:
    """What may replace a block: any kind, drawn by its weight, with any of the numbers."""

    kinds: Mapping[str, int]
    outputs: tuple[int, ...]
    bottlenecks: tuple[int, ...]
    sublayers: tuple[int, ...]


class PlainNetSpace(Space[Structure]):
    """All structures of some kinds of blocks, reached from an initial one by replacing one block after another."""

    reference = "Lin2021zennas"
    channels_last = True
    skeleton_type: type[PlainNetSkeleton] = PlainNetSkeleton
    residual_kinds: ClassVar[Mapping[str, int]]  # with the number of times each is in the papers' list of replacements
    widest: int = MOST_CHANNELS
    customary_layers: int  # the papers' limit on layers

    @abstractmethod
    def is_fixed(self, block: Block) -> bool:
        """Return whether mutations leave this block unchanged."""

    def sample(self, rng: random.Random) -> Structure:
        """Return the initial structure after 1 to 12 mutations, within the papers' limit on layers.

        The papers do not draw random structures: their evolution starts from mutations of the initial one.
        """
        structure = self.parse(self.initial)
        for _ in range(rng.randint(1, LONGEST_WALK)):
            child = self.mutate(structure, rng)
            structure = child if self.customary(child) else structure
        return structure

    def mutate(
        self, architecture: Structure, rng: random.Random, *, replacements: int = 1, uniform_types: bool = False
    ) -> Structure:
        """Redraw the kind, the widths and the depth of one block.

        Args:
            architecture: The parent.
            rng: The only source of randomness.
            replacements: Number of draws of a block to replace; a block that is drawn twice is replaced once.
            uniform_types: Make all kinds equally likely. The papers favor small kernels and small expansions.

        Raises:
            SettingError: If `replacements` is below 1.
        """
        if replacements < 1:
            raise SettingError(f"replacements is {replacements}; it must be at least 1.")
        while True:
            blocks = list(architecture.blocks)
            for number in dict.fromkeys(rng.randrange(len(blocks)) for _ in range(replacements)):
                blocks[number] = self._drawn(blocks[number], rng, uniform_types)
            child = split(linked(blocks))
            if child != architecture and child.layers <= MOST_LAYERS:
                return child

    def mutate_often(self, architecture: Structure, rng: random.Random, times: int) -> Structure:
        """Replace `times` blocks of the structure, as the papers do; a block may be drawn twice."""
        return self.mutate(architecture, rng, replacements=times)

    def customary(self, architecture: Structure) -> bool:
        return architecture.layers <= self.customary_layers

    def replacements(self, block: Block) -> Replacements:
        """Return what a mutation may replace the block by, itself included."""
        if self.is_fixed(block):
            return Replacements({block.kind: 1}, (block.outputs,), (0,), (block.sublayers,))
        outputs = self._scaled(block.outputs)
        if not block.is_residual:
            return Replacements({block.kind: 1}, outputs, (0,), (1,))
        depths = tuple(depth for depth in range(block.sublayers - 2, block.sublayers + 3) if depth > 0)
        return Replacements(self.residual_kinds, outputs, self._scaled(block.bottleneck), depths)

    def _scaled(self, channels: int) -> tuple[int, ...]:
        wanted = (min(max(scale * channels, CHANNEL_STEP), self.widest) for scale in SCALES)
        return tuple(sorted({CHANNEL_STEP * round(width / CHANNEL_STEP) for width in wanted}))

    def _drawn(self, block: Block, rng: random.Random, uniform_types: bool) -> Block:
        options = self.replacements(block)
        weights = None if uniform_types else list(options.kinds.values())
        (kind,) = rng.choices(list(options.kinds), weights)
        outputs, bottleneck = rng.choice(options.outputs), rng.choice(options.bottlenecks)
        return Block(kind, block.inputs, outputs, block.stride, bottleneck, rng.choice(options.sublayers))

    def parse(self, text: str) -> Structure:
        return read_structure(text, [*CONVOLUTIONS, *self.residual_kinds])

    def canonical(self, architecture: Structure) -> Structure:
        """Write repeated convolutions one by one. Residual blocks stay: to split one changes its function."""
        blocks: list[Block] = []
        for block in architecture.blocks:
            times = 1 if block.is_residual else block.sublayers
            first = replace(block, sublayers=block.sublayers // times)
            blocks += [first, *[replace(first, inputs=block.outputs, stride=1)] * (times - 1)]
        return Structure(tuple(blocks))

    def network(self, architecture: Structure, skeleton: PlainNetSkeleton) -> nn.Module:
        return PlainNetwork(architecture, skeleton)

    def cost(self, architecture: Structure, skeleton: Skeleton | None = None) -> Cost:
        return exact_cost(architecture, self._known(skeleton))

    def published_cost(self, architecture: Structure, skeleton: Skeleton | None = None) -> PublishedCost:
        """Return parameters and FLOPs as the papers count them. They differ slightly from `cost`."""
        return published_cost(architecture, self._known(skeleton))

    def _known(self, skeleton: Skeleton | None) -> PlainNetSkeleton:
        known = skeleton or self.skeleton()
        assert isinstance(known, PlainNetSkeleton)
        return known

    def drawing(self, architecture: Structure, skeleton: Skeleton | None = None) -> Drawing:
        """Draw a chain. Nodes show the number of channels; `/2` marks a stride, `x3` three sub-layers."""
        nodes = ("input", *(str(block.outputs) for block in architecture.blocks))
        labels = (
            f"{block.kind}{' /2' * (block.stride == 2)}{f' x{block.sublayers}' * (block.sublayers > 1)}"
            for block in architecture.blocks
        )
        return Drawing(nodes, tuple((number, number + 1, label) for number, label in enumerate(labels)), "chain")


def linked(blocks: Iterable[Block]) -> Structure:
    """Set the input channels of each block to the output channels of the one before."""
    chain: list[Block] = []
    for block in blocks:
        chain.append(replace(block, inputs=chain[-1].outputs if chain else IMAGE_CHANNELS))
    return Structure(tuple(chain))


def split(structure: Structure) -> Structure:
    """Split residual blocks of six or more sub-layers in two: the first three, and the others.

    The second begins with a projection, which the single block does not have there.
    """
    blocks: list[Block] = []
    for block in structure.blocks:
        if block.is_residual and block.sublayers > MOST_SUBLAYERS:
            rest = replace(block, inputs=block.outputs, stride=1, sublayers=block.sublayers - 3)
            blocks += [replace(block, sublayers=3), rest]
        else:
            blocks.append(block)
    return Structure(tuple(blocks))


class MobileNetV2(PlainNetSpace):
    """Inverted residual blocks with four expansion ratios and three kernel sizes; the last 1x1 convolution is fixed."""

    name = "mobilenetv2"
    evidence = (
        "no rank correlation, for want of a table; published (Dextr, Table 8) is the ImageNet accuracy of the network "
        "found: 78.8%, by params 63.5%"
    )
    summary = "chains of inverted residual blocks for ImageNet: block types, widths and depths change by mutation"
    used_by = ("Asthana2025dextr", "Lee2024aznas", "Li2023zico")
    skeleton_type = ImageNetSkeleton
    initial = (
        "SuperConvK3BNRELU(3,8,2,1)SuperResIDWE6K3(8,32,2,8,1)SuperResIDWE6K3(32,48,2,32,1)"
        "SuperResIDWE6K3(48,96,2,48,1)SuperResIDWE6K3(96,128,2,96,1)SuperConvK1BNRELU(128,2048,1,1)"
    )
    residual_kinds: ClassVar[Mapping[str, int]] = dict(
        zip(INVERTED, (12, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2), strict=True)
    )
    customary_layers = 14

    def is_fixed(self, block: Block) -> bool:
        return block.kind == "SuperConvK1BNRELU"


class PlainNetResNet(PlainNetSpace):
    """Residual blocks of two convolutions or a bottleneck, with three kernel sizes, for CIFAR."""

    name = "plainnet-resnet"
    evidence = "none: there is no table of its networks, and widths vary, so compare it with params"
    used_by = ("Li2023zico", "Zheng2023sigeo")
    summary = "chains of residual and bottleneck blocks for CIFAR: block types, widths and depths change by mutation"
    initial = (
        "SuperConvK3BNRELU(3,8,1,1)SuperResK3K3(8,16,1,8,1)SuperResK3K3(16,32,2,16,1)"
        "SuperResK3K3(32,64,2,32,1)SuperResK3K3(64,64,2,32,1)SuperConvK1BNRELU(64,128,1,1)"
    )
    residual_kinds: ClassVar[Mapping[str, int]] = dict(zip((*BOTTLENECKS, *BASICS), (3, 3, 2, 3, 3, 2), strict=True))
    widest = 2048
    customary_layers = 18

    def is_fixed(self, block: Block) -> bool:
        return False
