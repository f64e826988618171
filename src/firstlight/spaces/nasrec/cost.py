"""The cost of NASRec networks in closed form."""

from __future__ import annotations

import math

from firstlight.probe.cost import Cost
from firstlight.spaces.nasrec.blocks import (
    DOT,
    EMBEDDING,
    EXTRA_ROWS,
    FC,
    GATING,
    OF_TWO,
    TRANSFORMER,
    Block,
    Recommender,
)
from firstlight.spaces.nasrec.network import Given, NasRecSkeleton, given_sizes
from firstlight.spaces.tally import Tally


class RecommenderTally(Tally):
    """Adds up the cost of operators."""

    def __init__(self, norm: bool) -> None:
        super().__init__()
        self.normalized = norm

    def projection(self, inputs: int, outputs: int, times: int = 1) -> None:
        self.linear(inputs, outputs, bias=not self.normalized, times=times)
        self.optional_norm(outputs)

    def fitting(self, inputs: int, outputs: int, times: int = 1) -> None:
        if inputs != outputs:
            self.projection(inputs, outputs, times)

    def optional_norm(self, width: int) -> None:
        if self.normalized:
            self.norm(width)

    def dense_operator(self, block: Block, given: Given) -> None:
        if block.dense_operator == FC:
            self.projection(given.dense, block.width)
        elif block.dense_operator == DOT:
            factors = round(math.sqrt(2 * block.width))
            self.fitting(given.dense, EMBEDDING)
            self.fitting(given.rows, factors, times=EMBEDDING)
            self.macs += (factors + 1) ** 2 * EMBEDDING
            self.projection(factors * (factors + 1) // 2, block.width)
        elif block.dense_operator in OF_TWO:
            gating = block.dense_operator == GATING
            if gating:
                self.linear(given.pair, given.pair)
            if given.pair != block.width:
                self.linear(given.pair, block.width, bias=gating or not self.normalized)
            self.optional_norm(block.width)

    def sparse_operator(self, block: Block, given: Given) -> None:
        self.projection(given.rows, block.rows, times=EMBEDDING)
        if block.sparse_operator == TRANSFORMER:
            self.linear(EMBEDDING, 3 * EMBEDDING, times=block.rows)
            self.macs += 2 * block.rows**2 * EMBEDDING
            for _ in range(3):  # after attention, and the two maps that follow it
                self.linear(EMBEDDING, EMBEDDING, times=block.rows)
            for _ in range(2):
                self.norm(EMBEDDING)

    def block(self, block: Block, given: Given) -> None:
        self.dense_operator(block, given)
        self.sparse_operator(block, given)
        if block.interaction:
            self.fitting(block.width, EXTRA_ROWS * EMBEDDING)
        if block.fm:
            self.fitting(EMBEDDING, block.width)
            if block.width == EMBEDDING:
                self.optional_norm(EMBEDDING)  # the unused one


def exact_cost(architecture: Recommender, skeleton: NasRecSkeleton) -> Cost:
    """Return the parameters, embeddings included, and the multiply-accumulates."""
    tally = RecommenderTally(bool(skeleton.layer_norm))
    tally.params += sum(skeleton.tables) * EMBEDDING
    widths, rows = [skeleton.dense], [len(skeleton.tables)]
    for block in architecture.blocks:
        tally.block(block, given_sizes(block, widths, rows))
        widths.append(block.width)
        rows.append(block.rows_out)
    tally.linear(widths[-1] + rows[-1] * EMBEDDING, skeleton.logits)
    return tally.cost()
