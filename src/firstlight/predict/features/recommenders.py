"""Features of NASRec's networks: operators, sizes and connections of their blocks.

width(n), rows(n), inputs(n)    of block n: the dense width as a logarithm to base 2, the sparse rows, and how many
                                tensors it reads; zeros past the last one
operator(NAME)                  the number of blocks with the operator
interactions, fms               the number of blocks with these flags
depth                           blocks on the longest chain to the last block
chains                          the number of chains from the input to the last block, as a logarithm to base 2
unread                          blocks that no other block reads, except for the last
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import pandas as pd

from firstlight.spaces.nasrec.blocks import (
    DOT,
    FC,
    GATING,
    LINEAR3D,
    MOST_BLOCKS,
    SUM,
    TRANSFORMER,
    Block,
    Recommender,
)

OPERATORS = (FC, DOT, GATING, SUM, TRANSFORMER, LINEAR3D)


def recommender_features(networks: Sequence[Recommender]) -> pd.DataFrame:
    """Return the features of networks, a row for each."""
    return pd.DataFrame([_features(network.blocks) for network in networks], dtype=float)


def _features(blocks: Sequence[Block]) -> dict[str, float]:
    row: dict[str, float] = {}
    for place in range(MOST_BLOCKS):
        block = blocks[place] if place < len(blocks) else None
        row[f"width({place + 1})"] = math.log2(block.width) if block else 0.0
        row[f"rows({place + 1})"] = float(block.rows_out) if block else 0.0
        row[f"inputs({place + 1})"] = float(len(block.dense_sources) + len(block.sparse_inputs)) if block else 0.0
    operators = [name for block in blocks for name in (block.dense_operator, block.sparse_operator)]
    row |= {f"operator({name})": float(operators.count(name)) for name in OPERATORS}
    row["interactions"] = float(sum(block.interaction for block in blocks))
    row["fms"] = float(sum(block.fm for block in blocks))
    depths, chains = [0], [1]
    for block in blocks:
        sources = _sources(block)
        depths.append(1 + max(depths[source] for source in sources))
        chains.append(sum(chains[source] for source in sources))
    read = {source for block in blocks for source in _sources(block)}
    row |= {"depth": float(depths[-1]), "chains": math.log2(chains[-1])}
    row["unread"] = float(sum(number not in read for number in range(1, len(blocks))))
    return row


def _sources(block: Block) -> set[int]:
    return block.dense_sources | set(block.sparse_inputs)
