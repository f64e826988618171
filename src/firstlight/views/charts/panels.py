"""Small scatter plots side by side, in rows, with what their dots stand for on top."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

from firstlight.views.charts.frame import Axes, Room, svg

ROOM = Room(300, 240, 62, 14, 50, 44)
TOP = 26  # for the names of the series
# How the dots of series are told apart: by colour and form
KINDS = ("dot", "dot chosen")


@dataclass(frozen=True)
class Panel:
    """Dots of one or two series, by name; both have the axes in common. All y must be above 0 if `logarithmic`."""

    title: str
    x_label: str
    y_label: str
    series: Mapping[str, Sequence[tuple[float, float]]]
    logarithmic: bool = False


def panels(rows: Sequence[Sequence[Panel]]) -> Markup:
    """As many in a row as given; all must name the same series."""
    names = list(rows[0][0].series)
    parts = []
    for number, name in enumerate(names):
        x = ROOM.left + 180 * number
        parts.append(f'{_mark(number, x, 12)}<text x="{x + 12}" y="16">{escape(name)}</text>')
    for down, row in enumerate(rows):
        for right, panel in enumerate(row):
            place = f"translate({right * ROOM.width} {TOP + down * ROOM.height})"
            parts.append(f'<g transform="{place}">{_drawn(panel)}</g>')
    width, height = max(map(len, rows)) * ROOM.width, TOP + len(rows) * ROOM.height
    return svg(width, height, f"{sum(map(len, rows))} scatter plots of {' and '.join(names)}", parts)


def _drawn(panel: Panel) -> str:
    points = [point for series in panel.series.values() for point in series]
    axes = Axes([x for x, _ in points], [y for _, y in points], ROOM, logarithmic=panel.logarithmic)
    marks = [
        _mark(number, axes.x(x), axes.y(y)) for number, series in enumerate(panel.series.values()) for x, y in series
    ]
    title = f'<text class="strong" x="{ROOM.left}" y="16">{escape(panel.title)}</text>'
    return "".join([title, axes.frame(panel.x_label, panel.y_label), *marks])


def _mark(number: int, x: float, y: float) -> str:
    """A dot of the first series, a small square of the second."""
    if number == 0:
        return f'<circle class="{KINDS[0]}" cx="{x:.1f}" cy="{y:.1f}" r="3"/>'
    return f'<rect class="{KINDS[1]}" x="{x - 2.5:.1f}" y="{y - 2.5:.1f}" width="5" height="5"/>'
