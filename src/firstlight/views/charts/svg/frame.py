"""What all charts share: sizes, axes with round ticks, and the SVG element around them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

# Two fit side by side on a wide page, and one that fills the width of a phone can still be read
WIDTH, HEIGHT = 460, 290
# Width of a digit of a tick, on a phone
LETTER = 9.4
# Letters of a name that fit beside a heat map or bar
LONGEST = 20
LEFT, RIGHT, TOP, BOTTOM = 56, 22, 36, 46


@dataclass(frozen=True)
class Room:
    """A drawing's size, and the margins around its frame."""

    width: int
    height: int
    left: int
    right: int
    top: int
    bottom: int

    @property
    def across(self) -> int:
        """Width of the frame."""
        return self.width - self.left - self.right

    @property
    def down(self) -> int:
        """Height of the frame."""
        return self.height - self.top - self.bottom


USUAL = Room(WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM)
# One of many side by side
SMALL = Room(300, 180, 50, 12, 8, 24)


class Axes:
    """Maps data to pixels, with round numbers as ticks.

    Args:
        xs: All values of x that must fit in.
        ys: All values of y that must fit in; positive ones if `log_y`.
        room: The size of the drawing.
        log_y: Whether y is on a logarithmic scale.
        same_scale: Whether one unit of x is as long as one of y.
    """

    def __init__(
        self,
        xs: Sequence[float],
        ys: Sequence[float],
        room: Room = USUAL,
        *,
        log_y: bool = False,
        same_scale: bool = False,
    ) -> None:
        self.room = room
        self._scaled: Callable[[float], float] = math.log10 if log_y else float
        self._write = each_by_itself if log_y else in_step
        self.x_ticks = round_ticks(min(xs), max(xs))
        self.y_ticks = (powers if log_y else round_ticks)(min(ys), max(ys))
        self._x_middle, x_span = _middle_and_span(self.x_ticks)
        self._y_middle, y_span = _middle_and_span(list(map(self._scaled, self.y_ticks)))
        self._per_x, self._per_y = room.across / x_span, room.down / y_span
        if same_scale:
            self._per_x = self._per_y = min(self._per_x, self._per_y)

    def x(self, value: float) -> float:
        return self.room.left + self.room.across / 2 + (value - self._x_middle) * self._per_x

    def y(self, value: float) -> float:
        return self.room.top + self.room.down / 2 - (self._scaled(value) - self._y_middle) * self._per_y

    def frame(self, x_label: str, y_label: str) -> str:
        """Draw ticks, grid lines and labels."""
        room = self.room
        base, right = room.height - room.bottom, room.width - room.right
        parts = []
        for tick, text in zip(self.x_ticks, in_step(self.x_ticks), strict=True):
            middle = min(self.x(tick), room.width - LETTER * len(text) / 2)  # a long last tick would be cut off
            parts.append(f'<text class="tick" x="{middle:.1f}" y="{base + 18}" text-anchor="middle">{text}</text>')
        for tick, text in zip(self.y_ticks, self._write(self.y_ticks), strict=True):
            y = self.y(tick)
            parts.append(f'<line class="grid" x1="{room.left}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}"/>')
            parts.append(f'<text class="tick" x="{room.left - 8}" y="{y + 4:.1f}" text-anchor="end">{text}</text>')
        if x_label:
            center = (room.left + right) / 2
            parts.append(
                f'<text class="label" x="{center:g}" y="{room.height - 8}" text-anchor="middle">'
                f"{escape(x_label)}</text>"
            )
        if y_label:
            parts.append(f'<text class="label" x="4" y="{room.top - 18}">{escape(y_label)}</text>')
        return "".join(parts)


def _middle_and_span(ticks: Sequence[float]) -> tuple[float, float]:
    return ticks[0] / 2 + ticks[-1] / 2, ticks[-1] - ticks[0]


def svg(width: float, height: float, label: str, parts: Sequence[str], columns: Sequence[int] = ()) -> Markup:
    """Wrap the parts in an SVG element that is as wide as the page, but not much larger than drawn.

    Marks with a row show the `columns` of the page's table of networks in their tooltip; without any, all columns.
    """
    shown = f' data-columns="{" ".join(map(str, columns))}"' if columns else ""
    return Markup(
        f'<svg viewBox="0 0 {width:g} {height:g}" style="--drawn: {width:g}px" role="img" '
        f'aria-label="{escape(label)}"{shown}>{"".join(parts)}</svg>'
    )


class Across:
    """A horizontal axis under rows that begin with a name each.

    Args:
        names: The names.
        values: All values that must fit in.
        rows: The height of all rows.
        top: Where they begin.
    """

    def __init__(self, names: Iterable[str], values: Iterable[float], rows: int, top: int) -> None:
        known = list(values)
        self.left = round(20 + 7.8 * min(LONGEST, max(map(len, names), default=0)))
        self.ticks = round_ticks(min(known, default=0.0), max(known, default=1.0))
        self.top, self.base = top, top + rows
        self.height = self.base + BOTTOM

    def x(self, value: float) -> float:
        return self.left + (value - self.ticks[0]) / (self.ticks[-1] - self.ticks[0]) * (WIDTH - self.left - RIGHT)

    def name(self, name: str, middle: float) -> str:
        """The name of a row."""
        written = escape(cut(name, LONGEST))
        return f'<text x="{self.left - 8}" y="{middle + 4:.1f}" text-anchor="end">{written}</text>'

    def drawn(self, label: str) -> list[str]:
        """The grid, the ticks and the label."""
        parts = []
        for tick, text in zip(self.ticks, in_step(self.ticks), strict=True):
            x = self.x(tick)
            parts.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{self.top}" y2="{self.base}"/>')
            parts.append(f'<text class="tick" x="{x:.1f}" y="{self.base + 18}" text-anchor="middle">{text}</text>')
        middle, low = (self.left + WIDTH - RIGHT) / 2, self.height - 8
        return [*parts, f'<text class="label" x="{middle}" y="{low}" text-anchor="middle">{escape(label)}</text>']


def round_ticks(low: float, high: float) -> list[float]:
    """Return about five round numbers; the first and the last enclose the data."""
    if high - low < max(1e-9 * max(abs(low), abs(high)), 1e-300):  # the same number, but for rounding
        low, high = low - 0.5, high + 0.5
    raw = (high - low) / 4
    magnitude = 10.0 ** math.floor(math.log10(raw))
    step = next(factor * magnitude for factor in (1, 2, 2.5, 5, 10) if factor * magnitude >= raw)
    first, last = math.floor(low / step), math.ceil(high / step)
    return [number * step for number in range(first, last + 1)]


def powers(low: float, high: float) -> list[float]:
    """Return ticks of a logarithmic scale: powers of ten, or 1, 2 and 5 times those if there are few."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    if last - first <= 2:
        finer = [factor * 10.0**power for power in range(first - 1, last + 2) for factor in (1, 2, 5)]
        start = max(place for place, tick in enumerate(finer) if tick <= low)
        end = min(place for place, tick in enumerate(finer) if tick >= high)
        return finer[start : max(end, start + 1) + 1]
    step = math.ceil((last - first) / 6)
    return [10.0**power for power in range(first, last + step, step)]


def in_step(ticks: Sequence[float]) -> list[str]:
    """Write evenly spaced ticks with the same unit and the same number of decimals."""
    step = ticks[1] - ticks[0]
    size, suffix = _unit(min(max(map(abs, ticks)), 2 * step))
    spacing = f"{step / size:.4g}"
    if "e" in spacing:
        return each_by_itself(ticks)
    digits = len(spacing.partition(".")[2])
    return [f"{tick / size:.{digits}f}{suffix}" if tick else "0" for tick in ticks]


def each_by_itself(ticks: Sequence[float]) -> list[str]:
    """Write each tick as short as possible, for ticks of very different sizes."""
    units = map(_unit, map(abs, ticks))
    return [f"{tick / size:.6g}{suffix}" for tick, (size, suffix) in zip(ticks, units, strict=True)]


def _unit(value: float) -> tuple[float, str]:
    """Return the largest unit that fits, and its suffix."""
    return next(((size, suffix) for size, suffix in ((1e9, "G"), (1e6, "M"), (1e3, "k")) if value >= size), (1.0, ""))


def cut(name: str, length: int) -> str:
    return name if len(name) <= length else f"{name[: length - 1]}…"
