"""Subnets: architectures of NASRec with weights of the weight-sharing network.

What an architecture does not choose is zero in the weight-sharing network. A subnet computes the same values without
multiplying by these zeros: linear maps use only the columns of inputs that are read, and unread blocks are left out.
Outputs keep their full width where a normalization depends on it. The weights are shared, not copied.
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
    """The weight-sharing network along the path of an architecture.

    If it is `frozen`, it consists of its final layer only: the layers before are computed, but are not registered as
    submodules, are not differentiated with respect to their weights, and are not copied with the subnet.
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
    """Which outputs of a block are read by later blocks."""

    dense: bool
    sparse: bool


def what_is_read(architecture: Recommender) -> list[Read]:
    """Return which outputs of each block are read. The final layer reads both outputs of the last."""
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
    """Return the block without flags and operators that have no effect; the names of such operators are empty."""
    interaction, fm = block.interaction and read.sparse, block.fm and read.dense
    dense_operator = block.dense_operator if read.dense or interaction else ""
    sparse_operator = block.sparse_operator if read.sparse or fm else ""
    return replace(
        block, dense_operator=dense_operator, sparse_operator=sparse_operator, interaction=interaction, fm=fm
    )


class Body(nn.Module):
    """All layers before the final one; `columns` are the inputs of the final layer that it computes."""

    def __init__(self, shared: SharedNetwork, architecture: Recommender) -> None:
        super().__init__()
        if len(architecture.blocks) != len(shared.blocks):
            raise SettingError(
                f"The architecture has {len(architecture.blocks)} blocks and the weight-sharing network "
                f"{len(shared.blocks)}; use the same space for both."
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
    """Return the nonzero rows of a block whose rows in the weight-sharing network begin at `first`."""
    own = [(first, first + block.rows)]
    return [*own, (first + MOST_ROWS, first + MOST_ROWS + EXTRA_ROWS)] if block.interaction else own


class SubnetBlock(nn.Module):
    """One block, whose sources are the given columns and rows of those in the weight-sharing network.

    Sparse tensors have the shape (samples, width, rows): rows are last, because linear maps mix them. An output that is
    not read is empty.
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
    """Return an operator of the weight-sharing network whose linear maps take only the inputs that are read."""
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
        # the gate is needed only where right is not zero
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
    """Narrow the linear map at the start of a projection; an identity has none."""
    if isinstance(layers, nn.Sequential):
        linear = layers[0]
        assert isinstance(linear, nn.Linear)
        layers[0] = SomeColumns(linear, columns)


def _narrow_projection(operator: OfTwo, columns: Sequence[Span]) -> None:
    if isinstance(operator.project, nn.Linear):
        operator.project = SomeColumns(operator.project, columns)


class AttentionAmongZeros(Attention):
    """Attention among rows and further rows that are zero.

    The zero rows are keys and values, all alike, so that one represents them. Their outputs are not computed.
    """

    def __init__(self, attention: Attention, zeros: int) -> None:
        nn.Module.__init__(self)
        self.qkv, self.out = attention.qkv, attention.out
        self.zeros = zeros

    def forward(self, x: Tensor) -> Tensor:
        rows = x.shape[1]
        query, key, value = self.heads(F.pad(x, (0, 0, 0, 1)))
        counts = F.pad(x.new_zeros(rows), (0, 1), value=math.log(self.zeros))  # e^count times the weight of one
        return self.merged(F.scaled_dot_product_attention(query[:, :, :rows], key, value, counts.expand(rows, -1)))
