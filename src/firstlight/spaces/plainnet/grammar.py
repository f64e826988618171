"""Structures of PlainNet: a sequence of blocks, `Kind(inputs,outputs,stride[,bottleneck],sublayers)`."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Literal

from firstlight.spaces.base import Architecture
from firstlight.spaces.reading import Reader

IMAGE_CHANNELS = 3
CHANNEL_STEP = 8  # all widths are multiples of it
MOST_CHANNELS = 8192
MOST_SUBLAYERS = 5  # a residual block with more is two blocks
MOST_LAYERS = 64

Family = Literal["convolution", "basic", "bottleneck", "inverted"]


@dataclass(frozen=True)
class Kind:
    """A kind of block; `expansion` is the ratio of inner to output channels of an inverted unit."""

    family: Family
    kernel: int
    expansion: int = 1


CONVOLUTIONS = {f"SuperConvK{k}BNRELU": Kind("convolution", k) for k in (1, 3, 5, 7)}
BOTTLENECKS = {f"SuperResK1K{k}K1": Kind("bottleneck", k) for k in (3, 5, 7)}
BASICS = {f"SuperResK{k}K{k}": Kind("basic", k) for k in (3, 5, 7)}
INVERTED = {f"SuperResIDWE{e}K{k}": Kind("inverted", k, e) for k in (3, 5, 7) for e in (1, 2, 4, 6)}
KINDS = CONVOLUTIONS | BOTTLENECKS | BASICS | INVERTED


@dataclass(frozen=True)
class Block:
    """`sublayers` repetitions of a kind. Only the first has the stride. Convolutions have bottleneck 0."""

    kind: str
    inputs: int
    outputs: int
    stride: int
    bottleneck: int
    sublayers: int

    @property
    def is_residual(self) -> bool:
        return self.kind not in CONVOLUTIONS

    def __str__(self) -> str:
        bottleneck = f"{self.bottleneck}," if self.is_residual else ""
        return f"{self.kind}({self.inputs},{self.outputs},{self.stride},{bottleneck}{self.sublayers})"


@dataclass(frozen=True)
class Structure(Architecture):
    """A sequence of blocks. Each has as many input channels as the one before has output channels."""

    blocks: tuple[Block, ...]

    @property
    def layers(self) -> int:
        """Number of sub-layers of all blocks, stem and last convolution included."""
        return sum(block.sublayers for block in self.blocks)

    def __str__(self) -> str:
        return "".join(map(str, self.blocks))


def read_structure(text: str, kinds: Collection[str]) -> Structure:
    """Read a structure of blocks of these kinds."""
    reader = Reader(text)
    blocks: list[Block] = []
    channels, layers = IMAGE_CHANNELS, 0
    while not blocks or not reader.at_end:
        block = _read_block(reader, kinds, channels, MOST_LAYERS - layers)
        blocks.append(block)
        channels, layers = block.outputs, layers + block.sublayers
    if not any(block.is_residual for block in blocks):
        reader.fail("a residual block (SuperRes...), of which there must be one")
    return Structure(tuple(blocks))


def _read_block(reader: Reader, kinds: Collection[str], inputs: int, layers_left: int) -> Block:
    if not layers_left:
        reader.fail(f"the end of the text (there are {MOST_LAYERS} layers)")
    kind = reader.one_of(kinds, f"a block, one of {', '.join(kinds)}")
    reader.skip("(")
    _read_number(reader, lambda n: n == inputs, f"{inputs}, the number of channels that arrive here", ",")
    width = f"a multiple of {CHANNEL_STEP} up to {MOST_CHANNELS}"
    outputs = _read_number(reader, _is_width, f"the output channels, {width}", ",")
    stride = _read_number(reader, lambda n: n in (1, 2), "the stride, 1 or 2", ",")
    bottleneck = 0
    if kind not in CONVOLUTIONS:
        bottleneck = _read_number(reader, _is_width, f"the bottleneck channels, {width}", ",")
    most = min(MOST_SUBLAYERS, layers_left)
    sublayers = _read_number(reader, lambda n: n <= most, f"the number of sub-layers, 1 to {most}", ")")
    return Block(kind, inputs, outputs, stride, bottleneck, sublayers)


def _read_number(reader: Reader, allowed: Callable[[int], bool], expected: str, end: str) -> int:
    """Read a positive number in the digits 0 to 9, and the character after it."""
    match = re.compile("[1-9][0-9]{0,4}(?![0-9])").match(reader.text, reader.position)
    if not match or not allowed(int(match[0])):
        reader.fail(expected)
    reader.skip(match[0])
    reader.skip(end)
    return int(match[0])


def _is_width(number: int) -> bool:
    return number % CHANNEL_STEP == 0 and number <= MOST_CHANNELS
