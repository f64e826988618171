"""Cells of NAS-Bench-1Shot1 with known accuracy, by the preferences of a search.

A search chooses the most probable of all cells. A table that holds only a part of the space seldom contains it, so that
the most probable of the cells in the table stands in for it.
"""

from __future__ import annotations

import functools
import itertools
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from firstlight.search.one_shot_steps import Floats
from firstlight.spaces import SPACES
from firstlight.spaces.nasbench1shot1.space import NASBench1Shot1
from firstlight.spaces.nasbench1shot1.supernet import OneShot1Shot1
from firstlight.spaces.nasbench101.cell import (
    Cell101,
    Sources,
    first_arrangement,
    rearranged,
    used_vertices,
)

# The operation of each vertex that matters, by the number of the vertex
Placed = Mapping[int, str]


class KnownCells:
    """Known cells of a space, with every architecture of the space that is one of them.

    Args:
        space: The name of a NAS-Bench-1Shot1 space.
        texts: The canonical texts of the known cells.
    """

    def __init__(self, space: str, texts: Iterable[str]) -> None:
        own = SPACES[space]
        assert isinstance(own, NASBench1Shot1)
        self.texts = tuple(texts)
        one_shot = OneShot1Shot1(own.name, own.parents)
        columns = [(choice.name, option) for choice in one_shot.choices for option in choice.options]
        self._places = {pair: place for place, pair in enumerate(columns)}
        self._operations = [[self._places[c.name, o] for o in c.options] for c in one_shot.operations]
        numbers: list[int] = []
        chosen: list[Floats] = []
        free: list[Floats] = []
        for number, sources, placed in _encodings(own.parents, [own.parse(text).canonical() for text in self.texts]):
            numbers.append(number)
            chosen.append(self._chosen(sources, placed))
            free.append(np.array([float(vertex not in placed) for vertex in range(1, len(sources))]))
        self._numbers, self._chosen_options, self._free = np.array(numbers), np.array(chosen), np.array(free)

    def best(self, preferences: Floats) -> str:
        """Return the text of the known cell with the largest sum of preferences for its options.

        Of the architectures that are a cell, the most preferred one counts. Vertices that lead nowhere have the
        operation that is preferred.
        """
        liked = np.array([preferences[places].max() for places in self._operations])
        totals = self._chosen_options @ preferences + self._free @ liked
        return self.texts[int(self._numbers[int(np.argmax(totals))])]

    def _chosen(self, sources: Sources, placed: Placed) -> Floats:
        row = np.zeros(len(self._places))
        for vertex, name in placed.items():
            row[self._places[f"operation of {vertex}", name]] = 1
        for vertex, leading in enumerate(sources, start=1):
            title = "output" if vertex == len(sources) else str(vertex)
            for source in leading:
                if (place := self._places.get((f"inputs of {title}", str(source)))) is not None:
                    row[place] = 1
        return row


def _encodings(parents: tuple[int, ...], cells: list[Cell101]) -> Iterator[tuple[int, Sources, Placed]]:
    """Yield each graph of the space that is a known cell with the operations of its used vertices."""
    by_graph: dict[Sources, list[int]] = defaultdict(list)
    for number, cell in enumerate(cells):
        by_graph[cell.sources].append(number)
    for sources, canonical, orders in _graphs(parents):
        for number in by_graph.get(canonical, ()):
            for order in orders:
                yield number, sources, dict(zip(order, cells[number].operations, strict=True))


@functools.cache
def _graphs(parents: tuple[int, ...]) -> list[tuple[Sources, Sources, tuple[tuple[int, ...], ...]]]:
    """Return each graph of a space, its canonical form, and the vertices of that in all orders that lead to it."""
    found = []
    options = (itertools.combinations(range(vertex), count) for vertex, count in enumerate(parents, start=1))
    for sources in itertools.product(*options):
        used = used_vertices(sources)
        canonical, orders = first_arrangement(rearranged(sources, used))
        found.append((sources, canonical, tuple(tuple(used[place] for place in order[1:-1]) for order in orders)))
    return found
