"""What all charts share: sizes, axes with round ticks, and the drawing around them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

# Two stand side by side on a wide page, and letters can still be read where one fills the width of a phone
WIDTH, HEIGHT = 460, 290
# How wide a digit of a tick may be, on a phone
LETTER = 9.4
# Letters of a name that there is room for beside a heat map or bar
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


USUAL = Room(WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM)
# One of many side by side
SMALL = Room(300, 180, 50, 12, 8, 24)


class Axes:
    """Maps data to pixels, with round numbers as ticks; `logarithmic` is the one that goes up."""

    def __init__(
        self, xs: Sequence[float], ys: Sequence[float], room: Room = USUAL, *, logarithmic: bool = False
    ) -> None:
        self.room = room
        self._turn: Callable[[float], float] = math.log10 if logarithmic else float
        self._written = each_by_itself if logarithmic else in_step
        self.x_ticks = round_ticks(min(xs), max(xs))
        self.y_ticks = (powers if logarithmic else round_ticks)(min(ys), max(ys))

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
        for tick, text in zip(self.x_ticks, in_step(self.x_ticks), strict=True):
            middle = min(self.x(tick), room.width - LETTER * len(text) / 2)  # a long last one would be cut off
            parts.append(f'<text class="tick" x="{middle:.1f}" y="{base + 18}" text-anchor="middle">{text}</text>')
        for tick, text in zip(self.y_ticks, self._written(self.y_ticks), strict=True):
            y = self.y(tick)
            parts.append(f'<line class="grid" x1="{room.left}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}"/>')
            parts.append(f'<text class="tick" x="{room.left - 8}" y="{y + 4:.1f}" text-anchor="end">{text}</text>')
        if x_label:
            centre = (room.left + right) / 2
            parts.append(
                f'<text class="label" x="{centre:g}" y="{room.height - 8}" text-anchor="middle">'
                f"{escape(x_label)}</text>"
            )
        if y_label:
            parts.append(f'<text class="label" x="4" y="{room.top - 18}">{escape(y_label)}</text>')
        return "".join(parts)


def svg(width: float, height: float, label: str, parts: Sequence[str], columns: Sequence[int] = ()) -> Markup:
    """As wide as the page, but not much larger than it was drawn.

    `columns` are those of the page's networks that are told of a mark with a row; all if there are none.
    """
    told = f' data-columns="{" ".join(map(str, columns))}"' if columns else ""
    return Markup(
        f'<svg viewBox="0 0 {width:g} {height:g}" style="--drawn: {width:g}px" role="img" '
        f'aria-label="{escape(label)}"{told}>{"".join(parts)}</svg>'
    )


def round_ticks(low: float, high: float) -> list[float]:
    """About five round numbers whose first and last enclose the data."""
    if high - low < 1e-9 * max(abs(low), abs(high), 1e-300):  # nothing that floating point could tell apart
        low, high = low - 0.5, high + 0.5
    raw = (high - low) / 4
    magnitude = 10.0 ** math.floor(math.log10(raw))
    step = next(factor * magnitude for factor in (1, 2, 2.5, 5, 10) if factor * magnitude >= raw)
    first, last = math.floor(low / step), math.ceil(high / step)
    return [number * step for number in range(first, last + 1)]


def powers(low: float, high: float) -> list[float]:
    """The same on a logarithmic scale: powers of ten, or 1, 2 and 5 times those if there are few."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    if last - first <= 2:
        finer = [factor * 10.0**power for power in range(first - 1, last + 2) for factor in (1, 2, 5)]
        start = max(place for place, tick in enumerate(finer) if tick <= low)
        end = min(place for place, tick in enumerate(finer) if tick >= high)
        return finer[start : max(end, start + 1) + 1]
    step = math.ceil((last - first) / 6)
    return [10.0**power for power in range(first, last + step, step)]


def in_step(ticks: Sequence[float]) -> list[str]:
    """Equally spaced ones, with the same unit and as many digits behind the point; zero is just that."""
    step = ticks[1] - ticks[0]
    size, suffix = _unit(min(max(map(abs, ticks)), 2 * step))
    spacing = f"{step / size:.4g}"
    if "e" in spacing:
        return each_by_itself(ticks)
    digits = len(spacing.partition(".")[2])
    return [f"{tick / size:.{digits}f}{suffix}" if tick else "0" for tick in ticks]


def each_by_itself(ticks: Sequence[float]) -> list[str]:
    """As short as possible, for ticks of very different sizes."""
    units = map(_unit, map(abs, ticks))
    return [f"{tick / size:.6g}{suffix}" for tick, (size, suffix) in zip(ticks, units, strict=True)]


def _unit(value: float) -> tuple[float, str]:
    """The largest that fits in, and how it is written."""
    return next(((size, suffix) for size, suffix in ((1e9, "G"), (1e6, "M"), (1e3, "k")) if value >= size), (1.0, ""))


def cut(name: str, length: int) -> str:
    return name if len(name) <= length else f"{name[: length - 1]}…"
