"""The weight-sharing network of a NASRec space: all operators of every block at their largest, of which some are on.

What is not chosen is zero: sources that are not read, and columns and rows beyond those of an architecture. Because
normalizations and attention see these zeros, a narrow architecture in it differs from the stand-alone network.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from firstlight.core.errors import SettingError
from firstlight.spaces.nasrec.blocks import EMBEDDING, EXTRA_ROWS, ROWS, WIDTHS, Block, BlockOptions, Recommender
from firstlight.spaces.nasrec.network import OPERANDS, ClickNetwork, Given, NasRecSkeleton, make_operator
from firstlight.spaces.nasrec.operators import FactorizationMachine, Transformer, over_rows, projection

WIDTH, MOST_ROWS = max(WIDTHS), max(ROWS)


@dataclass(frozen=True)
class Path:
    """What is on in a block. Outputs of several operators are added up."""

    operators: Collection[str]
    width: int
    rows: int
    sources: Mapping[str, Collection[int]]  # by operand: "dense", "sparse", "left" and "right"
    interaction: bool
    fm: bool

    @classmethod
    def of(cls, block: Block) -> Path:
        """Return the path of a block of an architecture."""
        sources = {
            "dense": block.dense_inputs,
            "sparse": block.sparse_inputs,
            "left": (block.left,),
            "right": (block.right,),
        }
        operators = (block.dense_operator, block.sparse_operator)
        return cls(operators, block.width, block.rows, sources, block.interaction, block.fm)

    @classmethod
    def whole(cls, number: int, operators: Collection[str]) -> Path:
        """Return the path with everything on, for the block of this number, counted from 0."""
        everything = dict.fromkeys(("dense", "sparse", "left", "right"), range(number + 1))
        return cls(operators, WIDTH, MOST_ROWS, everything, interaction=True, fm=True)


class SharedNetwork(ClickNetwork):
    """All blocks of a space. At first everything is on."""

    def __init__(self, space: BlockOptions, skeleton: NasRecSkeleton) -> None:
        blocks = []
        width, rows = skeleton.dense, len(skeleton.tables)
        for number in range(space.blocks):
            path = Path.whole(number, space.nodes)
            blocks.append(SharedBlock(path, space.dense_operators, width, rows, bool(skeleton.layer_norm)))
            width, rows = width + WIDTH, rows + MOST_ROWS + EXTRA_ROWS
        super().__init__(blocks, WIDTH, MOST_ROWS + EXTRA_ROWS, skeleton)

    def take(self, architecture: Recommender) -> None:
        """Set the network to the path of an architecture."""
        self.take_paths([Path.of(block) for block in architecture.blocks])

    def take_paths(self, paths: Sequence[Path]) -> None:
        if len(paths) != len(self.blocks):
            raise SettingError(
                f"The architecture has {len(paths)} blocks and the weight-sharing network {len(self.blocks)}; "
                "use the same space for both."
            )
        for block, path in zip(self.blocks, paths, strict=True):
            assert isinstance(block, SharedBlock)
            block.path = path


class SharedBlock(nn.Module):
    """One block, for sources with `inputs` dense numbers and `rows` rows in total."""

    def __init__(self, path: Path, dense_operators: Collection[str], inputs: int, rows: int, norm: bool) -> None:
        super().__init__()
        self.path = path
        self.dense_operators = dense_operators
        given = Given(inputs, inputs, rows)
        self.operators = nn.ModuleDict(
            {name: make_operator(name, given, WIDTH, MOST_ROWS, norm) for name in path.operators}
        )
        self.to_rows = projection(WIDTH, EXTRA_ROWS * EMBEDDING, norm)
        self.fm = FactorizationMachine(WIDTH, norm)

    def forward(self, dense: Sequence[Tensor], sparse: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
        vectors, tables = [], []
        for name in self.path.operators:
            operands = [self._operand(operand, sparse if operand == "sparse" else dense) for operand in OPERANDS[name]]
            if name in self.dense_operators:
                vectors.append(first(self.path.width, self.operators[name](*operands)))
            else:
                tables.append(self._rows(self.operators[name], *operands))
        vector = functools.reduce(operator.add, vectors)
        table = functools.reduce(operator.add, tables)
        extra = (len(vector), EXTRA_ROWS, EMBEDDING)
        appended = self.to_rows(vector).view(extra) if self.path.interaction else vector.new_zeros(extra)
        if self.path.fm:
            vector = vector + first(self.path.width, self.fm(table))
        return vector, torch.cat([table, appended], 1)

    def _operand(self, operand: str, tensors: Sequence[Tensor]) -> Tensor:
        chosen = self.path.sources[operand]
        return torch.cat([x if source in chosen else torch.zeros_like(x) for source, x in enumerate(tensors)], 1)

    def _rows(self, sparse_operator: nn.Module, sparse: Tensor) -> Tensor:
        """Apply a sparse operator. Rows that are zero take part in attention as keys and values."""
        if isinstance(sparse_operator, Transformer):
            hidden = first(self.path.rows, over_rows(sparse_operator.rows, sparse))
            return first(self.path.rows, sparse_operator.attend(hidden))
        return first(self.path.rows, sparse_operator(sparse))


def first(count: int, x: Tensor) -> Tensor:
    """Replace all but the first `count` columns or rows by zeros."""
    return torch.cat([x[:, :count], torch.zeros_like(x[:, count:])], 1)
