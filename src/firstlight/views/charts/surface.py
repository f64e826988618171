"""A function of two numbers as colours, and points on it."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup, escape

from firstlight.views.charts.frame import HEIGHT, WIDTH, Axes, svg
from firstlight.views.charts.scatter import Point, dots


def surface(
    xs: Sequence[float],
    ys: Sequence[float],
    values: Sequence[Sequence[float]],
    points: Sequence[Point],
    x_label: str,
    y_label: str,
) -> Markup:
    """A cell for each x and y, the fuller the higher its value, a row for each y; and dots, the chosen one larger."""
    axes = Axes(xs, ys)
    flat = [value for row in values for value in row]
    least, spread = min(flat), (max(flat) - min(flat)) or 1.0
    width = abs(axes.x(xs[-1]) - axes.x(xs[0])) / (len(xs) - 1)
    height = abs(axes.y(ys[-1]) - axes.y(ys[0])) / (len(ys) - 1)
    parts = [axes.frame(x_label, y_label)]
    for y, row in zip(ys, values, strict=True):
        for x, value in zip(xs, row, strict=True):
            # those at the edge are cut in half by it
            left, right = max(axes.x(x) - width / 2, axes.x(xs[0])), min(axes.x(x) + width / 2, axes.x(xs[-1]))
            top, base = max(axes.y(y) - height / 2, axes.y(ys[-1])), min(axes.y(y) + height / 2, axes.y(ys[0]))
            place = f'x="{left:.1f}" y="{top:.1f}" width="{right - left:.1f}" height="{base - top:.1f}"'
            parts.append(
                f'<rect class="smooth agree" {place} fill-opacity="{0.05 + 0.75 * (value - least) / spread:.2f}">'
                f"<title>{escape(f'{x:.2f}, {y:.2f}: {value:.2f} expected')}</title></rect>"
            )
    parts += dots(axes, points, radius=4)
    return svg(WIDTH, HEIGHT, f"expected value against {x_label} and {y_label}, {len(points)} points tried", parts)
