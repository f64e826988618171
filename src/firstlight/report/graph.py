"""A cell drawn as a graph: nodes from left to right, an arrow with its operation for each edge."""

from __future__ import annotations

from markupsafe import Markup, escape

from firstlight.spaces import Drawing

SPACING, RADIUS, ARC = 190, 26, 64
MARGIN = RADIUS + 14


def draw(drawing: Drawing) -> Markup:
    """Neighbours are joined by straight arrows; longer edges arc above and below in turn, so that labels stay apart."""
    spans = sorted({end - start for start, end, _ in drawing.edges if end - start > 1})
    rises = [
        (1 if start % 2 else -1) * ARC * (1 + spans.index(end - start))
        for start, end, _ in drawing.edges
        if end - start > 1
    ]
    top, bottom = min(rises, default=0) - 40, max(rises, default=0) + 40
    width = SPACING * (len(drawing.nodes) - 1) + 2 * MARGIN
    parts = [
        '<defs><marker id="arrow" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" orient="auto">'
        '<path class="tip" d="M0 0L10 5L0 10z"/></marker></defs>'
    ]
    for start, end, operation in drawing.edges:
        x0, x1 = _x(start), _x(end)
        if end - start == 1:
            path, label_y = f"M{x0 + RADIUS},0H{x1 - RADIUS}", -9.0
        else:
            side = 1 if start % 2 else -1
            rise = side * (RADIUS + (ARC * (1 + spans.index(end - start)) - RADIUS) / 0.75)
            path = f"M{x0},{side * RADIUS}C{x0 + 30},{rise:.0f} {x1 - 30},{rise:.0f} {x1},{side * RADIUS}"
            label_y = side * ARC * (1 + spans.index(end - start)) + (18 if side > 0 else -8)
        parts.append(f'<path class="edge" d="{path}" marker-end="url(#arrow)"/>')
        parts.append(
            f'<text class="operation" x="{(x0 + x1) / 2}" y="{label_y}" text-anchor="middle">{escape(operation)}</text>'
        )
    for index, name in enumerate(drawing.nodes):
        parts.append(f'<circle class="node" cx="{_x(index)}" cy="0" r="{RADIUS}"/>')
        parts.append(f'<text class="name" x="{_x(index)}" y="4" text-anchor="middle">{escape(name)}</text>')
    nodes = drawing.nodes
    text = escape("; ".join(f"{nodes[start]} to {nodes[end]}: {operation}" for start, end, operation in drawing.edges))
    box = f"0 {top} {width} {bottom - top}"
    return Markup(f'<svg viewBox="{box}" role="img" aria-label="{text}">{"".join(parts)}</svg>')


def _x(node: int) -> int:
    return MARGIN + SPACING * node
