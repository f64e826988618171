"""Charts as matplotlib figures for print."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from firstlight.core.errors import SettingError
from firstlight.views.charts.description import (
    Bars,
    Boxes,
    Chart,
    HeatMap,
    Line,
    Lines,
    Loop,
    Panels,
    Point,
    Scatter,
    Surface,
)
from firstlight.views.charts.style import COLORS, INK, PALE, blank, series_style, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Numbers = NDArray[np.float64]
# Squares each way of the grid in which the density is counted, and the width of its smoothing
SQUARES, SMOOTHED = 64, 1.5
# Letters of a label that fit in an inch
LETTERS_PER_INCH = 14
# From here on, an axis writes 850k instead of 850,000
LARGE, LARGEST = 1e4, 1e15


def draw_figure(chart: Chart, *, width: str | float = "column") -> Figure:
    """Draw a chart as a figure for print.

    Args:
        chart: What to draw.
        width: `column` (3.35 inches), `page` (6.9), or a number of inches.

    Returns:
        The figure, which can be changed before it is saved.

    Raises:
        SettingError: If the chart is empty or the width is out of range.
    """
    if _is_empty(chart):
        raise SettingError(f"There is nothing to draw: {_described(chart)}.")
    with style():
        match chart:
            case Panels():
                return _panels(chart, width)
            case HeatMap():
                return _heat_map(chart, width)
            case Surface():
                return _surface(chart, width)
        figure = blank(width, _ratio(chart))
        axes = figure.add_subplot()
        match chart:
            case Scatter():
                _scatter(axes, chart)
            case Lines():
                _lines(axes, chart)
            case Bars():
                _bars(axes, chart)
            case Boxes():
                _boxes(axes, chart)
            case Loop():
                _loop(axes, chart)
    return figure


def _is_empty(chart: Chart) -> bool:
    match chart:
        case Scatter() | Loop():
            return not chart.points
        case Lines():
            return not any(line.points for line in chart.lines)
        case Bars():
            return not chart.bars
        case Boxes():
            return not chart.boxes
        case HeatMap() | Panels():
            return not chart.rows
        case Surface():
            return not chart.values


def _described(chart: Chart) -> str:
    match chart:
        case Bars() | Boxes():
            return f"no value is known of {chart.label}"
        case HeatMap():
            return f"{chart.title} has no rows"
        case Panels():
            return "there are no panels"
        case _:
            return f"no value is known of {chart.y_label} against {chart.x_label}"


def _ratio(chart: Scatter | Lines | Bars | Boxes | Loop) -> float:
    """Height of the figure by its width."""
    match chart:
        case Scatter():
            return 0.8 if chart.by_density else 0.75
        case Lines():
            return 0.75
        case Bars():
            return 0.25 + 0.055 * len(chart.bars)
        case Boxes():
            return 0.25 + 0.08 * len(chart.boxes)
        case Loop():
            return 1.12


# ---------------------------------------- points


def _scatter(axes: Axes, chart: Scatter) -> None:
    if chart.log_y:
        axes.set_yscale("log")
    if chart.by_density:
        _dots_by_density(axes, chart.points)
    else:
        _dots(axes, chart)
    if chart.line is not None:
        _path(axes, chart.line, COLORS[1], "-")
    if chart.with_record:
        in_order = sorted(chart.points, key=lambda point: point.x)
        highest = list(itertools.accumulate((point.y for point in in_order), max))
        axes.step([point.x for point in in_order], highest, where="post", color=COLORS[0])
    axes.set(xlabel=chart.x_label, ylabel=chart.y_label)
    axes.set_title(chart.title, loc="left")
    _shorten(axes, max(abs(point.x) for point in chart.points))


def _dots(axes: Axes, chart: Scatter) -> None:
    """Small pale dots, and the chosen ones on top; several series differ in color and marker."""
    for number in sorted({point.series for point in chart.points}):
        usual = [point for point in chart.points if point.series == number and not point.chosen]
        color, _, marker = series_style(number)
        name = chart.series[number - 1] if chart.series else None
        look: dict[str, Any] = {"s": 8, "color": color, "marker": marker} if chart.series else {"s": 5, "color": PALE}
        axes.scatter(*_places(usual), linewidths=0, rasterized=True, label=name, **look)
    chosen = sorted((point for point in chart.points if point.chosen), key=lambda point: point.x)
    if chosen:
        axes.scatter(*_places(chosen), s=16, color=COLORS[1], zorder=3, label=chart.chosen_name or None)
    if chart.series or (chosen and chart.chosen_name):
        axes.legend(loc="lower right" if chosen else "best")


def _dots_by_density(axes: Axes, points: Sequence[Point]) -> None:
    x, y = _places(points)
    density = _density(x, y)
    order = np.argsort(density)  # the brightest on top
    size = float(np.clip(3_000 / len(x), 1.5, 14))
    dots = axes.scatter(x[order], y[order], c=density[order], s=size, cmap="viridis", linewidths=0, rasterized=True)
    low, high = float(density.min()), float(density.max())
    if low < high:  # else all dots have one color, which says nothing
        figure = axes.get_figure(root=True)
        assert figure is not None
        key = figure.colorbar(dots, ax=axes, ticks=[low, high], label="networks nearby", pad=0.02)
        key.set_ticklabels(["few", "many"])
        key.outline.set_visible(False)


def _density(x: Numbers, y: Numbers) -> Numbers:
    """How many points are around each, as a logarithm, so that few, some and many differ."""
    from scipy import ndimage

    spans = [(float(v.min()), float(v.max()) if np.ptp(v) > 0 else float(v.min()) + 1.0) for v in (x, y)]
    counts, *edges = np.histogram2d(x, y, SQUARES, spans)
    smooth = ndimage.gaussian_filter(counts, SMOOTHED)
    places = [
        np.clip(np.searchsorted(edge, v, side="right") - 1, 0, SQUARES - 1)
        for edge, v in zip(edges, (x, y), strict=True)
    ]
    return np.log1p(np.maximum(smooth[places[0], places[1]], 0.0))


def _places(points: Sequence[Point]) -> tuple[Numbers, Numbers]:
    return np.array([point.x for point in points], dtype=float), np.array([point.y for point in points], dtype=float)


def _shorten(axes: Axes, largest: float) -> None:
    """Write large amounts as 850k or 1.2M."""
    from matplotlib.ticker import EngFormatter

    if LARGE <= largest < LARGEST:
        axes.xaxis.set_major_formatter(EngFormatter(sep=""))


# ---------------------------------------- lines


def _lines(axes: Axes, chart: Lines) -> None:
    for line, number in chart.numbered:
        color, dashes, marker = series_style(number)
        if line.deviations:
            lower, upper = (np.array(edge)[:, 1] for edge in line.band)
            axes.fill_between([x for x, _ in line.points], lower, upper, color=color, alpha=0.15, linewidth=0)
        if line.marks:
            x, y = zip(*line.marks, strict=True)
            axes.scatter(x, y, s=3, color=color, alpha=0.35, linewidths=0, marker=marker)
        _path(axes, line, color, dashes, marker if len(line.points) == 1 else None)
    if chart.includes:
        low, high = axes.get_ylim()
        shown = [y for line in chart.lines for _, y in line.extent]
        axes.set_ylim(
            min(chart.includes) if min(chart.includes) <= min(shown) else low,
            max(chart.includes) if max(chart.includes) >= max(shown) else high,
        )
    axes.set(xlabel=chart.x_label, ylabel=chart.y_label)
    axes.set_title(chart.title, loc="left")
    if chart.legend:
        lines = {str(line.get_label()): line for line in axes.lines}  # each name once
        axes.legend(lines.values(), lines.keys(), loc="best")


def _path(axes: Axes, line: Line, color: str, dashes: Any, marker: str | None = None) -> None:
    x, y = zip(*line.points, strict=True)
    axes.plot(
        x,
        y,
        color=color,
        linestyle=dashes,
        marker=marker,
        drawstyle="steps-post" if line.is_stairs else "default",
        label=line.name,
        linewidth=2.0 if line.strong else None,
    )


# ---------------------------------------- others


def _bars(axes: Axes, chart: Bars) -> None:
    places = range(len(chart.bars))
    colors = [COLORS[0] if bar.value >= 0 else COLORS[1] for bar in chart.bars]
    axes.barh(places, [bar.value for bar in chart.bars], color=colors, height=0.7)
    for place, bar in zip(places, chart.bars, strict=True):
        axes.plot(bar.interval, [place, place], color=INK, linewidth=1.0, solid_capstyle="butt")
    axes.axvline(0, color=INK, linewidth=0.6)
    axes.set_yticks(places, [bar.name for bar in chart.bars])
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")
    _label_below(axes, chart.label)


def _boxes(axes: Axes, chart: Boxes) -> None:
    names = list(chart.boxes)
    places = range(len(names))
    axes.boxplot(
        [chart.samples[name] for name in names],
        positions=places,
        orientation="horizontal",
        whis=(0, 100),
        widths=0.6,
        medianprops={"color": COLORS[1]},
        manage_ticks=False,
    )
    for place, name in enumerate(names):
        values = chart.samples[name]
        axes.plot(values, [place] * len(values), "o", color=COLORS[0], markersize=2.5, alpha=0.6)
    axes.set_yticks(places, names)
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")
    _label_below(axes, chart.label)


def _label_below(axes: Axes, label: str) -> None:
    """Center the label below the figure: names beside the axes may leave less room than it takes."""
    import textwrap

    figure = axes.get_figure(root=True)
    assert figure is not None
    letters = int(LETTERS_PER_INCH * figure.get_figwidth())
    figure.supxlabel("\n".join(textwrap.wrap(label, letters)), fontsize=axes.xaxis.label.get_fontsize())


def _heat_map(chart: HeatMap, width: str | float) -> Figure:
    values = np.array([[np.nan if value is None else value for value in row] for row in chart.values], dtype=float)
    figure = blank(width, 0.85)
    axes = figure.add_subplot()
    image = axes.imshow(values, cmap="RdBu", vmin=-chart.scale, vmax=chart.scale)
    axes.set_aspect("equal" if chart.is_square else "auto")
    axes.set_xticks(range(len(chart.columns)), chart.columns, rotation=55, ha="right", rotation_mode="anchor")
    axes.set_yticks(range(len(chart.rows)), chart.rows)
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)
    size = float(np.clip(90 / len(chart.columns), 3.5, 8))
    for (row, column), value in np.ndenumerate(values):
        if chart.values[row][column] is None:
            continue
        text = f"{value:.2f}" if np.isfinite(value) else "-"
        color = "white" if abs(value) > 0.6 * chart.scale else INK if np.isfinite(value) else PALE
        weight = "bold" if (row, column) in chart.chosen else "normal"
        axes.text(column, row, text, ha="center", va="center", color=color, fontsize=size, weight=weight)
    bar = figure.colorbar(image, ax=axes, shrink=0.8, label=chart.value_label)
    bar.outline.set_visible(False)
    return figure


def _surface(chart: Surface, width: str | float) -> Figure:
    """Filled contours; points have the color of their own value, and the chosen ones a ring."""
    figure = blank(width, 0.8)
    axes = figure.add_subplot()
    values = np.array(chart.values, dtype=float)
    shade = axes.contourf(chart.xs, chart.ys, values, levels=12, cmap="viridis")
    low, high = shade.get_clim()
    colors = [np.nan if point.value is None else point.value for point in chart.points]
    axes.scatter(
        *_places(chart.points),
        c=colors,
        vmin=low,
        vmax=high,
        cmap="viridis",
        edgecolors="white",
        linewidths=0.7,
        s=18,
        clip_on=False,
    )
    ring: dict[str, Any] = {"ms": 9, "mfc": "none", "mec": COLORS[1], "mew": 1.2, "clip_on": False}
    for point in chart.points:
        if point.chosen:
            axes.plot([point.x], [point.y], "o", **ring)
    axes.grid(visible=False)
    axes.set(xlabel=chart.x_label, ylabel=chart.y_label)
    axes.tick_params(color=INK)
    figure.colorbar(shade, ax=axes, label=chart.value_label)
    return figure


def _loop(axes: Axes, chart: Loop) -> None:
    """Colors follow the curve and end where they began."""
    x, y = (np.array([*column, column[0]]) for column in zip(*chart.points, strict=True))
    axes.plot(x, y, color=PALE, linewidth=0.6)
    axes.scatter(x, y, c=np.linspace(0, 1, len(x)), cmap="twilight", s=4, linewidths=0)
    axes.scatter(x[:1], y[:1], s=18, color=COLORS[1], zorder=3)
    axes.set_title(chart.title, loc="left")
    axes.set_aspect("equal", adjustable="datalim")
    axes.set(xlabel=chart.x_label, ylabel=chart.y_label)


def _panels(chart: Panels, width: str | float) -> Figure:
    down, across = len(chart.rows), max(map(len, chart.rows))
    figure = blank(width, max(_ratio(panel) for row in chart.rows for panel in row) * down / across)
    for row, panels in enumerate(chart.rows):
        for column, panel in enumerate(panels):
            axes = figure.add_subplot(down, across, row * across + column + 1)
            if isinstance(panel, Loop):
                _loop(axes, panel)
            else:
                _scatter(axes, panel)
    return figure
