"""Cells of NAS-Bench-101: their text, pruning, and equivalence.

    conv1x1~0|conv3x3~0,1|output~1,2

lists the vertices after the cell's input, each with its operation and the numbers of the vertices that lead to it. The
input is vertex 0. A vertex that nothing leads to has an empty list: `maxpool3x3~`.
"""

from __future__ import annotations

import functools
import hashlib
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from firstlight.core.errors import DataError, ParseError, TableError
from firstlight.spaces.base import Architecture

# in the order of the benchmark's hash; tables write them as the digits 0, 1 and 2
OPERATIONS = ("conv3x3", "conv1x1", "maxpool3x3")
OUTPUT = "output"
MOST_VERTICES = 7
MOST_EDGES = 9

# The sources of each vertex after the input, in ascending order
Sources = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Cell101(Architecture):
    """The operations of the inner vertices 1, 2, ..., and the sources of each of them and of the output, the last."""

    operations: tuple[str, ...]
    sources: Sources

    def __str__(self) -> str:
        return "|".join(
            f"{name}~{','.join(map(str, leading))}"
            for name, leading in zip((*self.operations, OUTPUT), self.sources, strict=True)
        )

    @classmethod
    def from_matrix(cls, adjacency: str, operations: Sequence[str]) -> Cell101:
        """Make a cell from its adjacency matrix, row by row in 0 and 1, and the operations of the inner vertices.

        Raises:
            TableError: If the matrix is not that of a cell, or an operation is unknown.
        """
        vertices = len(operations) + 2
        if len(adjacency) != vertices**2 or set(adjacency) - {"0", "1"}:
            raise TableError(
                f"{adjacency!r} is not the matrix of a cell with {vertices - 2} inner vertices: "
                f"expected {vertices} x {vertices} characters 0 or 1, row by row."
            )
        unknown = [name for name in operations if name not in OPERATIONS]
        if unknown:
            raise TableError(
                f"A cell of NAS-Bench-101 has no operation {unknown[0]!r}. It has: {', '.join(OPERATIONS)}."
            )
        columns = [adjacency[vertex::vertices] for vertex in range(vertices)]  # a column holds a vertex's sources
        if any("1" in column[vertex:] for vertex, column in enumerate(columns)):
            raise TableError(f"{adjacency!r} is not the matrix of a cell: an edge does not lead to a later vertex.")
        sources = tuple(tuple(source for source, edge in enumerate(column) if edge == "1") for column in columns[1:])
        return cls(tuple(operations), sources)

    @classmethod
    def from_digits(cls, adjacency: str, digits: str) -> Cell101:
        """Make a cell from its matrix and digits 0, 1 and 2, which stand for `OPERATIONS`."""
        if set(digits) - set("012"):
            raise TableError(f"{digits!r} are not operations of a NAS-Bench-101 cell: expected only digits 0, 1 and 2.")
        return cls.from_matrix(adjacency, [OPERATIONS[int(digit)] for digit in digits])

    @property
    def edges(self) -> int:
        return sum(map(len, self.sources))

    def pruned(self) -> Cell101:
        """Remove the vertices that are on no path from input to output. The others keep their order.

        Raises:
            DataError: If there is no path from input to output.
        """
        used = used_vertices(self.sources)
        if not used:
            raise DataError(f"The cell {self} has no path from input to output.")
        operations = tuple(self.operations[vertex - 1] for vertex in used[1:-1])
        return Cell101(operations, rearranged(self.sources, used))

    def canonical(self) -> Cell101:
        """Return the pruned cell with its vertices in the order in which the benchmark first enumerates it.

        The benchmark counts matrices up in binary, with the edge 0-1 as the last digit, then 0-2, 1-2, 0-3 and so on;
        for one matrix it goes through the operations in the order of `OPERATIONS`.
        """
        cell = self.pruned()
        sources, orders = first_arrangement(cell.sources)
        operations = min(tuple(OPERATIONS.index(cell.operations[v - 1]) for v in order[1:-1]) for order in orders)
        return Cell101(tuple(OPERATIONS[index] for index in operations), sources)

    def module_hash(self) -> str:
        """Return the hash of the cell in the benchmark: MD5 sums of neighborhoods that grow by one edge per round."""
        cell = self.pruned()
        into: list[tuple[int, ...]] = [(), *cell.sources]
        out_of = [[v for v, leading in enumerate(into) if vertex in leading] for vertex in range(len(into))]
        labels = [-1, *map(OPERATIONS.index, cell.operations), -2]
        sums = [
            _md5(str((len(behind), len(before), label)))
            for label, before, behind in zip(labels, into, out_of, strict=True)
        ]
        for _ in labels:
            sums = [
                _md5(f"{_joined(sums, before)}|{_joined(sums, behind)}|{own}")
                for own, before, behind in zip(sums, into, out_of, strict=True)
            ]
        return _md5(str(sorted(sums)))

    def widths(self, inputs: int, outputs: int) -> tuple[int, ...]:
        """Return the channels of every vertex of a pruned cell, input and output included.

        The inner vertices that lead to the output share its channels; if they do not divide evenly, the first ones get
        one more. Any other vertex is as wide as the widest vertex that it leads to.
        """
        last = len(self.sources)
        widths = [inputs, *[0] * (last - 1), outputs]
        sharing = [source for source in self.sources[-1] if source]
        for rank, vertex in enumerate(sharing):
            widths[vertex] = outputs // len(sharing) + (rank < outputs % len(sharing))
        for vertex in range(last - 1, 0, -1):
            if vertex not in sharing:
                widths[vertex] = max(widths[v] for v in range(vertex + 1, last) if vertex in self.sources[v - 1])
        return tuple(widths)


def with_other_operation(cell: Cell101, index: int, rng: random.Random) -> Cell101:
    operations = list(cell.operations)
    operations[index] = rng.choice([name for name in OPERATIONS if name != operations[index]])
    return Cell101(tuple(operations), cell.sources)


def used_vertices(sources: Sources) -> tuple[int, ...]:
    """Return the vertices on paths from input to output, in order; empty if there is no such path."""
    last = len(sources)
    reached, leading = {0}, {last}
    for vertex in range(1, last + 1):
        if not reached.isdisjoint(sources[vertex - 1]):
            reached.add(vertex)
    for vertex in range(last, 0, -1):
        if vertex in leading:
            leading.update(sources[vertex - 1])
    return tuple(sorted(reached & leading)) if last in reached else ()


def rearranged(sources: Sources, order: Sequence[int]) -> Sources:
    """Return the sources of the vertices in `order`, renumbered by it. Edges from other vertices are dropped."""
    place = {vertex: number for number, vertex in enumerate(order)}
    return tuple(
        tuple(sorted(place[source] for source in sources[vertex - 1] if source in place)) for vertex in order[1:]
    )


@functools.lru_cache(maxsize=2**15)
def first_arrangement(sources: Sources) -> tuple[Sources, tuple[tuple[int, ...], ...]]:
    """Return the sources with the smallest matrix of all orders of a pruned cell, and the orders that lead to it."""
    by_matrix: dict[Sources, list[tuple[int, ...]]] = {}
    for order in _orders(sources, (0,)):
        by_matrix.setdefault(rearranged(sources, order), []).append(order)
    first = min(by_matrix, key=_matrix_number)
    return first, tuple(by_matrix[first])


def _orders(sources: Sources, placed: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Yield all topological orders of the vertices, input first and output last."""
    last = len(sources)
    if len(placed) == last:
        yield (*placed, last)
    for vertex in range(1, last):
        if vertex not in placed and all(source in placed for source in sources[vertex - 1]):
            yield from _orders(sources, (*placed, vertex))


def _matrix_number(sources: Sources) -> int:
    """Return the matrix as a binary number: edges to later vertices weigh more, and so do edges from later ones."""
    return sum(
        1 << (vertex * (vertex - 1) // 2 + source) for vertex, leading in enumerate(sources, 1) for source in leading
    )


def _md5(text: str) -> str:
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()


def _joined(sums: Sequence[str], vertices: Iterable[int]) -> str:
    return "".join(sorted(sums[vertex] for vertex in vertices))


def read_cell(text: str, parents: Sequence[int] = ()) -> tuple[Cell101, dict[tuple[int, int], int]]:
    """Read a cell, and the position of each of its edges (source, target) in the text.

    Args:
        text: The text of the cell.
        parents: Number of sources that each vertex after the input must have; any if empty.

    Raises:
        ParseError: If the text is not that of such a cell.
    """
    reader = _Reader(text)
    operations: list[str] = []
    sources: list[tuple[int, ...]] = []
    places: dict[tuple[int, int], int] = {}
    most = len(parents) or MOST_VERTICES - 1
    while True:
        vertex = len(sources) + 1
        names = (OUTPUT,) if vertex == most else OPERATIONS if parents else (*OPERATIONS, OUTPUT)
        name = reader.take(*names)
        reader.take("~")
        leading: list[int] = []
        for source, place in reader.sources(vertex, parents[vertex - 1] if parents else None):
            leading.append(source)
            places[source, vertex] = place
        sources.append(tuple(leading))
        if name == OUTPUT:
            reader.end()
            return Cell101(tuple(operations), tuple(sources)), places
        operations.append(name)
        reader.take("|")


class _Reader:
    """Reads a text from left to right. Methods raise `ParseError` if the text is not as expected."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0

    def sees(self, literal: str) -> bool:
        return self.text.startswith(literal, self.position)

    def take(self, *options: str) -> str:
        found = next(filter(self.sees, options), None)
        if found is None:
            allowed = f"one of {', '.join(options)}" if len(options) > 1 else repr(options[0])
            raise ParseError(self.text, self.position, allowed)
        self.position += len(found)
        return found

    def sources(self, vertex: int, count: int | None) -> Iterator[tuple[int, int]]:
        """Yield the sources of a vertex, ascending, with their positions: `count` of them, or as many as there are."""
        if count is None and (self.sees("|") or self.position == len(self.text)):
            return
        lowest = taken = 0
        while True:
            above = vertex - (count - taken - 1 if count else 0)  # leaves room for the sources that must follow
            place = self.position
            source = int(self.take(*map(str, range(lowest, above))))
            yield source, place
            lowest, taken = source + 1, taken + 1
            if taken == count or lowest == vertex or (count is None and not self.sees(",")):
                return
            self.take(",")

    def end(self) -> None:
        if self.position < len(self.text):
            raise ParseError(self.text, self.position, "the end of the text")
