"""Blocks of a NASRec network: their choices, their text, and which choices have an effect.

    fc:256~0,2~1+0;linear3d:48~0,1;interaction;fm

is one block: the dense operator, its width, the dense tensors that it reads, left and right (for operators of two
tensors); the sparse operator, its rows, the sparse tensors that it reads; and the flags that are on. Source 0 is the
input of the network, 1 the output of the first block and so on. Blocks are separated by "|".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from firstlight.spaces.base import Architecture
from firstlight.spaces.reading import Reader

FC, DOT, GATING, SUM = "fc", "dot", "gating", "sum"
TRANSFORMER, LINEAR3D = "transformer", "linear3d"
OF_TWO = (GATING, SUM)  # these read left and right, the other dense operators read the dense inputs
WIDTHS = (16, 32, 64, 128, 256, 512, 768, 1024)
ROWS = (16, 32, 48, 64)
EMBEDDING = 16  # the width of rows
EXTRA_ROWS = 8  # that the interaction makes from the dense output and appends to the sparse output
MOST_BLOCKS = 7
MOST_INPUTS = 4  # of a block in a search; the text allows more
INTERACTION, FM = "interaction", "fm"


class BlockOptions(Protocol):
    """What a space lets its blocks choose from."""

    name: str
    blocks: int
    nodes: tuple[str, ...]
    dense_operators: tuple[str, ...]
    sparse_operators: tuple[str, ...]


@dataclass(frozen=True)
class Block:
    """All choices of one block. Sources are in ascending order, in which they are concatenated."""

    dense_operator: str
    width: int
    dense_inputs: tuple[int, ...]
    left: int
    right: int
    sparse_operator: str
    rows: int
    sparse_inputs: tuple[int, ...]
    interaction: bool = False
    fm: bool = False

    def __str__(self) -> str:
        dense, sparse = (",".join(map(str, inputs)) for inputs in (self.dense_inputs, self.sparse_inputs))
        dense = f"{self.dense_operator}:{self.width}~{dense}~{self.left}+{self.right}"
        return ";".join([dense, f"{self.sparse_operator}:{self.rows}~{sparse}", *self.flags])

    @property
    def flags(self) -> list[str]:
        return [name for name, on in ((INTERACTION, self.interaction), (FM, self.fm)) if on]

    @property
    def dense_sources(self) -> set[int]:
        """The dense tensors that the dense operator reads."""
        return {self.left, self.right} if self.dense_operator in OF_TWO else set(self.dense_inputs)

    @property
    def rows_out(self) -> int:
        """Rows of the sparse output, appended ones included."""
        return self.rows + EXTRA_ROWS * self.interaction

    @property
    def appends_itself(self) -> bool:
        """True if the interaction needs no projection: the dense output is as large as the rows to append."""
        return self.width == EXTRA_ROWS * EMBEDDING


@dataclass(frozen=True)
class Recommender(Architecture):
    """The blocks in the order in which they run. Each may read the input and all blocks before it."""

    blocks: tuple[Block, ...]

    def __str__(self) -> str:
        return "|".join(map(str, self.blocks))


def read_blocks(text: str, dense_operators: Sequence[str], sparse_operators: Sequence[str]) -> Recommender:
    """Read an architecture of one to seven blocks."""
    reader = Reader(text)
    blocks: list[Block] = []
    while not blocks or not (reader.at_end or len(blocks) == MOST_BLOCKS):
        if blocks:
            reader.skip("|")
        blocks.append(_read_block(reader, len(blocks), dense_operators, sparse_operators))
    reader.end(f"the end of the text (there are {MOST_BLOCKS} blocks)")
    return Recommender(tuple(blocks))


def _read_block(reader: Reader, number: int, dense_operators: Sequence[str], sparse_operators: Sequence[str]) -> Block:
    dense_operator = reader.one_of(dense_operators)
    width = _read_size(reader, WIDTHS)
    dense_inputs = _read_inputs(reader, number)
    reader.skip("~")
    left = _read_source(reader, range(number + 1))
    reader.skip("+")
    right = _read_source(reader, range(number + 1))
    reader.skip(";")
    sparse_operator = reader.one_of(sparse_operators)
    rows = _read_size(reader, ROWS)
    sparse_inputs = _read_inputs(reader, number)
    on = []
    for flag in (INTERACTION, FM):
        on.append(reader.at(f";{flag}"))
        if on[-1]:
            reader.skip(f";{flag}")
    return Block(dense_operator, width, dense_inputs, left, right, sparse_operator, rows, sparse_inputs, *on)


def _read_size(reader: Reader, sizes: Sequence[int]) -> int:
    reader.skip(":")
    return int(reader.one_of(list(map(str, sizes))))


def _read_inputs(reader: Reader, number: int) -> tuple[int, ...]:
    reader.skip("~")
    inputs = [_read_source(reader, range(number + 1))]
    while reader.at(","):
        reader.skip(",")
        inputs.append(_read_source(reader, range(inputs[-1] + 1, number + 1)))
    return tuple(inputs)


def _read_source(reader: Reader, allowed: range) -> int:
    if not allowed:
        reader.fail("no further source: there is none after this one")
    return reader.number(allowed, "a source, in ascending order,")


def simplest(architecture: Recommender, plain: Block) -> Recommender:
    """Set all choices without effect to those of `plain`, a block that reads only the input.

    A choice has no effect if the output of its block is not read, or its operator does not use it. A sum does not
    distinguish left from right. The last block is always read.
    """
    dense_read, sparse_read = {len(architecture.blocks)}, {len(architecture.blocks)}
    blocks: list[Block] = []
    for number in range(len(architecture.blocks), 0, -1):
        block = _without_idle(architecture.blocks[number - 1], plain, number in dense_read, number in sparse_read)
        dense_operator_read = number in dense_read or block.interaction
        if dense_operator_read:
            dense_read |= block.dense_sources
        if number in sparse_read or block.fm or (dense_operator_read and block.dense_operator == DOT):
            sparse_read |= set(block.sparse_inputs)
        blocks.append(block)
    return Recommender(tuple(reversed(blocks)))


def _without_idle(block: Block, plain: Block, dense_read: bool, sparse_read: bool) -> Block:
    """Return the block without choices that have no effect."""
    interaction = block.interaction and sparse_read
    fm = block.fm and (dense_read or (interaction and block.appends_itself))
    block = replace(block, interaction=interaction, fm=fm)
    if not dense_read and not interaction:
        block = replace(block, dense_operator=plain.dense_operator, width=plain.width)
        block = replace(block, dense_inputs=plain.dense_inputs)
    if not sparse_read and not fm:
        block = replace(block, sparse_operator=plain.sparse_operator, rows=plain.rows)
        if block.dense_operator != DOT:
            block = replace(block, sparse_inputs=plain.sparse_inputs)
    if block.dense_operator in OF_TWO:
        block = replace(block, dense_inputs=plain.dense_inputs)
    else:
        block = replace(block, left=plain.left, right=plain.right)
    if block.dense_operator == SUM and block.left > block.right:
        block = replace(block, left=block.right, right=block.left)
    return block
