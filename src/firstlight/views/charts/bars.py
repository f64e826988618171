"""Horizontal bars."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

from firstlight.views.charts.frame import BOTTOM, LONGEST, RIGHT, WIDTH, cut, in_step, round_ticks, svg

TOP = 8


@dataclass(frozen=True)
class Bar:
    """A value, with the interval around it if there is one."""

    name: str
    value: float
    low: float | None = None
    high: float | None = None

    @property
    def interval(self) -> tuple[float, float]:
        """The value itself without one."""
        return (self.value, self.value) if self.low is None or self.high is None else (self.low, self.high)


def bars(entries: Sequence[Bar], label: str) -> Markup:
    """One horizontal bar for each entry, from zero, with a whisker for the interval."""
    left, row = round(20 + 7.8 * min(LONGEST, max(len(bar.name) for bar in entries))), 22
    ends = [end for bar in entries for end in bar.interval]
    ticks = round_ticks(min(0.0, *ends), max(0.0, *ends))
    height = TOP + row * len(entries) + BOTTOM
    base = height - BOTTOM

    def x(value: float) -> float:
        return left + (value - ticks[0]) / (ticks[-1] - ticks[0]) * (WIDTH - left - RIGHT)

    parts = []
    for tick, text in zip(ticks, in_step(ticks), strict=True):
        parts.append(f'<line class="grid" x1="{x(tick):.1f}" x2="{x(tick):.1f}" y1="{TOP}" y2="{base}"/>')
        parts.append(f'<text class="tick" x="{x(tick):.1f}" y="{base + 18}" text-anchor="middle">{text}</text>')
    for number, bar in enumerate(entries):
        top, middle = TOP + row * number + 3, TOP + row * number + row / 2
        start, width = min(x(0), x(bar.value)), abs(x(bar.value) - x(0))
        low, high = bar.interval
        around = f", 95 % between {low:.3f} and {high:.3f}" if low < high else ""
        parts.append(
            f'<text x="{left - 8}" y="{middle + 4:.1f}" text-anchor="end">{escape(cut(bar.name, LONGEST))}</text>'
        )
        parts.append(
            f'<rect class="bar" x="{start:.1f}" y="{top}" width="{width:.1f}" height="{row - 6}">'
            f"<title>{escape(f'{bar.name}: {bar.value:.3f}{around}')}</title></rect>"
        )
        if low < high:
            parts.append(
                f'<path class="whisker" d="M{x(low):.1f},{middle}H{x(high):.1f}'
                f'M{x(low):.1f},{middle - 4}v8M{x(high):.1f},{middle - 4}v8"/>'
            )
    middle = (left + WIDTH - RIGHT) / 2
    parts.append(f'<text class="label" x="{middle}" y="{height - 8}" text-anchor="middle">{escape(label)}</text>')
    return svg(WIDTH, height, f"{label}, {len(entries)} bars", parts)
