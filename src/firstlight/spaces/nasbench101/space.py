"""NAS-Bench-101: 423,624 cells of at most seven vertices and nine edges (Ying et al., ICML 2019)."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator

from firstlight.core.errors import ParseError
from firstlight.spaces.nasbench101.cell import (
    MOST_EDGES,
    MOST_VERTICES,
    OPERATIONS,
    Cell101,
    Sources,
    first_arrangement,
    read_cell,
    used_vertices,
    with_other_operation,
)
from firstlight.spaces.nasbench101.network import Space101


class NASBench101(Space101):
    """Cells in which every vertex has one of three operations.

    As in the benchmark, a cell may have vertices that are on no path from input to output. They have no effect, and
    their edges do not count toward the nine. Evolution may pass through such cells.
    """

    name = "nasbench101"
    evidence = "0.583 [0.514, 0.653] on 333 networks, CIFAR-10; params 0.476 [0.376, 0.561] (dextr-table1)"
    summary = "cells of up to seven vertices and nine edges, three operations: 423,624 distinct"
    reference = "Ying2019nasbench101"
    channels_last = True
    benchmark = "NAS-Bench-101: all trained on CIFAR-10, for 4, 12, 36 and 108 epochs"
    used_by = ("Asthana2025dextr", "Shu2022hnas", "Zheng2023sigeo")

    def __len__(self) -> int:
        return 423_624  # classes of cells that are equal once pruned

    def __iter__(self) -> Iterator[Cell101]:
        """Yield the canonical cell of each class, from two vertices to seven."""
        for inner in range(MOST_VERTICES - 1):
            for sources in _graphs(inner + 1):
                automorphisms = first_arrangement(sources)[1]
                for operations in itertools.product(OPERATIONS, repeat=inner):
                    cell = Cell101(operations, sources)
                    if len(automorphisms) == 1 or cell.canonical() == cell:
                        yield cell

    def sample(self, rng: random.Random) -> Cell101:
        """Draw every edge between seven vertices with probability 1/2 until the cell is valid, as the benchmark does.

        Most of these cells have fewer than seven vertices once pruned.
        """
        inner = MOST_VERTICES - 2
        while True:
            sources = [tuple(s for s in range(vertex) if rng.random() < 0.5) for vertex in range(1, MOST_VERTICES)]
            cell = Cell101(tuple(rng.choices(OPERATIONS, k=inner)), tuple(sources))
            if _is_valid(cell):
                return cell

    def mutate(self, architecture: Cell101, rng: random.Random) -> Cell101:
        """Change one edge or one operation, or, if there is room, insert a vertex between two others."""
        last = len(architecture.sources)
        pairs = [(source, vertex) for vertex in range(1, last + 1) for source in range(vertex)]
        room = last + 1 < MOST_VERTICES
        weights = (len(pairs), last - 1, len(pairs) if room else 0)  # the number of choices of each kind
        while True:
            kind = rng.choices(("edge", "operation", "vertex"), weights)[0]
            if kind == "edge":
                child = _with_edge_flipped(architecture, *rng.choice(pairs))
            elif kind == "operation":
                child = with_other_operation(architecture, rng.randrange(last - 1), rng)
            else:
                child = _with_vertex_between(architecture, *rng.choice(pairs), rng.choice(OPERATIONS))
            if _is_valid(child):
                return child

    def parse(self, text: str) -> Cell101:
        text = text.strip()
        cell, places = read_cell(text)
        used = used_vertices(cell.sources)
        if not used:
            raise ParseError(text, text.rindex("~") + 1, "a path from the input, vertex 0, to the output")
        edges = [place for (source, vertex), place in places.items() if source in used and vertex in used]
        if len(edges) > MOST_EDGES:
            raise ParseError(text, edges[MOST_EDGES], f"no more than {MOST_EDGES} edges on paths from input to output")
        return cell

    def operations(self, architecture: Cell101) -> set[str]:
        return set(architecture.operations)

    def canonical(self, architecture: Cell101) -> Cell101:
        """Return the pruned cell that comes first among its isomorphic cells in the benchmark's enumeration.

        The benchmark treats isomorphic cells as one. Their networks differ slightly if the channels of the output
        cannot be divided evenly: the first vertices that lead to it are then one channel wider.
        """
        return architecture.canonical()


def _is_valid(cell: Cell101) -> bool:
    return bool(used_vertices(cell.sources)) and cell.pruned().edges <= MOST_EDGES


def _with_edge_flipped(cell: Cell101, source: int, vertex: int) -> Cell101:
    sources = list(cell.sources)
    sources[vertex - 1] = tuple(sorted({source} ^ set(sources[vertex - 1])))
    return Cell101(cell.operations, tuple(sources))


def _with_vertex_between(cell: Cell101, source: int, vertex: int, operation: str) -> Cell101:
    """Insert a vertex; it takes the number of the later vertex, and all from there on move up by one."""
    moved = [tuple(s + (s >= vertex) for s in leading) for leading in cell.sources]
    moved[vertex - 1] = tuple(sorted((*moved[vertex - 1], vertex)))
    moved.insert(vertex - 1, (source,))
    operations = list(cell.operations)
    operations.insert(vertex - 1, operation)
    return Cell101(tuple(operations), tuple(moved))


def _graphs(last: int) -> Iterator[Sources]:
    """Yield every pruned graph of vertices 0 to `last` with at most nine edges that is the first of its class."""
    leading = [
        [tuple(s for s in range(vertex) if mask >> s & 1) for mask in range(1, 1 << vertex)]
        for vertex in range(last, 0, -1)
    ]
    for from_last in itertools.product(*leading):
        sources = from_last[::-1]
        read = set(itertools.chain.from_iterable(sources))
        if len(read) == last and sum(map(len, sources)) <= MOST_EDGES and first_arrangement(sources)[0] == sources:
            yield sources
