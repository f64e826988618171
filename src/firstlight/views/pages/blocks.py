"""An architecture on a page: cells as graphs, chains as blocks, transformers as stacks.

Blocks are a list that wraps at the edge of the page, so that long chains can be read on a phone.
"""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup, escape

from firstlight.core.wording import counted
from firstlight.probe.stages import UNUSED, Stage
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


def draw_stages(stages: Sequence[Stage]) -> Markup:
    """Draw a whole network as HTML: a line for each stage, which unfolds to its layers."""
    if not stages:
        return Markup()
    most = max(stage.params for stage in stages) or 1
    total = sum(stage.params for stage in stages)
    parts = []
    for stage in stages:
        share = Markup('<span class="share" style="--part: {:.1%}"></span>').format(stage.params / most)
        summary = Markup("<b>{}</b><span>{}</span><span>{}</span><span>{} ({:.0%})</span>{}").format(
            stage.resolution, _widths(stage), counted(len(stage.layers), "layer"), *_amount(stage.params, total), share
        )
        layers = Markup().join(_layer(stage, number) for number in range(len(stage.layers)))
        parts.append(
            Markup(
                '<details><summary>{}</summary><div class="scroll"><table><caption>Layers at {}</caption>'
                '<thead><tr><th scope="col">layer</th><th scope="col">kind</th><th scope="col" class="number">output'
                '</th><th scope="col" class="number">parameters</th></tr></thead>'
                "<tbody>{}</tbody></table></div></details>"
            ).format(summary, stage.resolution, layers)
        )
    return Markup('<div class="stages">{}</div>').format(Markup().join(parts))


def _amount(params: int, total: int) -> tuple[str, float]:
    return counted(params, "parameter"), params / (total or 1)


def _widths(stage: Stage) -> str:
    low, high = stage.widths
    if stage.resolution == UNUSED:
        return ""
    return f"{low:,} wide" if low == high else f"{low:,} to {high:,} wide"


def _layer(stage: Stage, number: int) -> Markup:
    layer = stage.layers[number]
    return Markup(
        '<tr><td><code>{}</code></td><td>{}</td><td class="number">{}</td><td class="number">{:,}</td></tr>'
    ).format(layer.name or "the network itself", layer.kind, "x".join(map(str, layer.shape)) or "-", layer.params)
