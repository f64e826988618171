"""Dots."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from markupsafe import Markup, escape

from firstlight.views.charts.description import Point, Scatter
from firstlight.views.charts.svg.frame import HEIGHT, WIDTH, Axes, svg
from firstlight.views.charts.svg.lines import draw_line


def scatter(chart: Scatter) -> Markup:
    """Dots, the chosen ones larger and drawn last."""
    points, line = chart.points, chart.line
    if not points:
        return Markup("<p>No network has a score yet.</p>")
    compared = line.points if line else ()
    axes = Axes(
        [*(point.x for point in points), *(x for x, _ in compared)],
        [*(point.y for point in points), *(y for _, y in compared)],
        log_y=chart.log_y,
    )
    parts = [axes.frame(chart.x_label, chart.y_label)]
    if line:
        parts.append(draw_line(line, "other", axes, line.tooltip or line.name))
    if chart.with_record:
        parts.append(_record(points, axes))
    parts += draw_points(points, axes)
    label = f"{chart.y_label} against {chart.x_label}, {len(points)} {chart.noun}"
    return svg(WIDTH, HEIGHT, label, parts, chart.columns)


def draw_points(points: Sequence[Point], axes: Axes, radius: int = 3) -> list[str]:
    """A circle for each point; the chosen ones are larger and come last."""
    return [_draw(point, axes, radius) for point in sorted(points, key=lambda point: point.chosen)]


def _draw(point: Point, axes: Axes, radius: int) -> str:
    kind = "dot chosen" if point.chosen else "dot"
    row = "" if point.row is None else f' data-row="{point.row}"'
    title = f"<title>{escape(point.tooltip)}</title>" if point.tooltip else ""
    return (
        f'<circle class="{kind}" cx="{axes.x(point.x):.1f}" cy="{axes.y(point.y):.1f}" '
        f'r="{6 if point.chosen else radius}"{row}>{title}</circle>'
    )


def _record(points: Sequence[Point], axes: Axes) -> str:
    """The highest value up to each x, as stairs."""
    in_order = sorted(points, key=lambda point: point.x)
    highest = itertools.accumulate((point.y for point in in_order), max)
    steps = [f"H{axes.x(point.x):.1f}V{axes.y(y):.1f}" for point, y in zip(in_order, highest, strict=True)]
    start = f"M{axes.x(in_order[0].x):.1f},{axes.y(in_order[0].y):.1f}"
    return f'<path class="curve" d="{start}{"".join(steps)}"/>'
