"""Paths through cells: which kinds of operations are on them, and how long they are."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]
Whole = NDArray[np.int64]
Columns = dict[str, NDArray[Any]]
# (source, target, kinds of the operations on it, one bit for each)
Edge = tuple[int, int, int]


@dataclass(frozen=True)
class Paths:
    """All paths of some cells from one node to another.

    Attributes:
        kinds: The kinds of operations on each path as a bit mask. A row for each cell, shape (N, P).
        lengths: The number of edges of each path; 0 where a cell has fewer than P paths. Shape (N, P).
    """

    kinds: Whole
    lengths: Whole

    @classmethod
    def of(cls, cells: Iterable[Iterable[tuple[int, int]]]) -> Paths:
        """Make a table of the paths (kinds, length) of each cell."""
        rows = [list(paths) for paths in cells]
        table = np.zeros((len(rows), max(map(len, rows), default=0), 2), dtype=np.int64)
        for row, paths in zip(table, rows, strict=True):
            if paths:
                row[: len(paths)] = paths
        return cls(table[..., 0], table[..., 1])

    def within(self, allowed: int) -> NDArray[np.bool_]:
        """Return which paths have no other kinds of operations than those allowed. Shape (N, P)."""
        found: NDArray[np.bool_] = (self.lengths > 0) & ((self.kinds & ~allowed) == 0)
        return found

    def shortest(self, allowed: int, missing: NDArray[Any] | float) -> Numbers:
        """Return the length of the shortest path within the allowed kinds, or `missing`. Shape (N,)."""
        far = np.iinfo(np.int64).max
        least = np.where(self.within(allowed), self.lengths, far).min(axis=1, initial=far)
        return np.where(least < far, least, missing).astype(float)

    def longest(self, allowed: int) -> Numbers:
        """Return the length of the longest path within the allowed kinds, or 0. Shape (N,)."""
        most: Numbers = np.where(self.within(allowed), self.lengths, 0).max(axis=1, initial=0).astype(float)
        return most

    def count(self, allowed: int) -> Numbers:
        """Return the number of paths within the allowed kinds. Shape (N,)."""
        found: Numbers = self.within(allowed).sum(axis=1).astype(float)
        return found


def paths_between(edges: Iterable[Edge], start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the kinds and the length of every path from one node to another. Edges lead to later nodes."""
    leaving: Mapping[int, list[tuple[int, int]]] = defaultdict(list)
    for source, target, kinds in edges:
        leaving[source].append((target, kinds))
    waiting = [(start, 0, 0)]
    while waiting:
        node, kinds, length = waiting.pop()
        if node == end:
            yield kinds, length
            continue
        waiting += [(target, kinds | own, length + 1) for target, own in leaving[node]]


def subsets(names: Sequence[str]) -> Iterator[tuple[str, int]]:
    """Yield every non-empty subset of kinds as the text `a+b` and as a bit mask; the bit of a kind is its place."""
    for count in range(1, len(names) + 1):
        for chosen in itertools.combinations(range(len(names)), count):
            yield "+".join(names[place] for place in chosen), sum(1 << place for place in chosen)
