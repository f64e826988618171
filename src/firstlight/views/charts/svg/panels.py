"""Small charts side by side, in rows, with a legend on top."""

from __future__ import annotations

from markupsafe import Markup, escape

from firstlight.views.charts.description import Loop, Panels, Point, Scatter
from firstlight.views.charts.svg.frame import Axes, Room, svg
from firstlight.views.charts.svg.loop import draw_loop

ROOM = Room(300, 240, 62, 14, 50, 44)
TOP = 26  # for the legend


def panels(chart: Panels) -> Markup:
    """As many in a row as the description has."""
    first = chart.rows[0][0]
    names = list(first.series) if isinstance(first, Scatter) else []
    parts = []
    for number, name in enumerate(names, start=1):
        x = ROOM.left + 180 * (number - 1)
        parts.append(f'{_mark(number, x, 12)}<text x="{x + 12}" y="16">{escape(name)}</text>')
    for down, row in enumerate(chart.rows):
        for right, panel in enumerate(row):
            place = f"translate({right * ROOM.width} {TOP + down * ROOM.height})"
            parts.append(f'<g transform="{place}">{_draw(panel)}</g>')
    width, height = max(map(len, chart.rows)) * ROOM.width, TOP + len(chart.rows) * ROOM.height
    shown = f" of {' and '.join(names)}" if names else ""
    return svg(width, height, f"{sum(map(len, chart.rows))} charts{shown}", parts)


def _draw(panel: Scatter | Loop) -> str:
    title = ", ".join(panel.title.split("\n"))
    heading = f'<text class="strong" x="{ROOM.left}" y="16">{escape(title)}</text>'
    if isinstance(panel, Loop):
        return "".join([heading, *draw_loop(panel, ROOM)])
    axes = Axes([point.x for point in panel.points], [point.y for point in panel.points], ROOM, log_y=panel.log_y)
    marks = [_point(point, axes) for point in panel.points]
    return "".join([heading, axes.frame(panel.x_label, panel.y_label), *marks])


def _point(point: Point, axes: Axes) -> str:
    return _mark(point.series, axes.x(point.x), axes.y(point.y))


def _mark(series: int, x: float, y: float) -> str:
    """A dot of the first series, a small square of the others."""
    if series == 1:
        return f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="3"/>'
    return f'<rect class="dot chosen" x="{x - 2.5:.1f}" y="{y - 2.5:.1f}" width="5" height="5"/>'
