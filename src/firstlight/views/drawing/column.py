"""The layout of a graph whose nodes have long names: one below the other.

Straight arrows join neighbors; longer edges arc to the left and to the right in turn, further out the more nodes they
pass.
"""

from __future__ import annotations

from firstlight.spaces.base import Drawing
from firstlight.views.drawing.layout import LETTER, MARGIN, NODE_HEIGHT, Arrow, Box, Layout, Point, joined

STEP = 78  # from node to node
ARC = 44  # further out for each node that is passed


def lay_out_in_column(drawing: Drawing) -> Layout:
    """Place all nodes of a drawing in one column."""
    widths = [max(NODE_HEIGHT, LETTER * len(name) + 18) for name in drawing.nodes]
    edges = joined(drawing).edges
    half = max(widths) / 2
    spans = sorted({end - start for start, end, _ in edges if end - start > 1})
    longest = max((LETTER * len(label) / 2 for *_, label in edges), default=0)
    beside = max(ARC, longest + MARGIN / 2)  # keeps the labels of the nearest arcs off the nodes
    middle = MARGIN + max(half, half + beside + ARC * (len(spans) - 1)) + longest

    def y(node: int) -> float:
        return MARGIN + NODE_HEIGHT / 2 + STEP * node

    arrows = []
    for start, end, label in edges:
        points: tuple[Point, Point, Point, Point]
        if end - start == 1:
            top, base = y(start) + NODE_HEIGHT / 2, y(end) - NODE_HEIGHT / 2
            third = (base - top) / 3
            points = ((middle, top), (middle, top + third), (middle, base - third), (middle, base))
            arrows.append(Arrow(points, label, (middle, (top + base) / 2 + 4)))
            continue
        side = 1 if start % 2 else -1
        crest = middle + side * (half + beside + ARC * spans.index(end - start))
        leaves, arrives = middle + side * widths[start] / 2, middle + side * widths[end] / 2
        # a curve reaches three quarters of the way to its control points
        bend = (leaves + arrives) / 2 + (crest - (leaves + arrives) / 2) / 0.75
        points = ((leaves, y(start)), (bend, y(start) + STEP / 3), (bend, y(end) - STEP / 3), (arrives, y(end)))
        arrows.append(Arrow(points, label, (crest, (y(start) + y(end)) / 2 + 4)))
    boxes = tuple(
        Box(name, middle, y(node), width) for node, (name, width) in enumerate(zip(drawing.nodes, widths, strict=True))
    )
    height = y(len(drawing.nodes) - 1) + NODE_HEIGHT / 2 + MARGIN
    return Layout(2 * middle, height, boxes, tuple(arrows))
