"""What a chart shows, whoever draws it."""

from __future__ import annotations

import statistics
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

XY = tuple[float, float]


@dataclass(frozen=True)
class Point:
    """A mark of a scatter plot or a surface.

    Attributes:
        x: Its horizontal position.
        y: Its vertical position.
        tooltip: What a page says when the reader points at it.
        chosen: Whether it stands out from the others.
        row: Its row in the page's table of networks, which the tooltip then shows instead.
        series: Its group, from 1 on. Groups differ in color and shape.
        value: A third number, shown as a color where the chart has a color scale.
    """

    x: float
    y: float
    tooltip: str = ""
    chosen: bool = False
    row: int | None = None
    series: int = 1
    value: float | None = None


@dataclass(frozen=True)
class Line:
    """Points joined in their order.

    Attributes:
        name: What the legend calls it.
        points: Its points, as (x, y).
        deviations: For each point, how far a band reaches above and below it. Without any, there is no band.
        tooltip: What a page says of the line. Default: its name and its last point.
        series: Its color and dashes, from 1 on. Default: its place in the chart.
        strong: Whether it is thick and drawn on top of the others.
        is_stairs: Whether each value holds until the next point.
        marks: Single measurements that the line summarizes, drawn as faint dots.
    """

    name: str
    points: Sequence[XY]
    deviations: Sequence[float] = ()
    tooltip: str = ""
    series: int | None = None
    strong: bool = False
    is_stairs: bool = False
    marks: Sequence[XY] = ()

    @property
    def band(self) -> tuple[list[XY], list[XY]]:
        """The lower and the upper edge of the band."""
        around = list(zip(self.points, self.deviations, strict=False))
        return [(x, y - reach) for (x, y), reach in around], [(x, y + reach) for (x, y), reach in around]

    @property
    def extent(self) -> list[XY]:
        """Everything that must fit into the chart."""
        lower, upper = self.band
        return [*self.points, *self.marks, *lower, *upper]


@dataclass(frozen=True)
class Scatter:
    """A dot for each network, query or step.

    Attributes:
        x_label: Label of the horizontal axis.
        y_label: Label of the vertical axis.
        points: The dots.
        title: What print writes above the chart; pages have captions.
        line: A line to compare the dots with.
        series: Names of the groups of points, if there are several.
        chosen_name: What the legend calls the chosen points.
        with_record: Whether to draw the highest value up to each x.
        log_y: Whether the vertical axis is logarithmic; all y must then be positive.
        by_density: Whether print colors dots by how many others are near.
        noun: What a dot stands for, in the plural.
        columns: Columns of the page's table of networks that tooltips show. Default: all.
    """

    x_label: str
    y_label: str
    points: Sequence[Point]
    title: str = ""
    line: Line | None = None
    series: Sequence[str] = ()
    chosen_name: str = ""
    with_record: bool = False
    log_y: bool = False
    by_density: bool = False
    noun: str = "networks"
    columns: Sequence[int] = ()


@dataclass(frozen=True)
class Lines:
    """Lines in one frame.

    Attributes:
        x_label: Label of the horizontal axis.
        y_label: Label of the vertical axis.
        lines: The lines.
        title: What print writes above the chart; pages have captions.
        has_legend: Whether to name the lines beside the frame, if there are several.
        includes: Values of y that the axis must show besides those of the lines.
    """

    x_label: str
    y_label: str
    lines: Sequence[Line]
    title: str = ""
    has_legend: bool = True
    includes: Sequence[float] = ()

    @property
    def numbered(self) -> list[tuple[Line, int]]:
        """Each line with the number of its series."""
        return [(line, line.series or place) for place, line in enumerate(self.lines, start=1)]

    @property
    def legend(self) -> dict[str, int]:
        """The number of the series by name; empty if there is nothing to tell apart."""
        names = {line.name: number for line, number in self.numbered}
        return names if self.has_legend and len(names) > 1 else {}


@dataclass(frozen=True)
class Bar:
    """A value, with the 95% interval around it if there is one."""

    name: str
    value: float
    low: float | None = None
    high: float | None = None

    @property
    def interval(self) -> XY:
        """The interval, or the value twice if there is none."""
        return (self.value, self.value) if self.low is None or self.high is None else (self.low, self.high)


@dataclass(frozen=True)
class Bars:
    """A horizontal bar for each entry, from zero, the first on top.

    Attributes:
        label: Label of the axis.
        bars: The bars.
    """

    label: str
    bars: Sequence[Bar]


@dataclass(frozen=True)
class Boxes:
    """A horizontal box plot for each sample, the first on top: quartiles, the whole range, and every value.

    Attributes:
        label: Label of the axis.
        samples: The values by name; samples without values are left out.
    """

    label: str
    samples: Mapping[str, Sequence[float]]

    @property
    def boxes(self) -> dict[str, tuple[float, float, float, float, float]]:
        """The least value, the quartiles and the greatest value of each sample."""
        return {name: five_numbers(values) for name, values in self.samples.items() if values}


def five_numbers(values: Sequence[float]) -> tuple[float, float, float, float, float]:
    """Return the least value, the quartiles and the greatest value."""
    if len(values) == 1:
        return (values[0],) * 5
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return min(values), low, middle, high, max(values)


@dataclass(frozen=True)
class HeatMap:
    """A cell for each row and column: blue above 0, red or orange below.

    Attributes:
        title: What the map shows.
        value_label: What a number is.
        rows: Names of the rows.
        columns: Names of the columns.
        values: The numbers of each row. None leaves the cell out, and NaN leaves it empty.
        scale: The size of a number that has the full color.
        chosen: Cells with a frame, as (row, column).
        is_square: Whether cells are as high as wide.
    """

    title: str
    value_label: str
    rows: Sequence[str]
    columns: Sequence[str]
    values: Sequence[Sequence[float | None]]
    scale: float = 1.0
    chosen: Collection[tuple[int, int]] = ()
    is_square: bool = True


@dataclass(frozen=True)
class Surface:
    """A function of two numbers as a color, and points on it.

    Attributes:
        x_label: Label of the horizontal axis.
        y_label: Label of the vertical axis.
        value_label: What the function gives.
        xs: Places of the columns, ascending and evenly spaced.
        ys: Places of the rows, likewise.
        values: A row of values for each y.
        points: Points that were tried.
    """

    x_label: str
    y_label: str
    value_label: str
    xs: Sequence[float]
    ys: Sequence[float]
    values: Sequence[Sequence[float]]
    points: Sequence[Point] = ()


@dataclass(frozen=True)
class Loop:
    """A closed curve in a plane whose axes have the same scale; its beginning is marked.

    Attributes:
        x_label: Label of the horizontal axis.
        y_label: Label of the vertical axis.
        points: The points of the curve, each once.
        title: What stands above the curve.
    """

    x_label: str
    y_label: str
    points: Sequence[XY]
    title: str = ""


@dataclass(frozen=True)
class Panels:
    """Small charts side by side, in rows. Scatter plots must all name the same series."""

    rows: Sequence[Sequence[Scatter | Loop]]


Chart = Scatter | Lines | Bars | Boxes | HeatMap | Surface | Loop | Panels
