"""Horizontal box plots."""

from __future__ import annotations

from markupsafe import Markup, escape

from firstlight.views.charts.description import Boxes
from firstlight.views.charts.svg.frame import BOTTOM, LONGEST, RIGHT, WIDTH, cut, in_step, round_ticks, svg

TOP, ROW = 8, 34


def boxes(chart: Boxes) -> Markup:
    """A box from the first to the third quartile, a line at the median, whiskers to the ends, and a dot per value."""
    left = round(20 + 7.8 * min(LONGEST, max(map(len, chart.boxes))))
    ends = [end for numbers in chart.boxes.values() for end in numbers]
    ticks = round_ticks(min(ends), max(ends))
    height = TOP + ROW * len(chart.boxes) + BOTTOM
    base = height - BOTTOM

    def x(value: float) -> float:
        return left + (value - ticks[0]) / (ticks[-1] - ticks[0]) * (WIDTH - left - RIGHT)

    parts = []
    for tick, text in zip(ticks, in_step(ticks), strict=True):
        parts.append(f'<line class="grid" x1="{x(tick):.1f}" x2="{x(tick):.1f}" y1="{TOP}" y2="{base}"/>')
        parts.append(f'<text class="tick" x="{x(tick):.1f}" y="{base + 18}" text-anchor="middle">{text}</text>')
    for number, (name, (least, low, median, high, most)) in enumerate(chart.boxes.items()):
        top, middle = TOP + ROW * number + 6, TOP + ROW * number + ROW / 2
        told = f"{name}: median {median:.4g}, quartiles {low:.4g} and {high:.4g}, from {least:.4g} to {most:.4g}"
        parts.append(f'<text x="{left - 8}" y="{middle + 4:.1f}" text-anchor="end">{escape(cut(name, LONGEST))}</text>')
        parts.append(
            f'<rect class="box" x="{x(low):.1f}" y="{top}" width="{x(high) - x(low):.1f}" height="{ROW - 12}">'
            f"<title>{escape(told)}</title></rect>"
        )
        parts.append(
            f'<path class="whisker" d="M{x(least):.1f},{middle}H{x(low):.1f}M{x(high):.1f},{middle}H{x(most):.1f}'
            f'M{x(median):.1f},{top}v{ROW - 12}"/>'
        )
        parts += [f'<circle class="dot" cx="{x(v):.1f}" cy="{middle}" r="2"/>' for v in chart.samples[name]]
    middle = (left + WIDTH - RIGHT) / 2
    parts.append(f'<text class="label" x="{middle}" y="{height - 8}" text-anchor="middle">{escape(chart.label)}</text>')
    return svg(WIDTH, height, f"{chart.label}, {len(chart.boxes)} boxes", parts)
