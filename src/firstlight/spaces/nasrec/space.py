"""NASRec: click prediction from numbers and categories (Zhang et al., WWW 2023)."""

from __future__ import annotations

import itertools
import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from torch import nn

from firstlight.core.errors import SettingError
from firstlight.probe.cost import Cost
from firstlight.spaces.base import Drawing, Skeleton, Space
from firstlight.spaces.nasrec.blocks import (
    DOT,
    FC,
    GATING,
    LINEAR3D,
    MOST_BLOCKS,
    MOST_INPUTS,
    ROWS,
    SUM,
    TRANSFORMER,
    WIDTHS,
    Block,
    Recommender,
    read_blocks,
    simplest,
)
from firstlight.spaces.nasrec.cost import exact_cost
from firstlight.spaces.nasrec.network import NasRecNetwork, NasRecSkeleton

if TYPE_CHECKING:
    from firstlight.spaces.supernets.shared import Shared

# The sources that each block may read, by their number
SOURCES = tuple(
    tuple(tuple(itertools.combinations(range(number), count)) for count in range(1, min(MOST_INPUTS, number) + 1))
    for number in range(1, MOST_BLOCKS + 1)
)
CONNECTIONS = ("dense_inputs", "sparse_inputs", "left", "right")
CONTENTS = ("operators", "width", "rows", "interaction", "fm")


class NasRec(Space[Recommender]):
    """Blocks with a dense and a sparse operator, which read the input of the network or any previous blocks."""

    reference = "Zhang2023nasrec"
    used_by: tuple[str, ...] = ("Zheng2023sigeo",)
    evidence = (
        "after a warm-up of shared weights, with batches of 512: 0.474 [0.192, 0.697] on 40 networks and synthetic "
        "clicks, from which it was chosen; without a warm-up 0.341 [-0.024, 0.627]; params -0.024 (sigeo-click-ranks). "
        "On 40 others and a sample of Criteo: 0.392 [0.075, 0.619]; without a warm-up 0.008 [-0.347, 0.308]; params "
        "-0.056 (sigeo-click-ranks-criteo)"
    )
    proxy = "jacov"  # Dextr does not work with a single logit, which has no curvature
    data_kind = "clicks"
    warm_up_weights = "shared"
    skeleton_type = NasRecSkeleton
    nodes: tuple[str, ...]  # the operators in the order of published records
    dense_operators: tuple[str, ...]
    sparse_operators: tuple[str, ...]

    def __init__(self, blocks: int = MOST_BLOCKS) -> None:
        if not 1 <= blocks <= MOST_BLOCKS:
            raise SettingError(f"blocks is {blocks}; it must be 1 to {MOST_BLOCKS}.")
        self.blocks = blocks
        if blocks != MOST_BLOCKS:  # a different space needs a different name
            self.name = f"{self.name}-{blocks}"

    def sample(self, rng: random.Random) -> Recommender:
        """Draw every choice uniformly: first the number of inputs of each kind, up to four, then which they are."""
        return Recommender(tuple(self._random_block(number, rng) for number in range(self.blocks)))

    def _random_block(self, number: int, rng: random.Random) -> Block:
        return Block(
            rng.choice(self.dense_operators),
            rng.choice(WIDTHS),
            _random_inputs(number, rng),
            rng.randrange(number + 1),
            rng.randrange(number + 1),
            rng.choice(self.sparse_operators),
            rng.choice(ROWS),
            _random_inputs(number, rng),
            rng.random() < 0.5,
            rng.random() < 0.5,
        )

    def mutate(self, architecture: Recommender, rng: random.Random) -> Recommender:
        """Redraw one choice of one block until something differs.

        The choice is one of its connections or one of its contents, with equal probability.
        """
        return self.mutate_often(architecture, rng, 1)

    def mutate_often(self, architecture: Recommender, rng: random.Random, times: int) -> Recommender:
        """Redraw `times` choices, as published. Some may stay the same, but not all."""
        while True:
            blocks = list(architecture.blocks)
            for _ in range(times):
                number = rng.randrange(len(blocks))
                blocks[number] = self._redrawn(blocks[number], number, rng)
            if tuple(blocks) != architecture.blocks:
                return Recommender(tuple(blocks))

    def _redrawn(self, block: Block, number: int, rng: random.Random) -> Block:
        chosen = rng.choice(CONNECTIONS if rng.random() < 0.5 else CONTENTS)
        fresh = self._random_block(number, rng)
        names = ("dense_operator", "sparse_operator") if chosen == "operators" else (chosen,)
        return replace(block, **{name: getattr(fresh, name) for name in names})

    def customary(self, architecture: Recommender) -> bool:
        """Return whether all blocks are there, and none has more than four inputs of a kind."""
        inputs = [sources for block in architecture.blocks for sources in (block.dense_inputs, block.sparse_inputs)]
        return len(architecture.blocks) == self.blocks and max(map(len, inputs)) <= MOST_INPUTS

    def parse(self, text: str) -> Recommender:
        return read_blocks(text, self.dense_operators, self.sparse_operators)

    def canonical(self, architecture: Recommender) -> Recommender:
        """Set choices without effect, such as unread blocks or left and right of an `fc`, to their first option."""
        plain = Block(FC, WIDTHS[0], (0,), 0, 0, LINEAR3D, ROWS[0], (0,))
        return simplest(architecture, plain)

    def identity(self, architecture: Recommender) -> Recommender:
        """Return the architecture itself, because a mutation may give an effect to choices that have none now.

        The published search distinguishes networks in the same way, by a hash of all choices.
        """
        return architecture

    def network(self, architecture: Recommender, skeleton: NasRecSkeleton) -> nn.Module:
        return NasRecNetwork(architecture, skeleton)

    def cost(self, architecture: Recommender, skeleton: Skeleton | None = None) -> Cost:
        """Return the cost in closed form."""
        known = skeleton or self.skeleton()
        assert isinstance(known, NasRecSkeleton)
        return exact_cost(architecture, known)

    def shared(self) -> Shared:
        from firstlight.spaces.nasrec.shared import SharedNasRec

        return SharedNasRec(self)

    def from_record(self, record: Mapping[str, Any]) -> Recommender:
        """Make an architecture from a record of NASRec or SiGeo, with `micro` and `macro` of each block.

        Raises:
            SettingError: If a block has several operators or sources where one is needed.
        """
        return Recommender(tuple(map(self._recorded_block, record["micro"], record["macro"])))

    def _recorded_block(self, micro: Mapping[str, Any], macro: Mapping[str, Any]) -> Block:
        active = [self.nodes[node] for node in micro["active_nodes"]]
        dense = [name for name in active if name in self.dense_operators]
        sparse = [name for name in active if name in self.sparse_operators]
        sides = (macro["dense_left_idx"], macro["dense_right_idx"])
        if (len(dense), len(sparse), *map(len, sides)) != (1, 1, 1, 1):
            raise SettingError(
                f"A block of a stand-alone network has one dense and one sparse operator, and one source each for left "
                f"and right; the record has {', '.join(active)} and {sides[0]}, {sides[1]}."
            )
        return Block(
            dense[0],
            micro["dense_in_dims"],
            tuple(sorted(macro["dense_idx"])),
            sides[0][0],
            sides[1][0],
            sparse[0],
            micro["sparse_in_dims"],
            tuple(sorted(macro["sparse_idx"])),
            bool(micro["dense_sparse_interact"]),
            bool(micro["deep_fm"]),
        )

    def published_hash(self, architecture: Recommender) -> str:
        """Return the hash by which NASRec's search distinguishes networks: all connections, then all contents."""
        connections = [
            _marks(MOST_BLOCKS, sources)
            for block in architecture.blocks
            for sources in (block.dense_inputs, block.sparse_inputs, (block.left,), (block.right,))
        ]
        contents = [
            _marks(len(self.nodes), [self.nodes.index(name) for name in (block.dense_operator, block.sparse_operator)])
            + f"{WIDTHS.index(block.width)}{ROWS.index(block.rows)}"
            + "".join(_marks(2, [int(on)]) for on in (block.interaction, block.fm))
            for block in architecture.blocks
        ]
        return "".join([*connections, *contents])

    def drawing(self, architecture: Recommender, skeleton: Skeleton | None = None) -> Drawing:
        """Draw the blocks. An edge tells whether the dense tensor, the sparse tensor or both are read."""
        nodes, edges = ["input"], []
        for number, block in enumerate(architecture.blocks, start=1):
            operators = (f"{block.dense_operator} {block.width}", f"{block.sparse_operator} {block.rows}")
            nodes.append(", ".join([*operators, *block.flags]))
            for source in range(number):
                kinds = {"dense": block.dense_sources, "sparse": block.sparse_inputs}
                read = [kind for kind, sources in kinds.items() if source in sources]
                if read:
                    edges.append((source, number, ", ".join(read)))
        return Drawing(tuple(nodes), tuple(edges))


class NasRecSmall(NasRec):
    name = "nasrec-small"
    summary = "click prediction from numbers and categories: 7 blocks, 2 dense operators and 1 sparse"
    nodes = (FC, DOT, LINEAR3D)
    dense_operators, sparse_operators = (FC, DOT), (LINEAR3D,)


class NasRecFull(NasRec):
    name = "nasrec-full"
    summary = "click prediction from numbers and categories: 7 blocks, 4 dense operators and 2 sparse"
    nodes = (FC, DOT, GATING, SUM, TRANSFORMER, LINEAR3D)
    dense_operators, sparse_operators = (FC, DOT, GATING, SUM), (TRANSFORMER, LINEAR3D)


def _random_inputs(number: int, rng: random.Random) -> tuple[int, ...]:
    return rng.choice(rng.choice(SOURCES[number]))


def _marks(length: int, marked: Sequence[int]) -> str:
    return "".join("1" if place in marked else "0" for place in range(length))
