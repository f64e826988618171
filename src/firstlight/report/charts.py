"""Small charts as SVG text: no scripts, no fonts, readable in light and dark, every mark with a tooltip."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

WIDTH, HEIGHT = 640, 320
LEFT, RIGHT, TOP, BOTTOM = 64, 16, 12, 48


@dataclass(frozen=True)
class Point:
    x: float
    y: float
    tooltip: str
    chosen: bool = False


def scatter(points: Sequence[Point], x_label: str, y_label: str, *, record: bool = False) -> Markup:
    """Dots, the chosen one larger and drawn last; `record` adds the highest value up to each x, as a staircase."""
    if not points:
        return Markup("<p>No network has a score yet.</p>")
    axes = _Axes([point.x for point in points], [point.y for point in points])
    parts = [axes.frame(x_label, y_label)]
    if record:
        in_order = sorted(points, key=lambda point: point.x)
        highest = itertools.accumulate((point.y for point in in_order), max)
        steps = [f"H{axes.x(point.x):.1f}V{axes.y(y):.1f}" for point, y in zip(in_order, highest, strict=True)]
        start = f"M{axes.x(in_order[0].x):.1f},{axes.y(in_order[0].y):.1f}"
        parts.append(f'<path class="curve" d="{start}{"".join(steps)}"/>')
    for point in sorted(points, key=lambda point: point.chosen):
        kind, radius = ("dot chosen", 6) if point.chosen else ("dot", 3)
        parts.append(
            f'<circle class="{kind}" cx="{axes.x(point.x):.1f}" cy="{axes.y(point.y):.1f}" r="{radius}">'
            f"<title>{escape(point.tooltip)}</title></circle>"
        )
    label = escape(f"{y_label} against {x_label}, {len(points)} networks")
    return Markup(f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{label}">{"".join(parts)}</svg>')


class _Axes:
    """Maps data to pixels, with round numbers as ticks."""

    def __init__(self, xs: Sequence[float], ys: Sequence[float]) -> None:
        self.x_ticks, self.y_ticks = _ticks(min(xs), max(xs)), _ticks(min(ys), max(ys))

    def x(self, value: float) -> float:
        low, high = self.x_ticks[0], self.x_ticks[-1]
        return LEFT + (value - low) / (high - low) * (WIDTH - LEFT - RIGHT)

    def y(self, value: float) -> float:
        low, high = self.y_ticks[0], self.y_ticks[-1]
        return HEIGHT - BOTTOM - (value - low) / (high - low) * (HEIGHT - TOP - BOTTOM)

    def frame(self, x_label: str, y_label: str) -> str:
        base = HEIGHT - BOTTOM
        parts = []
        for tick in self.x_ticks:
            parts.append(
                f'<text class="tick" x="{self.x(tick):.1f}" y="{base + 18}" text-anchor="middle">{_short(tick)}</text>'
            )
        for tick in self.y_ticks:
            y = self.y(tick)
            parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
            parts.append(f'<text class="tick" x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{_short(tick)}</text>')
        centre, middle = (LEFT + WIDTH - RIGHT) / 2, (TOP + base) / 2
        for place, label in ((f"{centre} {HEIGHT - 8}", x_label), (f"14 {middle}) rotate(-90", y_label)):
            parts.append(
                f'<text class="label" transform="translate({place})" text-anchor="middle">{escape(label)}</text>'
            )
        return "".join(parts)


def _ticks(low: float, high: float) -> list[float]:
    """About five round numbers whose first and last enclose the data."""
    if high - low < 1e-9 * max(abs(low), abs(high), 1e-300):  # nothing that floating point could tell apart
        low, high = low - 0.5, high + 0.5
    raw = (high - low) / 4
    magnitude = 10.0 ** math.floor(math.log10(raw))
    step = next(factor * magnitude for factor in (1, 2, 2.5, 5, 10) if factor * magnitude >= raw)
    first, last = math.floor(low / step), math.ceil(high / step)
    return [number * step for number in range(first, last + 1)]


def _short(value: float) -> str:
    for size, suffix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:g}{suffix}"
    return f"{value:.6g}"
