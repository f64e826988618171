"""Networks of the NASRec spaces: embeddings, blocks of a dense and a sparse operator, and a logit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from firstlight.core.errors import SettingError
from firstlight.spaces.base import Skeleton
from firstlight.spaces.nasrec.blocks import (
    DOT,
    EMBEDDING,
    EXTRA_ROWS,
    FC,
    GATING,
    LINEAR3D,
    SUM,
    TRANSFORMER,
    Block,
    Recommender,
)
from firstlight.spaces.nasrec.operators import (
    DotProduct,
    FactorizationMachine,
    FullyConnected,
    Linear3d,
    SigmoidGating,
    Sum,
    Transformer,
    fitting,
)
from firstlight.spaces.ops import Linear

# The operands of each operator
OPERANDS = {
    FC: ("dense",),
    DOT: ("dense", "sparse"),
    GATING: ("left", "right"),
    SUM: ("left", "right"),
    TRANSFORMER: ("sparse",),
    LINEAR3D: ("sparse",),
}


@dataclass(frozen=True)
class NasRecSkeleton(Skeleton):
    """The skeleton of NASRec. An input consists of dense numbers, followed by one category for each field.

    The first class has the logit 0, and the final layer returns the logits of the others. For two classes,
    cross-entropy is that of a single logit.

    Args:
        input_shape: Dense numbers plus fields, as a tuple of one integer.
        classes: Number of classes; with 1, the output is the single logit.
        dense: Dense numbers.
        rows: Largest number of rows of a field's embedding table; further categories share rows.
        categories: Number of categories of each field, which click data provides; empty if unknown.
        layer_norm: 0 leaves out all normalizations except the two inside a transformer.
    """

    input_shape: tuple[int, ...] = (39,)
    classes: int = 2
    dense: int = 13
    rows: int = 1000
    categories: tuple[int, ...] = ()
    layer_norm: int = 1

    def __post_init__(self) -> None:
        fields = self.input_shape[0] - self.dense if len(self.input_shape) == 1 else 0
        small = min(fields, self.classes, self.dense, self.rows, *self.categories) < 1
        if small or len(self.categories) not in (0, fields) or self.layer_norm not in (0, 1):
            raise SettingError(
                f"A NASRec network cannot be built with {self}. input_shape must be one number, that of the dense "
                "values (such as dense=13) and the fields after them, at least one of each; classes and rows must be "
                "at least 1; categories must be empty or one number for each field; layer_norm must be 0 or 1."
            )

    @property
    def tables(self) -> tuple[int, ...]:
        """Rows of the table of each field."""
        if self.categories:
            return tuple(min(self.rows, known) for known in self.categories)
        return (self.rows,) * (self.input_shape[0] - self.dense)

    @property
    def logits(self) -> int:
        """Outputs of the final layer."""
        return max(1, self.classes - 1)


@dataclass(frozen=True)
class Given:
    """Input sizes of a block: widths of the dense inputs and of left and right, rows of the sparse inputs."""

    dense: int
    pair: int
    rows: int


def given_sizes(block: Block, widths: Sequence[int], rows: Sequence[int]) -> Given:
    """Return the input sizes of a block for sources of these widths and rows."""
    return Given(
        sum(widths[source] for source in block.dense_inputs),
        max(widths[block.left], widths[block.right]),
        sum(rows[source] for source in block.sparse_inputs),
    )


def make_operator(name: str, given: Given, width: int, rows: int, norm: bool) -> nn.Module:
    """Return a dense operator with `width` outputs, or a sparse one with `rows` rows."""
    if name == FC:
        return FullyConnected(given.dense, width, norm)
    if name == DOT:
        return DotProduct(given.dense, given.rows, width, norm)
    if name == GATING:
        return SigmoidGating(given.pair, width, norm)
    if name == SUM:
        return Sum(given.pair, width, norm)
    return {TRANSFORMER: Transformer, LINEAR3D: Linear3d}[name](given.rows, rows, norm)


class Embedding(nn.Embedding):
    """A table whose rows stay unset until the network is initialized."""

    def reset_parameters(self) -> None:
        pass


class Embeddings(nn.ModuleList):
    """One embedding table for each field.

    A category is rounded down and taken modulo the size of the table. Categories within the table are exact, others
    share its rows, and noise has rows as well.
    """

    sizes: Tensor

    def __init__(self, tables: Sequence[int], width: int = EMBEDDING) -> None:
        super().__init__(Embedding(rows, width) for rows in tables)
        self.register_buffer("sizes", torch.tensor(tables), persistent=False)

    def forward(self, categories: Tensor) -> Tensor:
        numbers = categories.detach().floor().long().remainder(self.sizes)  # a category's number has no gradient
        return torch.stack([table(column) for table, column in zip(self, numbers.unbind(1), strict=True)], 1)


class BlockNetwork(nn.Module):
    """One block for sources of these widths and rows. It returns its dense and its sparse output."""

    def __init__(self, block: Block, widths: Sequence[int], rows: Sequence[int], norm: bool) -> None:
        super().__init__()
        self.block = block
        given = given_sizes(block, widths, rows)
        self.dense_operator = make_operator(block.dense_operator, given, block.width, block.rows, norm)
        self.sparse_operator = make_operator(block.sparse_operator, given, block.width, block.rows, norm)
        self.to_rows = fitting(block.width, EXTRA_ROWS * EMBEDDING, norm) if block.interaction else None
        self.fm = FactorizationMachine(block.width, norm) if block.fm else None

    def forward(self, dense: Sequence[Tensor], sparse: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
        vector: Tensor = self.dense_operator(*self._operands(self.block.dense_operator, dense, sparse))
        table: Tensor = self.sparse_operator(*self._operands(self.block.sparse_operator, dense, sparse))
        alone = vector
        if self.fm is not None:
            vector = vector + self.fm(table)
        if self.to_rows is not None:
            # without a projection, published networks append the sum with the factorization machine
            appended = vector if self.block.appends_itself else self.to_rows(alone)
            table = torch.cat([table, appended.view(-1, EXTRA_ROWS, EMBEDDING)], 1)
        return vector, table

    def _operands(self, operator: str, dense: Sequence[Tensor], sparse: Sequence[Tensor]) -> list[Tensor]:
        chosen = {
            "dense": [dense[source] for source in self.block.dense_inputs],
            "sparse": [sparse[source] for source in self.block.sparse_inputs],
            "left": [dense[self.block.left]],
            "right": [dense[self.block.right]],
        }
        return [torch.cat(chosen[name], 1) for name in OPERANDS[operator]]


class ClickModel(nn.Module):
    """A network from dense values and categories, in one tensor or two, to the logits of all classes."""

    def __init__(self, skeleton: NasRecSkeleton) -> None:
        super().__init__()
        self.dense, self.classes = skeleton.dense, skeleton.classes

    @torch.no_grad()
    def initialize(self, generator: torch.Generator) -> None:
        """Draw weights (uniform) and tables (normal) by Xavier's rule; biases are 0."""
        for module in self.modules():
            if isinstance(module, nn.Linear):
                bound = math.sqrt(6 / sum(module.weight.shape))
                module.weight.uniform_(-bound, bound, generator=generator)
                if module.bias is not None:
                    module.bias.zero_()
            elif isinstance(module, nn.Embedding):
                module.weight.normal_(0, math.sqrt(2 / sum(module.weight.shape)), generator=generator)

    def forward(self, x: Tensor, categories: Tensor | None = None) -> Tensor:
        if categories is None:
            x, categories = x[:, : self.dense], x[:, self.dense :]
        return with_first_class(self.logits(x, categories), self.classes)

    def logits(self, dense: Tensor, categories: Tensor) -> Tensor:
        """Return the logits of all classes except the first, or of the only one."""
        raise NotImplementedError


class ClickNetwork(ClickModel):
    """Embeddings, blocks, and a final layer; the last block has `width` dense outputs and `rows` rows."""

    def __init__(self, blocks: Sequence[nn.Module], width: int, rows: int, skeleton: NasRecSkeleton) -> None:
        super().__init__(skeleton)
        self.embeddings = Embeddings(skeleton.tables)
        self.blocks = nn.ModuleList(blocks)
        self.final = Linear(width + rows * EMBEDDING, skeleton.logits)

    def logits(self, dense: Tensor, categories: Tensor) -> Tensor:
        vectors, tables = [dense], [self.embeddings(categories)]
        for block in self.blocks:
            vector, table = block(vectors, tables)
            vectors.append(vector)
            tables.append(table)
        out: Tensor = self.final(torch.cat([vectors[-1], tables[-1].flatten(1)], 1))
        return out


def with_first_class(logits: Tensor, classes: int) -> Tensor:
    """Add the logit 0 of the first class to the outputs of the final layer."""
    return logits if classes == 1 else torch.cat([torch.zeros_like(logits[:, :1]), logits], 1)


class NasRecNetwork(ClickNetwork):
    """The stand-alone network of an architecture."""

    def __init__(self, architecture: Recommender, skeleton: NasRecSkeleton) -> None:
        widths, rows = [skeleton.dense], [len(skeleton.tables)]
        blocks = []
        for block in architecture.blocks:
            blocks.append(BlockNetwork(block, widths, rows, bool(skeleton.layer_norm)))
            widths.append(block.width)
            rows.append(block.rows_out)
        super().__init__(blocks, widths[-1], rows[-1], skeleton)
