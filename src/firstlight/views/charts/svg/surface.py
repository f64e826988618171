"""A function of two numbers as colors, and points on it."""

from __future__ import annotations

from markupsafe import Markup, escape

from firstlight.views.charts.description import Surface
from firstlight.views.charts.svg.frame import HEIGHT, WIDTH, Axes, svg
from firstlight.views.charts.svg.scatter import draw_points


def surface(chart: Surface) -> Markup:
    """A cell for each x and y, the fuller the higher its value."""
    xs, ys = chart.xs, chart.ys
    axes = Axes(xs, ys)
    flat = [value for row in chart.values for value in row]
    least, spread = min(flat), (max(flat) - min(flat)) or 1.0
    width = abs(axes.x(xs[-1]) - axes.x(xs[0])) / (len(xs) - 1)
    height = abs(axes.y(ys[-1]) - axes.y(ys[0])) / (len(ys) - 1)
    parts = [axes.frame(chart.x_label, chart.y_label)]
    for y, row in zip(ys, chart.values, strict=True):
        for x, value in zip(xs, row, strict=True):
            # the frame cuts cells at the edge in half
            left, right = max(axes.x(x) - width / 2, axes.x(xs[0])), min(axes.x(x) + width / 2, axes.x(xs[-1]))
            top, base = max(axes.y(y) - height / 2, axes.y(ys[-1])), min(axes.y(y) + height / 2, axes.y(ys[0]))
            place = f'x="{left:.1f}" y="{top:.1f}" width="{right - left:.1f}" height="{base - top:.1f}"'
            parts.append(
                f'<rect class="smooth agree" {place} fill-opacity="{0.05 + 0.75 * (value - least) / spread:.2f}">'
                f"<title>{escape(f'{x:.2f}, {y:.2f}: {chart.value_label} {value:.2f}')}</title></rect>"
            )
    parts += draw_points(chart.points, axes, radius=4)
    label = f"{chart.value_label} against {chart.x_label} and {chart.y_label}, {len(chart.points)} points tried"
    return svg(WIDTH, HEIGHT, label, parts)
