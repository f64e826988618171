"""Structure strings of PlainNet: blocks one behind the other, `Kind(inputs,outputs,stride[,bottleneck],sublayers)`."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Literal

from firstlight.errors import ParseError
from firstlight.spaces.base import Architecture

IMAGE_CHANNELS = 3
CHANNEL_STEP = 8  # all widths are multiples of it
MOST_CHANNELS = 8192
MOST_SUBLAYERS = 5  # a residual block with more is two blocks
MOST_LAYERS = 64

Family = Literal["convolution", "basic", "bottleneck", "inverted"]


@dataclass(frozen=True)
class Kind:
    """What a block is made of; `expansion` is how much wider an inverted unit is inside than at its output."""

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
    """`sublayers` repetitions of a kind; only the first has the stride. Convolutions have no bottleneck (0)."""

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
    """Blocks one behind the other, each as wide at its input as the one before at its output."""

    blocks: tuple[Block, ...]

    @property
    def layers(self) -> int:
        """The sub-layers of all blocks, stem and last convolution included."""
        return sum(block.sublayers for block in self.blocks)

    def __str__(self) -> str:
        return "".join(map(str, self.blocks))


def read_structure(text: str, kinds: Collection[str]) -> Structure:
    """The structure that `text` stands for, of blocks of these kinds."""
    reader = _Reader(text.strip())
    blocks: list[Block] = []
    channels, layers = IMAGE_CHANNELS, 0
    while not blocks or reader.position < len(reader.text):
        block = reader.block(kinds, channels, MOST_LAYERS - layers)
        blocks.append(block)
        channels, layers = block.outputs, layers + block.sublayers
    if not any(block.is_residual for block in blocks):
        raise ParseError(reader.text, reader.position, "a residual block (SuperRes...), of which there must be one")
    return Structure(tuple(blocks))


class _Reader:
    """Reads from left to right, and knows where it is when something else is there than expected."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0

    def block(self, kinds: Collection[str], inputs: int, layers_left: int) -> Block:
        if not layers_left:
            raise ParseError(self.text, self.position, f"the end of the text (there are {MOST_LAYERS} layers)")
        kind = next((kind for kind in kinds if self.text.startswith(f"{kind}(", self.position)), None)
        if kind is None:
            raise ParseError(self.text, self.position, f"a block, one of {', '.join(kinds)}, and '('")
        self._skip(f"{kind}(")
        self.number(lambda n: n == inputs, f"{inputs}, the number of channels that arrive here", ",")
        width = f"a multiple of {CHANNEL_STEP} up to {MOST_CHANNELS}"
        outputs = self.number(_is_width, f"the output channels, {width}", ",")
        stride = self.number(lambda n: n in (1, 2), "the stride, 1 or 2", ",")
        bottleneck = 0
        if kind not in CONVOLUTIONS:
            bottleneck = self.number(_is_width, f"the bottleneck channels, {width}", ",")
        most = min(MOST_SUBLAYERS, layers_left)
        sublayers = self.number(lambda n: n <= most, f"the number of sub-layers, 1 to {most}", ")")
        return Block(kind, inputs, outputs, stride, bottleneck, sublayers)

    def number(self, allowed: Callable[[int], bool], expected: str, end: str) -> int:
        """A positive number and the sign behind it. Other digits than 0 to 9 are no digits here."""
        match = re.compile("[1-9][0-9]{0,4}(?![0-9])").match(self.text, self.position)
        if not match or not allowed(int(match[0])):
            raise ParseError(self.text, self.position, expected)
        self._skip(match[0])
        if not self.text.startswith(end, self.position):
            raise ParseError(self.text, self.position, repr(end))
        self._skip(end)
        return int(match[0])

    def _skip(self, known: str) -> None:
        self.position += len(known)


def _is_width(number: int) -> bool:
    return number % CHANNEL_STEP == 0 and number <= MOST_CHANNELS
