"""A drawing on a page: an SVG in the colors of the page."""

from __future__ import annotations

from markupsafe import Markup, escape

from firstlight.spaces.base import Drawing
from firstlight.views.drawing.column import lay_out_in_column
from firstlight.views.drawing.layout import LETTER, NODE_HEIGHT, Layout, lay_out

_TIP = (
    '<defs><marker id="{name}" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" orient="auto">'
    '<path class="tip" d="M0 0L10 5L0 10z"/></marker></defs>'
)

# Width of a page; the nodes of a wider drawing go one below the other
WIDEST = 1200


def draw(drawing: Drawing) -> Markup:
    """Draw in rows, or in a column if rows are too wide."""
    layout = lay_out(drawing)
    return (
        _drawn(lay_out_in_column(drawing), drawing, "column")
        if layout.width > WIDEST
        else _drawn(layout, drawing, "row")
    )


def draw_for_pages(drawing: Drawing) -> Markup:
    """Draw in rows, and for phones in a column too if that is narrower; the page shows one of them."""
    down, usual = lay_out_in_column(drawing), lay_out(drawing)
    if usual.width > WIDEST or usual.width <= down.width:
        return draw(drawing)
    return _drawn(usual, drawing, "across") + _drawn(down, drawing, "down")


def _drawn(layout: Layout, drawing: Drawing, kind: str) -> Markup:
    tip = f"arrow-{kind}"  # a browser may not find a marker in a hidden drawing
    parts = [_TIP.format(name=tip)]
    for arrow in layout.arrows:
        start, *others = (f"{x:.0f},{y:.0f}" for x, y in arrow.points)
        parts.append(f'<path class="edge" d="M{start}C{" ".join(others)}" marker-end="url(#{tip})"/>')
    for arrow in layout.arrows:  # above all edges, so that none strikes a label through
        x, y = arrow.label_at
        if arrow.label:
            wide = LETTER * len(arrow.label)
            parts.append(
                f'<rect class="plate" x="{x - wide / 2:.0f}" y="{y - 11:.0f}" width="{wide:.0f}" height="15"/>'
            )
        parts.append(
            f'<text class="operation" x="{x:.0f}" y="{y:.0f}" text-anchor="middle">{escape(arrow.label)}</text>'
        )
    for box in layout.boxes:
        x, y = box.x - box.width / 2, box.y - NODE_HEIGHT / 2
        parts.append(
            f'<rect class="node" x="{x:.0f}" y="{y:.0f}" width="{box.width:.0f}" height="{NODE_HEIGHT}" '
            f'rx="{NODE_HEIGHT / 2}"/>'
            f'<text class="name" x="{box.x:.0f}" y="{box.y + 4:.0f}" text-anchor="middle">{escape(box.name)}</text>'
        )
    size = f'viewBox="0 0 {layout.width:.0f} {layout.height:.0f}" style="--drawn: {layout.width:.0f}px"'
    return Markup(
        f'<svg class="{kind}" {size} role="img" aria-label="{escape(in_words(drawing))}">{"".join(parts)}</svg>'
    )


def in_words(drawing: Drawing) -> str:
    """Describe a drawing for screen readers."""
    nodes = drawing.nodes
    return "; ".join(
        f"{nodes[start]} to {nodes[end]}" + (f": {label}" if label else "") for start, end, label in drawing.edges
    )
