"""A closed curve."""

from __future__ import annotations

from markupsafe import Markup

from firstlight.views.charts.description import Loop
from firstlight.views.charts.svg.frame import USUAL, Axes, Room, svg


def loop(chart: Loop) -> Markup:
    """The curve, and a dot where it begins."""
    parts = draw_loop(chart, USUAL)
    return svg(USUAL.width, USUAL.height, f"{chart.y_label} against {chart.x_label}, a closed curve", parts)


def draw_loop(chart: Loop, room: Room) -> list[str]:
    xs, ys = ([point[side] for point in chart.points] for side in (0, 1))
    axes = Axes(xs, ys, room, same_scale=True)
    path = "L".join(f"{axes.x(x):.1f},{axes.y(y):.1f}" for x, y in chart.points)
    start = f'<circle class="dot chosen" cx="{axes.x(xs[0]):.1f}" cy="{axes.y(ys[0]):.1f}" r="4"/>'
    return [axes.frame(chart.x_label, chart.y_label), f'<path class="curve" d="M{path}Z"/>', start]
