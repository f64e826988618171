"""Slow twins of the path features: every path of a cell is walked, and asked about each set of operations."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

LabeledEdge = tuple[int, int, str | None]


def walks(edges: Sequence[LabeledEdge], start: int, end: int) -> Iterator[tuple[str | None, ...]]:
    """Yield the labels on every path from one node to another."""
    if start == end:
        yield ()
        return
    for source, target, label in edges:
        if source == start:
            for rest in walks(edges, target, end):
                yield (label, *rest)


def sets_of(names: Sequence[str]) -> list[tuple[str, ...]]:
    return [chosen for count in range(1, len(names) + 1) for chosen in itertools.combinations(names, count)]


def lengths_within(edges: Sequence[LabeledEdge], start: int, end: int, chosen: Sequence[str]) -> list[int]:
    """Return the lengths of the paths whose operations are all chosen; edges without a label are always allowed."""
    return [len(path) for path in walks(edges, start, end) if all(label is None or label in chosen for label in path)]
