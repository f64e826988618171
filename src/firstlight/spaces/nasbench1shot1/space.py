"""NAS-Bench-1Shot1: NAS-Bench-101 cells with a fixed number of parents for each vertex (Zela et al., ICLR 2020).

    conv1x1~0|conv3x3~0,1|maxpool3x3~0,2|conv1x1~0,1|output~0,1

is an architecture of the first space. The text is that of the NAS-Bench-101 cell: `nasbench101` can parse it, and
returns the canonical form under which tables of that benchmark list it.
"""

from __future__ import annotations

import functools
import itertools
import math
import random
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from firstlight.spaces.nasbench101.cell import (
    OPERATIONS,
    Cell101,
    Sources,
    first_arrangement,
    read_cell,
    rearranged,
    used_vertices,
    with_other_operation,
)
from firstlight.spaces.nasbench101.network import Space101

if TYPE_CHECKING:
    from firstlight.spaces.supernets import OneShot


class NASBench1Shot1(Space101):
    """Every vertex has parents among the previous vertices, and one of three operations.

    Vertices that do not lead to the output ("loose ends") are allowed and have no effect.
    """

    reference = "Zela2020nasbench1shot1"
    channels_last = True
    benchmark = "NAS-Bench-1Shot1: looked up in NAS-Bench-101"
    used_by = ("Shu2022nasi",)

    @property
    @abstractmethod
    def parents(self) -> tuple[int, ...]:
        """Number of parents of each vertex after the input. The last vertex is the output."""

    def __len__(self) -> int:
        graphs = math.prod(math.comb(vertex, count) for vertex, count in enumerate(self.parents, start=1))
        labelings: int = len(OPERATIONS) ** (len(self.parents) - 1)
        return graphs * labelings

    def __iter__(self) -> Iterator[Cell101]:
        for sources in _graphs(self.parents):
            for operations in itertools.product(OPERATIONS, repeat=len(self.parents) - 1):
                yield Cell101(operations, sources)

    def sample(self, rng: random.Random) -> Cell101:
        parents = [rng.sample(range(vertex), count) for vertex, count in enumerate(self.parents, start=1)]
        operations = rng.choices(OPERATIONS, k=len(self.parents) - 1)
        return Cell101(tuple(operations), tuple(tuple(sorted(sources)) for sources in parents))

    def mutate(self, architecture: Cell101, rng: random.Random) -> Cell101:
        """Replace one parent or one operation."""
        inner = len(architecture.operations)
        undecided = [vertex for vertex, count in enumerate(self.parents, start=1) if count < vertex]
        choice = rng.randrange(inner + len(undecided))
        if choice < inner:
            return with_other_operation(architecture, choice, rng)
        vertex = undecided[choice - inner]
        sources = list(architecture.sources)
        leaving = rng.choice(sources[vertex - 1])
        coming = rng.choice([source for source in range(vertex) if source not in sources[vertex - 1]])
        sources[vertex - 1] = tuple(sorted({*sources[vertex - 1], coming} - {leaving}))
        return Cell101(architecture.operations, tuple(sources))

    def parse(self, text: str) -> Cell101:
        return read_cell(text.strip(), self.parents)[0]

    def canonical(self, architecture: Cell101) -> Cell101:
        """Return the representative of all architectures that are the same cell once pruned.

        It has the first graph of the space that contains the cell; unused vertices get the first operation.
        """
        found = self.standing_for(architecture)
        assert found is not None  # its own graph has room for it
        return found

    def standing_for(self, cell: Cell101) -> Cell101 | None:
        """Return the same for any cell of NAS-Bench-101; None if no architecture of this space is that cell."""
        cell = cell.canonical()
        if cell.sources not in _first_graphs(self.parents):
            return None
        sources, places = _first_graphs(self.parents)[cell.sources]
        operations = [OPERATIONS[0]] * (len(self.parents) - 1)
        for place, operation in zip(places, cell.operations, strict=True):
            operations[place - 1] = operation
        return Cell101(tuple(operations), sources)

    def choices(self) -> tuple[tuple[str, ...], ...]:
        """Return the operation of each inner vertex, then the parents of each vertex after the input."""
        parents = (tuple(",".join(map(str, sources)) for sources in vertex) for vertex in _parents(self.parents))
        return (*(OPERATIONS,) * (len(self.parents) - 1), *parents)

    def from_choices(self, indices: Sequence[int]) -> Cell101:
        inner = len(self.parents) - 1
        sources = (vertex[index] for vertex, index in zip(_parents(self.parents), indices[inner:], strict=True))
        return Cell101(tuple(OPERATIONS[index] for index in indices[:inner]), tuple(sources))

    def to_choices(self, architecture: Cell101) -> tuple[int, ...]:
        parents = zip(_parents(self.parents), architecture.sources, strict=True)
        return (*map(OPERATIONS.index, architecture.operations), *(vertex.index(own) for vertex, own in parents))

    def one_shot(self) -> OneShot:
        from firstlight.spaces.nasbench1shot1.supernet import OneShot1Shot1

        return OneShot1Shot1(self.name, self.parents)


class NASBench1Shot1S1(NASBench1Shot1):
    name = "nasbench1shot1-s1"
    evidence = (
        "0.712 [0.525, 0.817] on 60 networks of 16 channels; params 0.834 [0.713, 0.900]; at equal cost 0.513 [0.280, "
        "0.692], synflow 0.125 [-0.153, 0.486] (which-proxy-when)"
    )
    summary = "NAS-Bench-101 cells of four inner vertices with 1, 2, 2, 2 parents, output 2: 2,685 distinct"
    parents = (1, 2, 2, 2, 2)


class NASBench1Shot1S2(NASBench1Shot1):
    name = "nasbench1shot1-s2"
    evidence = (
        "0.625 [0.429, 0.754] on 60 networks of 16 channels; params 0.698 [0.522, 0.817]; at equal cost 0.642 [0.443, "
        "0.790], synflow 0.231 [-0.108, 0.568] (which-proxy-when)"
    )
    summary = "NAS-Bench-101 cells of four inner vertices with 1, 1, 2, 2 parents, output 3: 7,773 distinct"
    parents = (1, 1, 2, 2, 3)


class NASBench1Shot1S3(NASBench1Shot1):
    name = "nasbench1shot1-s3"
    evidence = (
        "0.674 [0.489, 0.799] on 60 networks of 16 channels; params 0.644 [0.419, 0.800]; at equal cost 0.512 [0.287, "
        "0.690], synflow -0.379 [-0.607, -0.116] (which-proxy-when)"
    )
    summary = "NAS-Bench-101 cells of five inner vertices with 1, 1, 1, 2, 2 parents, output 2: 55,854 distinct"
    parents = (1, 1, 1, 2, 2, 2)


def _parents(parents: tuple[int, ...]) -> list[Sources]:
    """Return the sets of parents that each vertex may have."""
    return [tuple(itertools.combinations(range(vertex), count)) for vertex, count in enumerate(parents, start=1)]


def _graphs(parents: tuple[int, ...]) -> Iterator[Sources]:
    return itertools.product(*_parents(parents))


@functools.cache
def _first_graphs(parents: tuple[int, ...]) -> dict[Sources, tuple[Sources, tuple[int, ...]]]:
    """For each canonical pruned graph, return the first graph that contains it, and its inner vertices there."""
    found: dict[Sources, tuple[Sources, tuple[int, ...]]] = {}
    for sources in _graphs(parents):
        used = used_vertices(sources)
        canonical, orders = first_arrangement(rearranged(sources, used))
        found.setdefault(canonical, (sources, tuple(used[vertex] for vertex in orders[0][1:-1])))
    return found
