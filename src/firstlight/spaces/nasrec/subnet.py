"""Architectures of NASRec with the weights of the weight-sharing network, computed without its zeros.

What an architecture does not choose is zero in the weight-sharing network. A subnet computes the same numbers but
multiplies nothing by these zeros: of every linear map only the columns of what is read take part, and blocks that
nobody reads are left out. Outputs are as wide as in the weight-sharing network where a normalization sees all of them.
The weights are those of the weight-sharing network itself, and not copies.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from firstlight.core.errors import SettingError
from firstlight.spaces.nasrec.blocks import DOT, EMBEDDING, EXTRA_ROWS, Block, Recommender
from firstlight.spaces.nasrec.network import with_first_class
from firstlight.spaces.nasrec.operators import (
    Attention,
    DotProduct,
    FullyConnected,
    Linear3d,
    OfTwo,
    SigmoidGating,
    Sum,
    Transformer,
    over_rows,
)
from firstlight.spaces.nasrec.supernet import MOST_ROWS, WIDTH, SharedBlock, SharedNetwork
from firstlight.spaces.supernets.sharing import SomeColumns, Span, Unseen, sharing_copy


class Subnet(nn.Module):
    """Gives the logits of the weight-sharing network with the path of the architecture taken.

    If it is `frozen`, its final layer is all that is seen of it: what comes before is computed, but is none of its
    layers or parameters, is not differentiated with respect to weights, and is not copied when the subnet is.
    """

    def __init__(self, shared: SharedNetwork, architecture: Recommender, *, frozen: bool) -> None:
        super().__init__()
        body = Body(shared, architecture)
        self.dense, self.classes = shared.dense, shared.classes
        self.body = Unseen(body) if frozen else body
        self.final = SomeColumns(sharing_copy(shared.final), body.columns)

    def forward(self, x: Tensor, categories: Tensor | None = None) -> Tensor:
        if categories is None:
            x, categories = x[:, : self.dense], x[:, self.dense :]
        return with_first_class(self.final(self.body(x, categories)), self.classes)


@dataclass(frozen=True)
class Read:
    """Which outputs of a block somebody reads behind it."""

    dense: bool
    sparse: bool


def what_is_read(architecture: Recommender) -> list[Read]:
    """For each block; the final layer reads both outputs of the last."""
    last = len(architecture.blocks)
    dense, sparse = {last}, {last}
    for number in range(last, 0, -1):
        block = without_idle(architecture.blocks[number - 1], Read(number in dense, number in sparse))
        if block.dense_operator:
            dense |= block.dense_sources
        if block.sparse_operator or block.dense_operator == DOT:
            sparse |= set(block.sparse_inputs)
    return [Read(number in dense, number in sparse) for number in range(1, last + 1)]


def without_idle(block: Block, read: Read) -> Block:
    """The block without flags and operators that nobody notices; in place of such an operator, the name is empty."""
    interaction, fm = block.interaction and read.sparse, block.fm and read.dense
    dense_operator = block.dense_operator if read.dense or interaction else ""
    sparse_operator = block.sparse_operator if read.sparse or fm else ""
    return replace(
        block, dense_operator=dense_operator, sparse_operator=sparse_operator, interaction=interaction, fm=fm
    )


class Body(nn.Module):
    """All that comes before the final layer; `columns` are those of the final layer that it gives."""

    def __init__(self, shared: SharedNetwork, architecture: Recommender) -> None:
        super().__init__()
        if len(architecture.blocks) != len(shared.blocks):
            raise SettingError(
                f"The architecture has {len(architecture.blocks)} blocks and the weight-sharing network "
                f"{len(shared.blocks)}; make both of the same space."
            )
        self.embeddings = sharing_copy(shared.embeddings)
        width, rows = shared.dense, len(shared.embeddings)
        dense, sparse = [(0, width)], [[(0, rows)]]
        blocks: list[nn.Module] = []
        for block, whole, read in zip(architecture.blocks, shared.blocks, what_is_read(architecture), strict=True):
            assert isinstance(whole, SharedBlock)
            blocks.append(SubnetBlock(whole, without_idle(block, read), dense, sparse))
            dense.append((width, width + block.width))
            sparse.append(_rows_of(block, rows))
            width, rows = width + WIDTH, rows + MOST_ROWS + EXTRA_ROWS
        self.blocks = nn.ModuleList(blocks)
        last = architecture.blocks[-1]
        flat = [(WIDTH + start * EMBEDDING, WIDTH + stop * EMBEDDING) for start, stop in _rows_of(last, 0)]
        self.columns = [(0, last.width), *flat]

    def forward(self, x: Tensor, categories: Tensor) -> Tensor:
        dense, sparse = [x], [self.embeddings(categories).transpose(1, 2)]
        for block in self.blocks:
            vector, table = block(dense, sparse)
            dense.append(vector)
            sparse.append(table)
        return torch.cat([dense[-1], sparse[-1].transpose(1, 2).flatten(1)], 1)


def _rows_of(block: Block, first: int) -> list[Span]:
    """Which rows are not zero of a block whose rows in the weight-sharing network begin here."""
    own = [(first, first + block.rows)]
    return [*own, (first + MOST_ROWS, first + MOST_ROWS + EXTRA_ROWS)] if block.interaction else own


class SubnetBlock(nn.Module):
    """One block, for sources that are these columns and rows of those in the weight-sharing network.

    Tables come and go as (samples, width, rows): rows are what linear maps mix, so they are the last. Of an output that
    nobody reads there is nothing.
    """

    def __init__(
        self, shared: SharedBlock, block: Block, dense: Sequence[Span], sparse: Sequence[Sequence[Span]]
    ) -> None:
        super().__init__()
        self.block = block
        rows = [span for source in block.sparse_inputs for span in sparse[source]]
        names = [name for name in (block.dense_operator, block.sparse_operator) if name]
        self.operators = nn.ModuleDict({name: _narrowed(shared.operators[name], block, dense, rows) for name in names})
        self.to_rows = None
        if block.interaction:
            self.to_rows = sharing_copy(shared.to_rows)
            _narrow(self.to_rows, [(0, block.width)])
        self.fm = sharing_copy(shared.fm) if block.fm else None

    def forward(self, dense: Sequence[Tensor], sparse: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
        block = self.block
        vector, table = dense[0][:, :0], sparse[0][:, :, :0]
        read = torch.cat([sparse[source] for source in block.sparse_inputs], 2)
        if block.sparse_operator:
            table = self._table(self.operators[block.sparse_operator], read)[:, :, : block.rows]
        if block.dense_operator:
            vector = self._vector(self.operators[block.dense_operator], dense, read)[:, : block.width]
        alone = vector
        if self.fm is not None:
            vector = vector + self.fm(table.transpose(1, 2))[:, : block.width]
        if self.to_rows is not None:
            appended = self.to_rows(alone).view(-1, EXTRA_ROWS, EMBEDDING)
            table = torch.cat([table, appended.transpose(1, 2)], 2)
        return vector, table

    def _vector(self, operator: nn.Module, dense: Sequence[Tensor], read: Tensor) -> Tensor:
        left, right = self.block.left, self.block.right
        if isinstance(operator, SigmoidGating):
            return operator.finished(torch.sigmoid(operator.gate(dense[left])) * dense[right])
        if isinstance(operator, Sum):
            both = [dense[source] for source in sorted((left, right))]
            return operator.finished(2 * dense[left] if left == right else torch.cat(both, 1))
        vectors = torch.cat([dense[source] for source in self.block.dense_inputs], 1)
        out: Tensor = operator(vectors, read.transpose(1, 2)) if isinstance(operator, DotProduct) else operator(vectors)
        return out

    def _table(self, operator: nn.Module, read: Tensor) -> Tensor:
        out: Tensor
        if isinstance(operator, Transformer):
            out = operator.attend(over_rows(operator.rows, read.transpose(1, 2))[:, : self.block.rows])
        else:
            out = operator(read.transpose(1, 2))
        return out.transpose(1, 2)


def _narrowed(whole: nn.Module, block: Block, dense: Sequence[Span], rows: Sequence[Span]) -> nn.Module:
    """An operator of the weight-sharing network whose linear maps take what is read, and nothing else."""
    operator = sharing_copy(whole)
    columns = [dense[source] for source in block.dense_inputs]
    if isinstance(operator, FullyConnected):
        _narrow(operator.linear, columns)
    elif isinstance(operator, Linear3d):
        _narrow(operator.linear, rows)
    elif isinstance(operator, DotProduct):
        _narrow(operator.dense, columns)
        _narrow(operator.rows, rows)
    elif isinstance(operator, SigmoidGating):
        # what right does not have is multiplied by zero, so that no gate is needed for it
        operator.gate = SomeColumns(operator.gate, [dense[block.left]], dense[block.right])
        _narrow_projection(operator, [dense[block.right]])
    elif isinstance(operator, Sum):
        _narrow_projection(operator, [dense[source] for source in sorted({block.left, block.right})])
    elif isinstance(operator, Transformer):
        _narrow(operator.rows, rows)
        if block.rows < MOST_ROWS:
            operator.attention = AttentionAmongZeros(operator.attention, MOST_ROWS - block.rows)
    return operator


def _narrow(layers: nn.Module, columns: Sequence[Span]) -> None:
    """Of a projection, which begins with a linear map; where sizes fit there is none."""
    if isinstance(layers, nn.Sequential):
        linear = layers[0]
        assert isinstance(linear, nn.Linear)
        layers[0] = SomeColumns(linear, columns)


def _narrow_projection(operator: OfTwo, columns: Sequence[Span]) -> None:
    if isinstance(operator.project, nn.Linear):
        operator.project = SomeColumns(operator.project, columns)


class AttentionAmongZeros(Attention):
    """Attention among rows and so many others that are zero, which are keys and values: all alike, so that one stands
    for them. What comes of them is not given."""

    def __init__(self, attention: Attention, zeros: int) -> None:
        nn.Module.__init__(self)
        self.qkv, self.out = attention.qkv, attention.out
        self.zeros = zeros

    def forward(self, x: Tensor) -> Tensor:
        rows = x.shape[1]
        query, key, value = self.heads(F.pad(x, (0, 0, 0, 1)))
        counts = F.pad(x.new_zeros(rows), (0, 1), value=math.log(self.zeros))  # e^count times the weight of one
        return self.merged(F.scaled_dot_product_attention(query[:, :, :rows], key, value, counts.expand(rows, -1)))
