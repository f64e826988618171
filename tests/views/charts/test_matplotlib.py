"""Figures for print: what is drawn is what was described."""

from __future__ import annotations

import re

import numpy as np
import pytest
from matplotlib.text import Text

from firstlight.core.errors import SettingError
from firstlight.views.charts.description import (
    Bar,
    Bars,
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
from firstlight.views.charts.matplotlib import draw_figure
from firstlight.views.charts.studies import agreement_map, correlation_bars, proxy_scatter
from firstlight.views.charts.svg import draw_svg

DOTS = [Point(1, 2), Point(2, 1), Point(3, 5, chosen=True)]
RING = Loop("first", "second", [(0, 0), (1, 0), (1, 1)], "mine")
NAMED = Scatter("x", "y", [*DOTS, Point(1, 1, series=2)], series=("train", "test"))
CHARTS: dict[str, Chart] = {
    "scatter": Scatter("<x>", "y", DOTS, line=Line("nu", [(1, 1), (3, 2)]), with_record=True, log_y=True),
    "density": Scatter("<x>", "y", DOTS, by_density=True),
    "lines": Lines("<x>", "y", [Line("a", [(0, 1), (1, 2)], [1, 1]), Line("b", [(0, 2)], marks=[(1, 1)])]),
    "bars": Bars("<x>", [Bar("a", 0.5, 0.4, 0.6), Bar("b", -0.5)]),
    "heat map": HeatMap("<x>", "y", ["a"], ["b", "c"], [[0.5, None]], chosen={(0, 0)}, is_square=False),
    "surface": Surface("<x>", "y", "z", [0, 1], [0, 1], [[1, 2], [3, 4]], [Point(0, 1, value=3)]),
    "loop": Loop("<x>", "second", [(0, 0), (1, 0), (1, 1)]),
    "panels": Panels([[Scatter("<x>", "y", NAMED.points, series=NAMED.series), RING], [RING]]),
}


@pytest.mark.parametrize("kind", CHARTS)
def test_every_chart_is_drawn_for_pages_and_for_print(kind: str) -> None:
    svg = draw_svg(CHARTS[kind])
    assert re.fullmatch(r"<svg [^>]*>.*</svg>", svg)
    assert "&lt;x&gt;" in svg
    assert "<x>" not in svg
    assert draw_figure(CHARTS[kind], width="page").get_size_inches()[0] == 6.9


@pytest.mark.parametrize(
    "chart",
    [
        Scatter("x", "y", []),
        Lines("x", "y", []),
        Lines("x", "y", [Line("a", [])]),
        Bars("x", []),
        HeatMap("t", "v", [], [], []),
        Surface("x", "y", "z", [], [], []),
        Panels([]),
    ],
)
def test_an_empty_chart_is_refused(chart: Chart) -> None:
    with pytest.raises(SettingError, match="nothing to draw"):
        draw_figure(chart)


def test_dots_are_brightest_where_most_are() -> None:
    crowd = np.random.default_rng(1).normal(size=200) * 0.01
    places = zip(np.append(crowd, 5.0).tolist(), np.append(crowd[::-1], 5.0).tolist(), strict=True)
    figure = draw_figure(Scatter("a", "b", [Point(x, y) for x, y in places], by_density=True))
    dots = figure.axes[0].collections[0]
    shades, drawn = np.asarray(dots.get_array()), np.asarray(dots.get_offsets())
    assert shades[drawn[:, 0] == 5.0].max() == shades.min()
    assert (np.diff(shades) >= 0).all()  # the brightest are drawn on top


def test_a_front_stands_out_and_is_joined_by_stairs() -> None:
    points = [Point(3, 9, chosen=True), Point(1, 4, chosen=True), Point(2, 3)]
    front = Line("front", [(1, 4), (3, 9)], is_stairs=True)
    (axes,) = draw_figure(Scatter("MACs", "score", points, "3 networks", front, chosen_name="front")).axes
    others, chosen = (np.asarray(dots.get_offsets()).tolist() for dots in axes.collections)
    assert (others, chosen) == ([[2, 3]], [[1, 4], [3, 9]])
    assert axes.lines[0].get_drawstyle() == "steps-post"
    assert axes.get_title(loc="left") == "3 networks"
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("MACs", "score")


def test_without_anything_to_name_there_is_no_legend() -> None:
    assert draw_figure(Scatter("x", "y", [Point(1, 2)], chosen_name="chosen")).axes[0].get_legend() is None
    assert draw_figure(Lines("x", "y", [Line("one", [(0, 1), (1, 2)])])).axes[0].get_legend() is None


def test_large_amounts_are_written_short() -> None:
    (axes,) = draw_figure(Scatter("parameters", "y", [Point(850_000, 1), Point(900_000, 2)])).axes
    assert axes.xaxis.get_major_formatter()(850_000) == "850k"


def test_lines_have_bands_and_names() -> None:
    entries = [Line("random", [(1, 10), (2, 12)], [2, 1]), Line("evolution", [(1, 11), (2, 15)])]
    (axes,) = draw_figure(Lines("queries", "accuracy", entries, title="over 5 seeds")).axes
    assert [list(line.get_ydata()) for line in axes.lines] == [[10, 12], [11, 15]]
    band = np.asarray(axes.collections[0].get_paths()[0].vertices)[:, 1]
    assert (band.min(), band.max()) == (8, 13)
    legend = axes.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["random", "evolution"]
    assert axes.get_title(loc="left") == "over 5 seeds"
    assert len({line.get_linestyle() for line in axes.lines}) == 2  # they differ without color


def test_lines_of_one_name_are_named_once() -> None:
    entries = [Line("best", [(0, 1), (1, 2)], series=1), Line("best", [(0, 2), (1, 2)], series=1)]
    legend = draw_figure(Lines("x", "y", [*entries, Line("worst", [(0, 0), (1, 0)])])).axes[0].get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["best", "worst"]


def test_a_single_point_can_be_seen() -> None:
    (line,) = draw_figure(Lines("networks", "score", [Line("nasi", [(1, 10)])])).axes[0].lines
    assert line.get_marker() == "o"


def test_an_axis_shows_what_it_must_include() -> None:
    chart = Lines("x", "y", [Line("a", [(0, 5), (1, 6)])], includes=(0.0,))
    low, high = draw_figure(chart).axes[0].get_ylim()
    assert (low, high > 6) == (0.0, True)


def test_bars_have_their_intervals() -> None:
    chart = Bars("Spearman", [Bar("dextr", 0.9, 0.8, 0.95), Bar("plain", -0.3, -0.5, 0.1)])
    (axes,) = draw_figure(chart).axes
    assert [patch.get_width() for patch in axes.patches] == [0.9, -0.3]  # type: ignore[attr-defined]
    assert [list(line.get_xdata()) for line in axes.lines[:2]] == [[0.8, 0.95], [-0.5, 0.1]]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["dextr", "plain"]
    assert axes.patches[0].get_facecolor() != axes.patches[1].get_facecolor()


def test_a_heat_map_says_each_number() -> None:
    chart = HeatMap("agreement", "correlation", ["a", "b"], ["a", "b"], [[1.0, 0.25], [None, float("nan")]])
    axes = draw_figure(chart).axes[0]
    assert [text.get_text() for text in axes.texts] == ["1.00", "0.25", "-"]


def test_a_surface_has_a_ring_around_the_chosen_point() -> None:
    points = [Point(0.1, -1, value=90.0), Point(0.7, -2, value=93.0, chosen=True)]
    chart = Surface("u", "mu", "accuracy", [0.0, 0.5, 1.0], [-4.0, 0.0], [[90, 91, 90], [91, 93, 92]], points)
    axes = draw_figure(chart).axes[0]
    assert np.asarray(axes.collections[-1].get_offsets()).tolist() == [[0.1, -1], [0.7, -2]]
    (ring,) = axes.lines
    assert (list(ring.get_xdata()), list(ring.get_ydata())) == ([0.7], [-2.0])


def test_a_loop_ends_where_it_begins() -> None:
    (axes,) = draw_figure(RING).axes
    x = np.asarray(axes.lines[0].get_xdata())
    assert (len(x), x[0]) == (4, x[-1])
    assert axes.get_title(loc="left") == "mine"


def test_colors_of_a_scatter_have_a_legend() -> None:
    x = np.random.default_rng(0).normal(size=200)
    figure = draw_figure(proxy_scatter("p", "acc", x, x + 1))
    key = figure.axes[1]
    assert key.get_ylabel() == "networks nearby"
    assert [label.get_text() for label in key.get_yticklabels()] == ["few", "many"]


@pytest.mark.parametrize("width", ["column", "page"])
@pytest.mark.parametrize("many", [4, 40])
def test_no_label_is_clipped(width: str, many: int) -> None:
    names = [f"mypackage.proxies:a_long_name_{number}" for number in range(many)]
    bars = correlation_bars("cifar10_test_200", [Bar(name, 0.5, 0.4, 0.6) for name in names])
    for chart in (bars, agreement_map(names, np.eye(many))):
        figure = draw_figure(chart, width=width)
        figure.draw_without_rendering()
        edge = figure.bbox
        for text in figure.findobj(Text):
            box = text.get_window_extent()
            is_number = re.fullmatch(r"\W?[\d.]*", text.get_text())  # ticks beyond the axis are not drawn
            if text.get_visible() and not is_number:
                assert box.x0 >= edge.x0 - 1, text
                assert box.y0 >= edge.y0 - 1, text
                assert box.x1 <= edge.x1 + 1, text
                assert box.y1 <= edge.y1 + 1, text
