"""Lines, and bands around them."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup, escape

from firstlight.views.charts.description import XY, Line, Lines
from firstlight.views.charts.svg.frame import LEFT, SMALL, USUAL, Axes, svg

# Lines that differ in color and dashes; then the first color comes again
SERIES = 7
LEGEND_ROW = 18


def lines(chart: Lines, *, small: bool = False) -> Markup:
    """Lines in one frame, with their names below it; a small chart has neither names nor labels."""
    extent = [place for line in chart.lines for place in line.extent]
    room = SMALL if small else USUAL
    axes = Axes([x for x, _ in extent], [*(y for _, y in extent), *chart.includes], room)
    numbered = sorted(chart.numbered, key=lambda entry: entry[0].strong)
    parts = [axes.frame("", "") if small else axes.frame(chart.x_label, chart.y_label)]
    parts += [_band(line, number, axes) for line, number in numbered if line.deviations]
    for line, number in numbered:
        dot = f'<circle class="dot {_series(number)}"'
        parts += [f'{dot} cx="{axes.x(x):.1f}" cy="{axes.y(y):.1f}" r="1"/>' for x, y in line.marks]
        strong = " strong" if line.strong else ""
        parts.append(draw_line(line, f"{_series(number)}{strong}", axes, line.tooltip or _tooltip(line, chart.x_label)))
    names = {} if small else chart.legend
    for place, (name, number) in enumerate(names.items()):
        y = room.height + LEGEND_ROW * place + 4
        parts.append(f'<path class="curve {_series(number)}" d="M{LEFT},{y}h32"/>')
        parts.append(f'<text x="{LEFT + 42}" y="{y + 4}">{escape(name)}</text>')
    height = room.height + (LEGEND_ROW * len(names) + 4 if names else 0)
    count = f"{len(chart.lines)} line{'s' * (len(chart.lines) != 1)}"
    return svg(room.width, height, f"{chart.y_label} against {chart.x_label}, {count}", parts)


def draw_line(line: Line, kind: str, axes: Axes, tooltip: str) -> str:
    """The path of a line; a single point is a dot."""
    title = f"<title>{escape(tooltip)}</title>"
    if len(line.points) == 1:
        ((x, y),) = line.points
        return f'<circle class="{kind}" cx="{axes.x(x):.1f}" cy="{axes.y(y):.1f}" r="4">{title}</circle>'
    path = _stairs(line.points, axes) if line.is_stairs else _path(line.points, axes)
    return f'<path class="curve {kind}" d="M{path}">{title}</path>'


def legend(names: Sequence[str]) -> Markup:
    """Name the series that several small charts share."""
    keys = (
        f'<span><svg viewBox="0 0 32 8" aria-hidden="true"><path class="curve {_series(number)}" d="M0,4h32"/></svg>'
        f"{escape(name)}</span>"
        for number, name in enumerate(names, start=1)
    )
    return Markup(f'<p class="legend">{"".join(keys)}</p>')


def _band(line: Line, number: int, axes: Axes) -> str:
    lower, upper = line.band
    return f'<path class="band {_series(number)}" d="M{_path([*upper, *reversed(lower)], axes)}Z"/>'


def _path(points: Sequence[XY], axes: Axes) -> str:
    return "L".join(f"{axes.x(x):.1f},{axes.y(y):.1f}" for x, y in points)


def _stairs(points: Sequence[XY], axes: Axes) -> str:
    (x, y), *others = points
    steps = "".join(f"H{axes.x(x):.1f}V{axes.y(y):.1f}" for x, y in others)
    return f"{axes.x(x):.1f},{axes.y(y):.1f}{steps}"


def _tooltip(line: Line, x_label: str) -> str:
    x, y = line.points[-1]
    around = f" ± {line.deviations[-1]:.2g}" if line.deviations and line.deviations[-1] else ""
    return f"{line.name}: {y:.5g}{around} at {x:.5g} {x_label}"


def _series(number: int) -> str:
    """The class of the series with this number, from 1 on."""
    return f"series-{(number - 1) % SERIES + 1}"
