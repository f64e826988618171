"""Horizontal box plots."""

from __future__ import annotations

from markupsafe import Markup, escape

from firstlight.views.charts.description import Boxes
from firstlight.views.charts.svg.frame import WIDTH, Across, svg

TOP, ROW = 8, 34


def boxes(chart: Boxes) -> Markup:
    """A box from the first to the third quartile, a line at the median, whiskers to the ends, and a dot per value."""
    ends = [end for numbers in chart.boxes.values() for end in numbers]
    axis = Across(chart.boxes, ends, ROW * len(chart.boxes), TOP)
    x, parts = axis.x, axis.drawn(chart.label)
    for number, (name, (least, low, median, high, most)) in enumerate(chart.boxes.items()):
        top, middle = TOP + ROW * number + 6, TOP + ROW * number + ROW / 2
        told = f"{name}: median {median:.4g}, quartiles {low:.4g} and {high:.4g}, from {least:.4g} to {most:.4g}"
        parts.append(axis.name(name, middle))
        parts.append(
            f'<rect class="box" x="{x(low):.1f}" y="{top}" width="{x(high) - x(low):.1f}" height="{ROW - 12}">'
            f"<title>{escape(told)}</title></rect>"
        )
        parts.append(
            f'<path class="whisker" d="M{x(least):.1f},{middle}H{x(low):.1f}M{x(high):.1f},{middle}H{x(most):.1f}'
            f'M{x(median):.1f},{top}v{ROW - 12}"/>'
        )
        parts += [f'<circle class="dot" cx="{x(v):.1f}" cy="{middle}" r="2"/>' for v in chart.samples[name]]
    return svg(WIDTH, axis.height, f"{chart.label}, {len(chart.boxes)} boxes", parts)
