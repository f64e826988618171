"""States of a supernet: which operations are left on which edges.

    |*~0|+|nor_conv_3x3~0|*~1|+|none/skip_connect~0|*~1|*~2|

Nodes are separated by "+". Each edge lists the operations that are left, or "*" for all of them, and after "~" the
state of the cell that it reads. With one operation on every edge, this is the text of a NAS-Bench-201 cell. If there
are several kinds of cells, each begins with its name: `normal=|*~0|*~1|+... reduce=|*~0|...`.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from firstlight.spaces.base import Architecture
from firstlight.spaces.reading import Reader


class Place(NamedTuple):
    """An edge in all cells of a kind, from the state `source` to the state `target`."""

    kind: str
    target: int
    source: int

    @property
    def node(self) -> tuple[str, int]:
        return self.kind, self.target


@dataclass(frozen=True)
class Layout:
    """The edges and operations of a supernet. A node has an edge from every state before it.

    Args:
        kinds: Kinds of cells.
        edges: Edges (target, source) of a cell, node by node.
        operations: Operations that an edge can have.
        kept: Edges that a node keeps in the end; 0 for all.
    """

    kinds: tuple[str, ...]
    edges: tuple[tuple[int, int], ...]
    operations: tuple[str, ...]
    kept: int = 0

    @cached_property
    def places(self) -> tuple[Place, ...]:
        return tuple(Place(kind, *edge) for kind in self.kinds for edge in self.edges)

    @cached_property
    def nodes(self) -> dict[tuple[str, int], list[Place]]:
        """The edges into each node of each kind of cell."""
        return {node: list(places) for node, places in itertools.groupby(self.places, key=lambda place: place.node)}

    @cached_property
    def full(self) -> State:
        """The state with all operations on all edges."""
        return State(self, (self.operations,) * len(self.places))

    def fewest(self, node: tuple[str, int]) -> int:
        """Return how many edges a node must keep."""
        return self.kept or len(self.nodes[node])

    def sample(self, rng: random.Random) -> State:
        """Return a random state: any set of operations on each edge. Edges that may be missing are so at random."""
        there: set[Place] = set()
        for node, places in self.nodes.items():
            there.update(rng.sample(places, rng.randint(self.fewest(node), len(places))))
        return State(self, tuple(self._some_operations(rng) if place in there else () for place in self.places))

    def _some_operations(self, rng: random.Random) -> tuple[str, ...]:
        chosen = rng.randrange(1, 2 ** len(self.operations))  # one bit for each of them
        return tuple(name for bit, name in enumerate(self.operations) if chosen >> bit & 1)

    def parse(self, text: str) -> State:
        reader = Reader(text)
        left: dict[Place, tuple[str, ...]] = {}
        for number, kind in enumerate(self.kinds):
            if len(self.kinds) > 1:
                reader.skip(f"{' ' if number else ''}{kind}=")
            for earlier, node in enumerate(node for node in self.nodes if node[0] == kind):
                reader.skip("+|" if earlier else "|")
                left |= self._read_node(reader, self.nodes[node], self.fewest(node))
        reader.end()
        return State(self, tuple(left.get(place, ()) for place in self.places))

    def _read_node(self, reader: Reader, places: list[Place], fewest: int) -> dict[Place, tuple[str, ...]]:
        """Read the edges into one node in the order of their sources. Some may be missing."""
        left: dict[Place, tuple[str, ...]] = {}
        first = 0
        while len(left) < fewest or not (first == len(places) or reader.at_end or reader.at("+") or reader.at(" ")):
            operations = self._read_operations(reader)
            reader.skip("~")
            last = len(places) - max(fewest - len(left) - 1, 0)  # so that enough edges can follow
            source = reader.number(range(first, last), "a state")
            reader.skip("|")
            left[places[source]] = operations
            first = source + 1
        return left

    def _read_operations(self, reader: Reader) -> tuple[str, ...]:
        if reader.at("*"):
            reader.skip("*")
            return self.operations
        start, found = reader.position, [reader.one_of(self.operations, f"* or some of {', '.join(self.operations)}")]
        while reader.at("/"):
            reader.skip("/")
            later = self.operations[self.operations.index(found[-1]) + 1 :]
            found.append(reader.one_of(later, f"one of {', '.join(later)}" if later else "'~'"))
        if len(found) == len(self.operations):
            reader.fail("'*', which stands for all operations", start)
        return tuple(found)


@dataclass(frozen=True)
class State(Architecture):
    """The operations that are left at each place of the layout; none if the edge is removed."""

    layout: Layout
    left: tuple[tuple[str, ...], ...]

    def __str__(self) -> str:
        cells = {
            kind: "+".join(self._node_text(node) for node in self.layout.nodes if node[0] == kind)
            for kind in self.layout.kinds
        }
        return " ".join(f"{kind}={text}" if len(cells) > 1 else text for kind, text in cells.items())

    def _node_text(self, node: tuple[str, int]) -> str:
        edges = ((self.operations(place), place.source) for place in self.edges(node))
        return f"|{'|'.join(f'{self._written(names)}~{source}' for names, source in edges)}|"

    def _written(self, names: tuple[str, ...]) -> str:
        return "*" if names == self.layout.operations else "/".join(names)

    @cached_property
    def _by_place(self) -> Mapping[Place, tuple[str, ...]]:
        return dict(zip(self.layout.places, self.left, strict=True))

    def operations(self, place: Place) -> tuple[str, ...]:
        return self._by_place[place]

    def edges(self, node: tuple[str, int]) -> list[Place]:
        """Return the edges that are left into a node."""
        return [place for place in self.layout.nodes[node] if self.operations(place)]

    @property
    def undecided(self) -> list[Place]:
        """Edges with several operations."""
        return [place for place, operations in self._by_place.items() if len(operations) > 1]

    @property
    def crowded(self) -> list[tuple[str, int]]:
        """Nodes with more edges than they keep."""
        return [node for node in self.layout.nodes if len(self.edges(node)) > self.layout.fewest(node)]

    def keeping(self, place: Place, *operations: str) -> State:
        """Return the state with only these operations on an edge; without any, the edge is removed."""
        index = self.layout.places.index(place)
        kept = tuple(name for name in self.layout.operations if name in operations)
        return replace(self, left=(*self.left[:index], kept, *self.left[index + 1 :]))

    def without(self, place: Place, *operations: str) -> State:
        """Return the state without these operations on an edge; without all of them if none is named."""
        taken = operations or self.operations(place)
        return self.keeping(place, *(name for name in self.operations(place) if name not in taken))

    def weights(self, place: Place) -> dict[str, float]:
        """Return the weights of the operations on an edge.

        A single operation has weight 1. Each of several has weight 1 / (number of *all* operations): removed operations
        are missing from the sum, and the others do not grow. The published code starts from the softmax of noise with
        deviation 0.001, which differs by 0.1%.
        """
        operations = self.operations(place)
        share = 1.0 if len(operations) == 1 else 1 / len(self.layout.operations)
        return dict.fromkeys(operations, share)
