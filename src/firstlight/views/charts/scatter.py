"""Dots."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

from firstlight.views.charts.frame import HEIGHT, WIDTH, Axes, svg
from firstlight.views.charts.lines import Line


@dataclass(frozen=True)
class Point:
    """A dot has a tooltip of its own, or the row of a network of the page, which there is more to tell about."""

    x: float
    y: float
    tooltip: str = ""
    chosen: bool = False
    row: int | None = None

    def drawn(self, axes: Axes, radius: int) -> str:
        kind = "dot chosen" if self.chosen else "dot"
        told = "" if self.row is None else f' data-row="{self.row}"'
        title = f"<title>{escape(self.tooltip)}</title>" if self.tooltip else ""
        return (
            f'<circle class="{kind}" cx="{axes.x(self.x):.1f}" cy="{axes.y(self.y):.1f}" '
            f'r="{6 if self.chosen else radius}"{told}>{title}</circle>'
        )


def dots(axes: Axes, points: Sequence[Point], radius: int = 3) -> list[str]:
    """The chosen one is larger, and drawn last."""
    return [point.drawn(axes, radius) for point in sorted(points, key=lambda point: point.chosen)]


def scatter(
    points: Sequence[Point],
    x_label: str,
    y_label: str,
    *,
    record: bool = False,
    logarithmic: bool = False,
    level: Line | None = None,
    of: str = "networks",
    columns: Sequence[int] = (),
) -> Markup:
    """Dots, the chosen one larger and drawn last; `record` adds the highest value up to each x, as a staircase.

    A `level` is a line to compare the dots with. All y must be above 0 if they are `logarithmic`. `columns` are those
    of the page's networks that are told of a dot with a row.
    """
    if not points:
        return Markup("<p>No network has a score yet.</p>")
    compared = level.points if level else ()
    axes = Axes(
        [*(point.x for point in points), *(x for x, _ in compared)],
        [*(point.y for point in points), *(y for _, y in compared)],
        logarithmic=logarithmic,
    )
    parts = [axes.frame(x_label, y_label)]
    if level:
        parts.append(level.drawn(axes))
    if record:
        in_order = sorted(points, key=lambda point: point.x)
        highest = itertools.accumulate((point.y for point in in_order), max)
        steps = [f"H{axes.x(point.x):.1f}V{axes.y(y):.1f}" for point, y in zip(in_order, highest, strict=True)]
        start = f"M{axes.x(in_order[0].x):.1f},{axes.y(in_order[0].y):.1f}"
        parts.append(f'<path class="curve" d="{start}{"".join(steps)}"/>')
    parts += dots(axes, points)
    return svg(WIDTH, HEIGHT, f"{y_label} against {x_label}, {len(points)} {of}", parts, columns)
