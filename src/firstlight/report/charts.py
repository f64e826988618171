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
    return _svg(WIDTH, HEIGHT, f"{y_label} against {x_label}, {len(points)} networks", parts)


@dataclass(frozen=True)
class Line:
    """Points joined in their order; `other` sets a group of lines apart by colour."""

    name: str
    points: Sequence[tuple[float, float]]
    other: bool = False


def lines(entries: Sequence[Line], x_label: str, y_label: str) -> Markup:
    """Lines in one frame, each with its name as a tooltip."""
    axes = _Axes(
        [x for line in entries for x, _ in line.points],
        [y for line in entries for _, y in line.points],
    )
    parts = [axes.frame(x_label, y_label)]
    for line in entries:
        path = "L".join(f"{axes.x(x):.1f},{axes.y(y):.1f}" for x, y in line.points)
        kind = "curve other" if line.other else "curve"
        parts.append(f'<path class="{kind}" d="M{path}"><title>{escape(line.name)}</title></path>')
    return _svg(WIDTH, HEIGHT, f"{y_label} against {x_label}, {len(entries)} lines", parts)


@dataclass(frozen=True)
class Band:
    """A line of means with the deviation above and below: points are (x, mean, deviation)."""

    name: str
    points: Sequence[tuple[float, float, float]]


# How many lines are told apart by colour and dashes; then they begin again
SERIES = 6


def bands(entries: Sequence[Band], x_label: str, y_label: str) -> Markup:
    """Lines with a band each, and their names below the frame."""
    points = [point for band in entries for point in band.points]
    edges = [y + sign * deviation for _, y, deviation in points for sign in (-1, 1)]
    axes = _Axes([x for x, _, _ in points], edges)
    parts = [axes.frame(x_label, y_label)]
    shown = [(band, f"series-{number % SERIES + 1}") for number, band in enumerate(entries)]
    for band, kind in shown:
        above = [f"{axes.x(x):.1f},{axes.y(y + deviation):.1f}" for x, y, deviation in band.points]
        below = [f"{axes.x(x):.1f},{axes.y(y - deviation):.1f}" for x, y, deviation in reversed(band.points)]
        parts.append(f'<path class="band {kind}" d="M{"L".join(above + below)}Z"/>')
    for number, (band, kind) in enumerate(shown):
        path = "L".join(f"{axes.x(x):.1f},{axes.y(y):.1f}" for x, y, _ in band.points)
        parts.append(f'<path class="curve {kind}" d="M{path}"><title>{escape(band.name)}</title></path>')
        y = HEIGHT + 18 * number + 4
        parts.append(f'<path class="curve {kind}" d="M{LEFT},{y}h32"/>')
        parts.append(f'<text x="{LEFT + 42}" y="{y + 4}">{escape(band.name)}</text>')
    label = f"{y_label} against {x_label}, {len(entries)} lines with bands"
    return _svg(WIDTH, HEIGHT + 18 * len(entries) + 4, label, parts)


@dataclass(frozen=True)
class Bar:
    """A value with the interval around it."""

    name: str
    value: float
    low: float
    high: float


def bars(entries: Sequence[Bar], label: str) -> Markup:
    """One horizontal bar for each entry, from zero, with a whisker for the interval."""
    left, row = 150, 22
    ticks = _ticks(min(0.0, *(bar.low for bar in entries)), max(0.0, *(bar.high for bar in entries)))
    height = TOP + row * len(entries) + BOTTOM
    base = height - BOTTOM

    def x(value: float) -> float:
        return left + (value - ticks[0]) / (ticks[-1] - ticks[0]) * (WIDTH - left - RIGHT)

    parts = []
    for tick in ticks:
        parts.append(f'<line class="grid" x1="{x(tick):.1f}" x2="{x(tick):.1f}" y1="{TOP}" y2="{base}"/>')
        parts.append(f'<text class="tick" x="{x(tick):.1f}" y="{base + 18}" text-anchor="middle">{_short(tick)}</text>')
    for number, bar in enumerate(entries):
        top, middle = TOP + row * number + 3, TOP + row * number + row / 2
        start, width = min(x(0), x(bar.value)), abs(x(bar.value) - x(0))
        tooltip = escape(f"{bar.name}: {bar.value:.3f}, 95 % between {bar.low:.3f} and {bar.high:.3f}")
        parts.append(f'<text x="{left - 8}" y="{middle + 4:.1f}" text-anchor="end">{escape(_cut(bar.name, 20))}</text>')
        parts.append(
            f'<rect class="bar" x="{start:.1f}" y="{top}" width="{width:.1f}" height="{row - 6}">'
            f"<title>{tooltip}</title></rect>"
        )
        parts.append(
            f'<path class="whisker" d="M{x(bar.low):.1f},{middle}H{x(bar.high):.1f}'
            f'M{x(bar.low):.1f},{middle - 4}v8M{x(bar.high):.1f},{middle - 4}v8"/>'
        )
    middle = (left + WIDTH - RIGHT) / 2
    parts.append(f'<text class="label" x="{middle}" y="{height - 8}" text-anchor="middle">{escape(label)}</text>')
    return _svg(WIDTH, height, f"{label}, {len(entries)} bars with intervals", parts)


def heat_map(names: Sequence[str], values: Sequence[Sequence[float]], label: str) -> Markup:
    """A square for each pair: blue where they agree (1), orange where they are opposed (-1), pale in between."""
    left, top, size = 150, 130, max(18, min(44, (WIDTH - 150 - RIGHT) // max(1, len(names))))
    parts = []
    for row, name in enumerate(names):
        middle = top + size * row + size / 2
        parts.append(f'<text x="{left - 8}" y="{middle + 4:.1f}" text-anchor="end">{escape(_cut(name, 20))}</text>')
        place = f"{left + size * row + size / 2:.1f} {top - 8}) rotate(-55"
        parts.append(f'<text transform="translate({place})">{escape(_cut(name, 20))}</text>')
        for column, value in enumerate(values[row]):
            x, y = left + size * column, top + size * row
            kind = "none" if math.isnan(value) else "agree" if value >= 0 else "oppose"
            opacity = 0.0 if math.isnan(value) else abs(value)
            known = "not defined" if math.isnan(value) else f"{value:.3f}"
            parts.append(
                f'<rect class="cell {kind}" x="{x}" y="{y}" width="{size - 1}" height="{size - 1}" '
                f'fill-opacity="{opacity:.2f}"><title>{escape(f"{name}, {names[column]}: {known}")}</title></rect>'
            )
            if size >= 30 and not math.isnan(value):
                parts.append(
                    f'<text class="operation" x="{x + size / 2:.1f}" y="{y + size / 2 + 4:.1f}" text-anchor="middle">'
                    f"{value:.2f}</text>"
                )
    width = left + size * len(names) + 90
    return _svg(width, top + size * len(names) + 8, label, parts)


def _svg(width: float, height: float, label: str, parts: Sequence[str]) -> Markup:
    """As wide as the page, but not much larger than it was drawn."""
    return Markup(
        f'<svg viewBox="0 0 {width:g} {height:g}" style="max-width: {1.2 * width:g}px" role="img" '
        f'aria-label="{escape(label)}">{"".join(parts)}</svg>'
    )


def _cut(name: str, length: int) -> str:
    return name if len(name) <= length else f"{name[: length - 1]}…"


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
