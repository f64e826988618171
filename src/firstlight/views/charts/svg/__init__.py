"""Charts as SVG text for pages: no scripts, no fonts, readable in light and dark, every mark with a tooltip."""

from __future__ import annotations

from markupsafe import Markup

from firstlight.views.charts.description import Bars, Boxes, Chart, HeatMap, Lines, Loop, Panels, Scatter, Surface
from firstlight.views.charts.svg.bars import bars
from firstlight.views.charts.svg.boxes import boxes
from firstlight.views.charts.svg.heat_map import heat_map
from firstlight.views.charts.svg.lines import legend, lines
from firstlight.views.charts.svg.loop import loop
from firstlight.views.charts.svg.panels import panels
from firstlight.views.charts.svg.scatter import scatter
from firstlight.views.charts.svg.surface import surface

__all__ = ["draw_svg", "legend"]


def draw_svg(chart: Chart, *, small: bool = False) -> Markup:
    """Draw a chart as SVG text for a page.

    Args:
        chart: What to draw.
        small: Whether it is one of many lines charts side by side, which share labels and a `legend`.

    Returns:
        The SVG element, in which all names are escaped.
    """
    match chart:
        case Scatter():
            return scatter(chart)
        case Lines():
            return lines(chart, small=small)
        case Bars():
            return bars(chart)
        case Boxes():
            return boxes(chart)
        case HeatMap():
            return heat_map(chart)
        case Surface():
            return surface(chart)
        case Loop():
            return loop(chart)
        case Panels():
            return panels(chart)
