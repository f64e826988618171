"""Positions of the nodes, arrows and labels of a drawing: x to the right, y down, in pixels.

Nodes are in rows from left to right. Straight arrows join neighbors; longer edges arc above and below in turn, which
keeps labels apart. Each connected graph has a row of its own, and a long chain is broken into several rows, each of
which begins with the last node of the row before.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from firstlight.spaces.base import Drawing

SPACING, NODE_HEIGHT, ARC = 190, 44, 58
LETTER = 7.2  # approximate width of a letter
MARGIN = 14
LONGEST_ROW = 4  # most arrows of a chain in a row

Point = tuple[float, float]
Edge = tuple[int, int, str]


@dataclass(frozen=True)
class Box:
    """A node."""

    name: str
    x: float
    y: float
    width: float


@dataclass(frozen=True)
class Arrow:
    """A cubic curve: its start, two control points and its end; between neighbors, a straight line."""

    points: tuple[Point, Point, Point, Point]
    label: str
    label_at: Point


@dataclass(frozen=True)
class Layout:
    """Everything to draw, and the size of the drawing."""

    width: float
    height: float
    boxes: tuple[Box, ...]
    arrows: tuple[Arrow, ...]


def lay_out(drawing: Drawing) -> Layout:
    """Place the nodes of a drawing in rows."""
    boxes: list[Box] = []
    arrows: list[Arrow] = []
    width = bottom = 0.0
    for nodes, edges in _rows(joined(drawing)):
        names = [drawing.nodes[node] for node in nodes]
        place = {node: number for number, node in enumerate(nodes)}
        row = _Row(names, [(place[start], place[end], label) for start, end, label in edges])
        boxes += row.boxes(bottom + row.above)
        arrows += row.arrows(bottom + row.above)
        width, bottom = max(width, row.right), bottom + row.above + row.below
    return Layout(width, bottom, tuple(boxes), tuple(arrows))


class _Row:
    """Nodes on one line, far enough apart for their labels."""

    def __init__(self, names: list[str], edges: list[Edge]) -> None:
        self.names, self.edges = names, edges
        self.widths = [max(NODE_HEIGHT, LETTER * len(name) + 18) for name in names]
        self.spans = sorted({end - start for start, end, _ in edges if end - start > 1})
        rises = [self._rise(start, end) for start, end, _ in edges if end - start > 1]
        self.above = NODE_HEIGHT / 2 + MARGIN + max(0, *(-rise for rise in rises), 0)
        self.below = NODE_HEIGHT / 2 + MARGIN + max(0, *rises, 0)
        self.right = self._x(len(names) - 1) + self.widths[-1] / 2 + MARGIN

    def _x(self, place: int) -> float:
        labels = [len(label) for start, end, label in self.edges if end - start == 1]
        step = max(SPACING / 1.6, LETTER * max(labels, default=0) + max(self.widths) + 24)
        return MARGIN + self.widths[0] / 2 + step * place

    def _rise(self, start: int, end: int) -> float:
        """Return the distance of an arc's crest from the line; negative above it."""
        return (1 if start % 2 else -1) * ARC * (1 + self.spans.index(end - start))

    def boxes(self, y: float) -> list[Box]:
        return [
            Box(name, self._x(place), y, width)
            for place, (name, width) in enumerate(zip(self.names, self.widths, strict=True))
        ]

    def arrows(self, y: float) -> Iterator[Arrow]:
        for start, end, label in self.edges:
            x0, x1 = self._x(start), self._x(end)
            if end - start == 1:
                x0, x1 = x0 + self.widths[start] / 2, x1 - self.widths[end] / 2
                third = (x1 - x0) / 3
                yield Arrow(((x0, y), (x0 + third, y), (x1 - third, y), (x1, y)), label, ((x0 + x1) / 2, y - 8))
                continue
            rise = self._rise(start, end)
            edge = y + (NODE_HEIGHT / 2 if rise > 0 else -NODE_HEIGHT / 2)
            bend = edge + (y + rise - edge) / 0.75  # a curve reaches three quarters of the way to its control points
            crest = y + rise + (16 if rise > 0 else -7)
            yield Arrow(((x0, edge), (x0 + 30, bend), (x1 - 30, bend), (x1, edge)), label, ((x0 + x1) / 2, crest))


def joined(drawing: Drawing) -> Drawing:
    """Join edges between the same two nodes into one with all their labels."""
    labels: dict[tuple[int, int], list[str]] = {}
    for start, end, label in drawing.edges:
        labels.setdefault((start, end), []).append(label)
    return Drawing(drawing.nodes, tuple((*ends, ", ".join(filter(None, of))) for ends, of in labels.items()))


def _rows(drawing: Drawing) -> Iterator[tuple[list[int], list[Edge]]]:
    """Yield the nodes and edges of each row."""
    for nodes in _parts(drawing):
        edges = [edge for edge in drawing.edges if edge[0] in nodes]
        is_chain = [(start, end) for start, end, _ in edges] == list(itertools.pairwise(nodes))
        length = LONGEST_ROW if is_chain and edges else len(nodes)
        for first in range(0, max(1, len(nodes) - 1), length):
            row = nodes[first : first + length + 1]
            yield row, [edge for edge in edges if edge[0] in row and edge[1] in row]


def _parts(drawing: Drawing) -> list[list[int]]:
    """Return the nodes of each connected part of the graph."""
    part = list(range(len(drawing.nodes)))
    for start, end, _ in sorted(drawing.edges):
        joined = {part[start], part[end]}
        part = [min(joined) if of in joined else of for of in part]
    return [[node for node, of in enumerate(part) if of == first] for first in sorted(set(part))]
