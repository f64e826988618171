"""Horizontal bars."""

from __future__ import annotations

from markupsafe import Markup, escape

from firstlight.views.charts.description import Bars
from firstlight.views.charts.svg.frame import WIDTH, Across, svg

TOP, ROW = 8, 22


def bars(chart: Bars) -> Markup:
    """A bar for each entry, with a whisker for its interval."""
    entries = chart.bars
    ends = [0.0, *(end for bar in entries for end in bar.interval)]
    axis = Across([bar.name for bar in entries], ends, ROW * len(entries), TOP)
    x, parts = axis.x, axis.drawn(chart.label)
    for number, bar in enumerate(entries):
        top, middle = TOP + ROW * number + 3, TOP + ROW * number + ROW / 2
        start, width = min(x(0), x(bar.value)), abs(x(bar.value) - x(0))
        low, high = bar.interval
        around = f" (95% interval {low:.3f} to {high:.3f})" if low < high else ""
        parts.append(axis.name(bar.name, middle))
        parts.append(
            f'<rect class="bar" x="{start:.1f}" y="{top}" width="{width:.1f}" height="{ROW - 6}">'
            f"<title>{escape(f'{bar.name}: {bar.value:.3f}{around}')}</title></rect>"
        )
        if low < high:
            parts.append(
                f'<path class="whisker" d="M{x(low):.1f},{middle}H{x(high):.1f}'
                f'M{x(low):.1f},{middle - 4}v8M{x(high):.1f},{middle - 4}v8"/>'
            )
    return svg(WIDTH, axis.height, f"{chart.label}, {len(entries)} bars", parts)
