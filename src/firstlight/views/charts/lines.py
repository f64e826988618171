"""Lines, and lines with bands around them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

from firstlight.views.charts.frame import HEIGHT, LEFT, SMALL, WIDTH, Axes, svg

# How many lines are told apart by colour and dashes; then they begin again
SERIES = 7


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

    def drawn(self, axes: Axes) -> str:
        path = "L".join(f"{axes.x(x):.1f},{axes.y(y):.1f}" for x, y in self.points)
        kinds = ["curve", "other" * self.other, _series(self.series) if self.series else "", "strong" * self.strong]
        return f'<path class="{" ".join(filter(None, kinds))}" d="M{path}"><title>{escape(self.name)}</title></path>'


def lines(entries: Sequence[Line], x_label: str, y_label: str) -> Markup:
    """Lines in one frame, each with its name as a tooltip."""
    ys = [y for line in entries for _, y in line.points]
    return _lines(entries, x_label, y_label, f"{y_label} against {x_label}", Axes(_xs(entries), ys))


def small_lines(entries: Sequence[Line], label: str, y_range: tuple[float, float]) -> Markup:
    """The same as one of many that share a range and a `legend`; strong lines are drawn last."""
    in_order = sorted(entries, key=lambda line: line.strong)
    return _lines(in_order, "", "", label, Axes(_xs(entries), y_range, SMALL))


def _lines(entries: Sequence[Line], x_label: str, y_label: str, label: str, axes: Axes) -> Markup:
    parts = [axes.frame(x_label, y_label), *(line.drawn(axes) for line in entries)]
    return svg(axes.room.width, axes.room.height, f"{label}, {len(entries)} lines", parts)


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


def _series(number: int) -> str:
    """The class of lines of this number, from 1 on."""
    return f"series-{(number - 1) % SERIES + 1}"


@dataclass(frozen=True)
class Band:
    """A line of means with the deviation above and below: points are (x, mean, deviation)."""

    name: str
    points: Sequence[tuple[float, float, float]]


def bands(entries: Sequence[Band], x_label: str, y_label: str) -> Markup:
    """Lines with a band each, and their names below the frame."""
    points = [point for band in entries for point in band.points]
    edges = [y + sign * deviation for _, y, deviation in points for sign in (-1, 1)]
    axes = Axes([x for x, _, _ in points], edges)
    parts = [axes.frame(x_label, y_label)]
    shown = [(band, _series(number)) for number, band in enumerate(entries, start=1)]
    for band, kind in shown:
        above = [f"{axes.x(x):.1f},{axes.y(y + deviation):.1f}" for x, y, deviation in band.points]
        below = [f"{axes.x(x):.1f},{axes.y(y - deviation):.1f}" for x, y, deviation in reversed(band.points)]
        parts.append(f'<path class="band {kind}" d="M{"L".join(above + below)}Z"/>')
    for number, (band, kind) in enumerate(shown):
        path = "L".join(f"{axes.x(x):.1f},{axes.y(y):.1f}" for x, y, _ in band.points)
        x, mean, deviation = band.points[-1]
        said = f"{band.name}: {mean:.5g}{f' ± {deviation:.2g}' if deviation else ''} at {x:.5g} {x_label}"
        parts.append(f'<path class="curve {kind}" d="M{path}"><title>{escape(said)}</title></path>')
        y = HEIGHT + 18 * number + 4
        parts.append(f'<path class="curve {kind}" d="M{LEFT},{y}h32"/>')
        parts.append(f'<text x="{LEFT + 42}" y="{y + 4}">{escape(band.name)}</text>')
    label = f"{y_label} against {x_label}, {len(entries)} lines with bands"
    return svg(WIDTH, HEIGHT + 18 * len(entries) + 4, label, parts)
