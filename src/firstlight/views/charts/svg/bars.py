"""Horizontal bars."""

from __future__ import annotations

from markupsafe import Markup, escape

from firstlight.views.charts.description import Bars
from firstlight.views.charts.svg.frame import BOTTOM, LONGEST, RIGHT, WIDTH, cut, in_step, round_ticks, svg

TOP, ROW = 8, 22


def bars(chart: Bars) -> Markup:
    """A bar for each entry, with a whisker for its interval."""
    entries = chart.bars
    left = round(20 + 7.8 * min(LONGEST, max(len(bar.name) for bar in entries)))
    ends = [end for bar in entries for end in bar.interval]
    ticks = round_ticks(min(0.0, *ends), max(0.0, *ends))
    height = TOP + ROW * len(entries) + BOTTOM
    base = height - BOTTOM

    def x(value: float) -> float:
        return left + (value - ticks[0]) / (ticks[-1] - ticks[0]) * (WIDTH - left - RIGHT)

    parts = []
    for tick, text in zip(ticks, in_step(ticks), strict=True):
        parts.append(f'<line class="grid" x1="{x(tick):.1f}" x2="{x(tick):.1f}" y1="{TOP}" y2="{base}"/>')
        parts.append(f'<text class="tick" x="{x(tick):.1f}" y="{base + 18}" text-anchor="middle">{text}</text>')
    for number, bar in enumerate(entries):
        top, middle = TOP + ROW * number + 3, TOP + ROW * number + ROW / 2
        start, width = min(x(0), x(bar.value)), abs(x(bar.value) - x(0))
        low, high = bar.interval
        around = f" (95% interval {low:.3f} to {high:.3f})" if low < high else ""
        parts.append(
            f'<text x="{left - 8}" y="{middle + 4:.1f}" text-anchor="end">{escape(cut(bar.name, LONGEST))}</text>'
        )
        parts.append(
            f'<rect class="bar" x="{start:.1f}" y="{top}" width="{width:.1f}" height="{ROW - 6}">'
            f"<title>{escape(f'{bar.name}: {bar.value:.3f}{around}')}</title></rect>"
        )
        if low < high:
            parts.append(
                f'<path class="whisker" d="M{x(low):.1f},{middle}H{x(high):.1f}'
                f'M{x(low):.1f},{middle - 4}v8M{x(high):.1f},{middle - 4}v8"/>'
            )
    middle = (left + WIDTH - RIGHT) / 2
    parts.append(f'<text class="label" x="{middle}" y="{height - 8}" text-anchor="middle">{escape(chart.label)}</text>')
    return svg(WIDTH, height, f"{chart.label}, {len(entries)} bars", parts)
