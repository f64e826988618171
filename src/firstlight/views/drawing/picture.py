"""A drawing as an image file: SVG, PNG or PDF, by its suffix."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from firstlight.spaces.base import Drawing
from firstlight.views.drawing.files import write_image
from firstlight.views.drawing.layout import NODE_HEIGHT, Layout, lay_out

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INK, LINE, FILL = "#1c1c28", "#5b5f97", "#eef0fb"
PER_INCH = 100  # pixels of the layout
SHARPNESS = 2  # pixels of a bitmap for each of the layout
TEXT_SIZE = 8


def write_picture(drawing: Drawing, path: Path) -> None:
    """Write a drawing as an image file. The same drawing gives the same file."""
    import matplotlib
    from matplotlib.figure import Figure

    layout = lay_out(drawing)
    with matplotlib.rc_context({"font.size": TEXT_SIZE}):
        figure = Figure(figsize=(layout.width / PER_INCH, layout.height / PER_INCH))
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set(xlim=(0, layout.width), ylim=(layout.height, 0))
        axes.set_axis_off()
        _add(axes, layout)
        write_image(figure, path, dots_per_inch=PER_INCH * SHARPNESS)


def _add(axes: Axes, layout: Layout) -> None:
    from matplotlib.patches import FancyArrowPatch, FancyBboxPatch
    from matplotlib.path import Path as Curve

    codes = [Curve.MOVETO, *[Curve.CURVE4] * 3]
    for arrow in layout.arrows:
        curve = Curve(list(arrow.points), codes)
        axes.add_patch(FancyArrowPatch(path=curve, arrowstyle="-|>", mutation_scale=9, color=LINE))
        label = axes.text(*arrow.label_at, arrow.label, ha="center", va="baseline", color=INK)
        label.set_bbox({"facecolor": "white", "edgecolor": "none", "pad": 0.6})
    for box in layout.boxes:
        round_end = NODE_HEIGHT / 2
        corner = (box.x - box.width / 2 + round_end, box.y)
        style = f"round,pad={round_end},rounding_size={round_end}"
        axes.add_patch(
            FancyBboxPatch(corner, box.width - NODE_HEIGHT, 0, boxstyle=style, facecolor=FILL, edgecolor=LINE)
        )
        axes.text(box.x, box.y, box.name, ha="center", va="center", color=INK)
