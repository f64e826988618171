"""Small charts as SVG text: no scripts, no fonts, readable in light and dark, every mark with a tooltip."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

WIDTH, HEIGHT = 640, 320
# Letters of a name that there is room for beside a heat map or bar
LONGEST = 20
LEFT, RIGHT, TOP, BOTTOM = 64, 16, 12, 48


@dataclass(frozen=True)
class _Room:
    """A drawing's size, and the margins around its frame."""

    width: int
    height: int
    left: int
    right: int
    top: int
    bottom: int


USUAL = _Room(WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM)
# One of many side by side
SMALL = _Room(300, 180, 50, 12, 8, 24)


@dataclass(frozen=True)
class Point:
    x: float
    y: float
    tooltip: str
    chosen: bool = False


@dataclass(frozen=True)
class Line:
    """Points joined in their order; `other` sets a group of lines apart by colour.

    `series` from 1 on are told apart by colour and dashes instead, and of those a `strong` one stands out.
    """

    name: str
    points: Sequence[tuple[float, float]]
    other: bool = False
    series: int = 0
    strong: bool = False

    def drawn(self, axes: _Axes) -> str:
        path = "L".join(f"{axes.x(x):.1f},{axes.y(y):.1f}" for x, y in self.points)
        kinds = ["curve", "other" * self.other, _series(self.series) if self.series else "", "strong" * self.strong]
        return f'<path class="{" ".join(filter(None, kinds))}" d="M{path}"><title>{escape(self.name)}</title></path>'


def scatter(
    points: Sequence[Point],
    x_label: str,
    y_label: str,
    *,
    record: bool = False,
    logarithmic: bool = False,
    level: Line | None = None,
    of: str = "networks",
) -> Markup:
    """Dots, the chosen one larger and drawn last; `record` adds the highest value up to each x, as a staircase.

    A `level` is a line to compare the dots with. All y must be above 0 if they are `logarithmic`.
    """
    if not points:
        return Markup("<p>No network has a score yet.</p>")
    compared = level.points if level else ()
    axes = _Axes(
        [*(point.x for point in points), *(x for x, _ in compared)],
        [*(point.y for point in points), *(y for _, y in compared)],
        logarithmic=logarithmic,
    )
    parts = [axes.frame(x_label, y_label)]
    if level:
        parts.append(level.drawn(axes))
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
    return _svg(WIDTH, HEIGHT, f"{y_label} against {x_label}, {len(points)} {of}", parts)


def lines(entries: Sequence[Line], x_label: str, y_label: str) -> Markup:
    """Lines in one frame, each with its name as a tooltip."""
    ys = [y for line in entries for _, y in line.points]
    return _lines(entries, x_label, y_label, f"{y_label} against {x_label}", _Axes(_xs(entries), ys))


def small_lines(entries: Sequence[Line], label: str, y_range: tuple[float, float]) -> Markup:
    """The same as one of many that share a range and a `legend`; strong lines are drawn last."""
    in_order = sorted(entries, key=lambda line: line.strong)
    return _lines(in_order, "", "", label, _Axes(_xs(entries), y_range, SMALL))


def _lines(entries: Sequence[Line], x_label: str, y_label: str, label: str, axes: _Axes) -> Markup:
    parts = [axes.frame(x_label, y_label), *(line.drawn(axes) for line in entries)]
    return _svg(axes.room.width, axes.room.height, f"{label}, {len(entries)} lines", parts)


def _xs(entries: Sequence[Line]) -> list[float]:
    return [x for line in entries for x, _ in line.points]


def legend(names: Sequence[str]) -> Markup:
    """Which series is which."""
    keys = (
        f'<span><svg viewBox="0 0 32 8" aria-hidden="true"><path class="curve {_series(number)}" d="M0,4h32"/></svg>'
        f"{escape(name)}</span>"
        for number, name in enumerate(names, start=1)
    )
    return Markup(f'<p class="legend">{"".join(keys)}</p>')


@dataclass(frozen=True)
class Band:
    """A line of means with the deviation above and below: points are (x, mean, deviation)."""

    name: str
    points: Sequence[tuple[float, float, float]]


# How many lines are told apart by colour and dashes; then they begin again
SERIES = 7


def _series(number: int) -> str:
    """The class of lines of this number, from 1 on."""
    return f"series-{(number - 1) % SERIES + 1}"


def bands(entries: Sequence[Band], x_label: str, y_label: str) -> Markup:
    """Lines with a band each, and their names below the frame."""
    points = [point for band in entries for point in band.points]
    edges = [y + sign * deviation for _, y, deviation in points for sign in (-1, 1)]
    axes = _Axes([x for x, _, _ in points], edges)
    parts = [axes.frame(x_label, y_label)]
    shown = [(band, _series(number)) for number, band in enumerate(entries, start=1)]
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
        parts.append(
            f'<text x="{left - 8}" y="{middle + 4:.1f}" text-anchor="end">{escape(_cut(bar.name, LONGEST))}</text>'
        )
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


def heat_map(
    rows: Sequence[str],
    columns: Sequence[str],
    values: Sequence[Sequence[float | None]],
    label: str,
    *,
    scale: float = 1.0,
    largest: tuple[int, int] = (44, 44),
    chosen: Collection[tuple[int, int]] = (),
) -> Markup:
    """A cell for each row and column: blue above 0, orange below, pale in between, and full at `scale`.

    Those that are `chosen` are framed. There is no cell for None, and an empty one for NaN. Cells are as large as there
    is room for, and at most `largest`.
    """
    across = max(map(len, columns))
    left = round(16 + 6.7 * min(LONGEST, max(map(len, rows))))
    width = max(18, min(largest[0], (WIDTH - left - RIGHT) // len(columns)))
    height = min(largest[1], width)
    upright = 8 * across <= width
    top = 28 if upright else round(24 + 6.6 * min(LONGEST, across))
    parts = []
    for column, name in enumerate(columns):
        x = left + width * column + width / 2
        place = f'x="{x:.1f}" y="{top - 8}" text-anchor="middle"'
        turned = f'transform="translate({x:.1f} {top - 8}) rotate(-55)"'
        parts.append(f"<text {place if upright else turned}>{escape(_cut(name, LONGEST))}</text>")
    framed = []
    digits = 2 + max(0, math.floor(-math.log10(scale)))
    for row, name in enumerate(rows):
        y = top + height * row
        middle = y + height / 2 + 4
        parts.append(f'<text x="{left - 8}" y="{middle:.1f}" text-anchor="end">{escape(_cut(name, LONGEST))}</text>')
        for column, value in enumerate(values[row]):
            if value is None:
                continue
            x, known = left + width * column, not math.isnan(value)
            kind = "none" if not known else "agree" if value >= 0 else "oppose"
            said = f"{name}, {columns[column]}: {_fixed(value, digits + 1) if known else 'not defined'}"
            cell = (
                f'x="{x}" y="{y}" width="{width - 1}" height="{height - 1}" '
                f'fill-opacity="{min(1.0, abs(value) / scale) if known else 0.0:.2f}"'
            )
            taken = (row, column) in chosen
            parts.append(
                f'<rect class="cell {kind}" {cell}><title>{escape(said)}{", taken" if taken else ""}</title></rect>'
            )
            if width >= 30 and known:
                kind = "operation strong" if taken else "operation"
                parts.append(
                    f'<text class="{kind}" x="{x + width / 2:.1f}" y="{middle:.1f}" text-anchor="middle">'
                    f"{_fixed(value, digits)}</text>"
                )
            if taken:
                framed.append(f'<rect class="frame" x="{x}" y="{y}" width="{width - 1}" height="{height - 1}"/>')
    beside = 8 if upright else round(12 + 4.6 * min(LONGEST, across))
    return _svg(left + width * len(columns) + beside, top + height * len(rows) + 8, label, [*parts, *framed])


def _svg(width: float, height: float, label: str, parts: Sequence[str]) -> Markup:
    """As wide as the page, but not much larger than it was drawn."""
    return Markup(
        f'<svg viewBox="0 0 {width:g} {height:g}" style="max-width: {1.2 * width:g}px" role="img" '
        f'aria-label="{escape(label)}">{"".join(parts)}</svg>'
    )


def _fixed(value: float, digits: int) -> str:
    """So many digits behind the point, and no minus before zeros."""
    return f"{round(value, digits) + 0.0:.{digits}f}"


def _cut(name: str, length: int) -> str:
    return name if len(name) <= length else f"{name[: length - 1]}…"


class _Axes:
    """Maps data to pixels, with round numbers as ticks; `logarithmic` is the one that goes up."""

    def __init__(
        self, xs: Sequence[float], ys: Sequence[float], room: _Room = USUAL, *, logarithmic: bool = False
    ) -> None:
        self.room = room
        self._turn: Callable[[float], float] = math.log10 if logarithmic else float
        self.x_ticks = _ticks(min(xs), max(xs))
        self.y_ticks = (_powers if logarithmic else _ticks)(min(ys), max(ys))

    def x(self, value: float) -> float:
        room, low, high = self.room, self.x_ticks[0], self.x_ticks[-1]
        return room.left + (value - low) / (high - low) * (room.width - room.left - room.right)

    def y(self, value: float) -> float:
        room, low, high = self.room, self._turn(self.y_ticks[0]), self._turn(self.y_ticks[-1])
        share = (self._turn(value) - low) / (high - low)
        return room.height - room.bottom - share * (room.height - room.top - room.bottom)

    def frame(self, x_label: str, y_label: str) -> str:
        room = self.room
        base, right = room.height - room.bottom, room.width - room.right
        parts = []
        for tick in self.x_ticks:
            parts.append(
                f'<text class="tick" x="{self.x(tick):.1f}" y="{base + 18}" text-anchor="middle">{_short(tick)}</text>'
            )
        for tick in self.y_ticks:
            y = self.y(tick)
            parts.append(f'<line class="grid" x1="{room.left}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}"/>')
            parts.append(
                f'<text class="tick" x="{room.left - 8}" y="{y + 4:.1f}" text-anchor="end">{_short(tick)}</text>'
            )
        centre, middle = (room.left + right) / 2, (room.top + base) / 2
        for place, label in ((f"{centre} {room.height - 8}", x_label), (f"14 {middle}) rotate(-90", y_label)):
            if label:
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


def _powers(low: float, high: float) -> list[float]:
    """The same on a logarithmic scale: powers of ten, or 1, 2 and 5 times those if there are few."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    if last - first <= 2:
        finer = [factor * 10.0**power for power in range(first - 1, last + 2) for factor in (1, 2, 5)]
        start = max(place for place, tick in enumerate(finer) if tick <= low)
        end = min(place for place, tick in enumerate(finer) if tick >= high)
        return finer[start : max(end, start + 1) + 1]
    step = math.ceil((last - first) / 6)
    return [10.0**power for power in range(first, last + step, step)]


def _short(value: float) -> str:
    for size, suffix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:g}{suffix}"
    return f"{value:.6g}"
