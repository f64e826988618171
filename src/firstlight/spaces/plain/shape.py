"""Shapes of plain networks, and their text: a stem and stages, separated by slashes.

    16k3s1/3x16k3s1/3x32k3s2/3x64k3s2se

The stem has 16 channels, kernel 3 and stride 1. The last stage has three blocks of 64 channels with kernel 3, its first
block has stride 2, and all of them have squeeze-and-excitation. Where blocks have an expansion, it follows the stride,
as in `2x24k3s2e6`. Transformers have heads in place of kernels, as in `12x192h3s1e4`. Mobile networks end with a 1x1
convolution, as in `/c1280`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

from firstlight.spaces.base import Architecture
from firstlight.spaces.reading import Reader

WIDTH_STEP = 4  # all widths are multiples of it
WIDTHS = range(WIDTH_STEP, 2048 + 1, WIDTH_STEP)
STRIDES = range(1, 3)
MOST_STAGES = 8
MOST_BLOCKS = 64  # of all stages together

Kind = Literal["basic", "bottleneck", "inverted", "convnext", "transformer"]


@dataclass(frozen=True)
class Family:
    """What the networks of a space have in common, and the options of each choice.

    Attributes:
        kind: The kind of block.
        stem: The letter of the stem: k (a convolution with this kernel and a stride), p (patches of this side) or g (a
            grid of this many patches in each direction).
        stems: The options of the number after it.
        sizes: The options of the kernel; of the heads in a transformer.
        expansions: The options of the expansion; empty if blocks have none.
        can_gate: Whether blocks may have squeeze-and-excitation.
        has_head: Whether a 1x1 convolution follows the last stage.
    """

    kind: Kind
    stem: Literal["k", "p", "g"]
    stems: tuple[int, ...]
    sizes: tuple[int, ...]
    expansions: tuple[int, ...] = ()
    can_gate: bool = True
    has_head: bool = False

    @property
    def letter(self) -> Literal["k", "h"]:
        return "h" if self.kind == "transformer" else "k"

    def width_step(self, stage: Stage) -> int:
        """Return what the width of the stage must be a multiple of: heads share it equally."""
        return math.lcm(WIDTH_STEP, stage.size) if self.kind == "transformer" else WIDTH_STEP


@dataclass(frozen=True)
class Stem:
    """The first layer: its channels, its kernel, patch or grid, and its stride (1 unless it is a convolution)."""

    width: int
    size: int
    stride: int = 1


@dataclass(frozen=True)
class Stage:
    """`depth` blocks of `width` channels with kernel or heads `size`. Only the first has the stride.

    Without an expansion, it is 1.
    """

    depth: int
    width: int
    size: int
    stride: int
    expansion: int = 1
    gated: bool = False


@dataclass(frozen=True)
class Plain(Architecture):
    """A plain network: a stem, stages, and where the family has it the width of a last convolution, else 0."""

    family: Family
    stem: Stem
    stages: tuple[Stage, ...]
    head: int = 0

    def __str__(self) -> str:
        stem = f"{self.stem.width}{self.family.stem}{self.stem.size}"
        if self.family.stem == "k":
            stem += f"s{self.stem.stride}"
        parts = [stem, *map(self._written, self.stages)]
        return "/".join([*parts, f"c{self.head}"] if self.family.has_head else parts)

    def _written(self, stage: Stage) -> str:
        expansion = f"e{stage.expansion}" if self.family.expansions else ""
        gate = "se" if stage.gated else ""
        return f"{stage.depth}x{stage.width}{self.family.letter}{stage.size}s{stage.stride}{expansion}{gate}"

    @property
    def blocks(self) -> int:
        return sum(stage.depth for stage in self.stages)

    @property
    def valid(self) -> bool:
        """True if the text can be read: numbers within their limits, and heads that share the width equally."""
        return (
            1 <= len(self.stages) <= MOST_STAGES
            and self.blocks <= MOST_BLOCKS
            and {self.stem.width, *(stage.width for stage in self.stages)} <= set(WIDTHS)
            and all(stage.depth > 0 and stage.width % self.family.width_step(stage) == 0 for stage in self.stages)
            and (self.head in WIDTHS or not self.family.has_head)
        )


def widened(shape: Plain, factor: float) -> Plain:
    """Multiply all widths, and round them to what the stage allows."""

    def times(width: int, step: int = WIDTH_STEP) -> int:
        return min(max(round(width * factor / step), 1), WIDTHS[-1] // step) * step

    stages = tuple(replace(stage, width=times(stage.width, shape.family.width_step(stage))) for stage in shape.stages)
    head = times(shape.head) if shape.family.has_head else 0
    return replace(shape, stem=replace(shape.stem, width=times(shape.stem.width)), stages=stages, head=head)


def joined(shape: Plain) -> Plain:
    """Join each stage with the one before if their blocks are alike and no stride lies between them."""
    stages: list[Stage] = []
    for stage in shape.stages:
        if stages and replace(stages[-1], depth=stage.depth, stride=1) == stage:
            stages[-1] = replace(stages[-1], depth=stages[-1].depth + stage.depth)
        else:
            stages.append(stage)
    return replace(shape, stages=tuple(stages))


def read_shape(text: str, family: Family) -> Plain:
    """Read the text of a plain network.

    Raises:
        ParseError: If the text is not that of a network of the family.
    """
    reader = Reader(text)
    stem = _read_stem(reader, family)
    stages: list[Stage] = []
    blocks = 0
    while family.has_head or not stages or not reader.at_end:
        reader.skip("/")
        if stages and family.has_head and reader.at("c"):
            break
        if len(stages) == MOST_STAGES or blocks == MOST_BLOCKS:
            reader.fail(f"at most {MOST_STAGES} stages and {MOST_BLOCKS} blocks")
        stages.append(_read_stage(reader, family, MOST_BLOCKS - blocks))
        blocks += stages[-1].depth
    head = 0
    if family.has_head:
        reader.skip("c")
        head = reader.number(WIDTHS, "the width of the last convolution, one")
    reader.end()
    return Plain(family, stem, tuple(stages), head)


def _read_stem(reader: Reader, family: Family) -> Stem:
    width = reader.number(WIDTHS, "the width of the stem, one")
    reader.skip(family.stem)
    size = reader.number(family.stems, {"k": "a kernel", "p": "a patch", "g": "a grid"}[family.stem])
    if family.stem != "k":
        return Stem(width, size)
    reader.skip("s")
    return Stem(width, size, reader.number(STRIDES, "a stride"))


def _read_stage(reader: Reader, family: Family, blocks_left: int) -> Stage:
    depth = reader.number(range(1, blocks_left + 1), "a number of blocks")
    reader.skip("x")
    start = reader.position
    width = reader.number(WIDTHS, "a width")
    reader.skip(family.letter)
    size = reader.number(family.sizes, "a number of heads" if family.letter == "h" else "a kernel")
    reader.skip("s")
    stride = reader.number(STRIDES, "a stride")
    expansion = 1
    if family.expansions:
        reader.skip("e")
        expansion = reader.number(family.expansions, "an expansion")
    gated = family.can_gate and reader.at("se")
    if gated:
        reader.skip("se")
    stage = Stage(depth, width, size, stride, expansion, gated)
    if width % family.width_step(stage):
        reader.fail(f"a width that is a multiple of {family.width_step(stage)}, because it has {size} heads", start)
    return stage
