"""An architecture on a page: cells as graphs, chains as blocks, transformers as stacks.

Blocks are a list that wraps at the edge of the page, so that long chains can be read on a phone.
"""

from __future__ import annotations

from markupsafe import Markup, escape

from firstlight.spaces.base import Drawing
from firstlight.views.drawing.vector import draw_for_pages


def draw_in_page(drawing: Drawing) -> Markup:
    """Draw an architecture as HTML."""
    if drawing.form == "graph":
        return Markup(f'<div class="scroll drawing">{draw_for_pages(drawing)}</div>')
    first, *others = drawing.nodes
    steps = [label for _, _, label in sorted(drawing.edges)]
    blocks = [
        f"<li>{escape(step or name)}{f'<small>{escape(name)}</small>' if step else ''}</li>"
        for step, name in zip(steps, others, strict=True)
    ]
    return Markup(f'<ol class="blocks {drawing.form}"><li class="end">{escape(first)}</li>{"".join(blocks)}</ol>')
