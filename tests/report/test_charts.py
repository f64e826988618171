"""Charts: every point inside the frame, round ticks around the data."""

from __future__ import annotations

import itertools
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firstlight.report.charts import (
    HEIGHT,
    SERIES,
    WIDTH,
    Band,
    Bar,
    Line,
    Point,
    _powers,
    _ticks,
    bands,
    bars,
    heat_map,
    legend,
    lines,
    scatter,
    small_lines,
)

NUMBERS = st.floats(-1e12, 1e12, allow_nan=False)


@settings(deadline=None)
@given(NUMBERS, NUMBERS)
def test_ticks_enclose_the_data(a: float, b: float) -> None:
    low, high = min(a, b), max(a, b)
    ticks = _ticks(low, high)
    span = ticks[-1] - ticks[0]
    assert ticks[0] <= low + 1e-9 * span
    assert ticks[-1] >= high - 1e-9 * span
    assert 2 <= len(ticks) <= 7


@settings(deadline=None)
@given(st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=20))
def test_points_lie_in_the_frame(values: list[tuple[float, float]]) -> None:
    svg = scatter([Point(x, y, "t") for x, y in values], "x", "y", record=True)
    places = re.findall(r'cx="([-\d.]+)" cy="([-\d.]+)"', svg)
    assert len(places) == len(values)
    assert all(0 <= float(x) <= WIDTH and 0 <= float(y) <= HEIGHT for x, y in places)


def test_the_record_never_falls() -> None:
    svg = scatter([Point(0, 1, ""), Point(1, 3, ""), Point(2, 2, "")], "x", "y", record=True)
    path = re.search(r'class="curve" d="([^"]+)"', svg)
    assert path is not None
    heights = [float(value) for value in re.findall(r"V([\d.]+)", path[1])]
    assert heights == sorted(heights, reverse=True)
    assert heights[1] == heights[2]


@settings(deadline=None)
@given(st.lists(st.tuples(st.floats(-1, 1), st.floats(0, 0.5), st.floats(0, 0.5)), min_size=1, max_size=12))
def test_bars_and_whiskers_lie_in_the_frame(values: list[tuple[float, float, float]]) -> None:
    svg = bars([Bar(f"p{i}", v, v - below, v + above) for i, (v, below, above) in enumerate(values)], "rho")
    found = re.findall(r'class="bar" x="([-\d.]+)" y="\d+" width="([\d.]+)"', svg)
    assert len(found) == len(values)
    assert all(float(x) >= 149 and float(x) + float(width) <= WIDTH for x, width in found)
    whiskers = [float(x) for x in re.findall(r"M([-\d.]+),", svg)]
    assert all(149 <= x <= WIDTH for x in whiskers)


def test_a_heat_map_has_a_square_for_each_pair_and_says_what_it_is() -> None:
    names = ["a", "<b>"]
    svg = heat_map(names, names, [[1.0, -0.5], [-0.5, float("nan")]], "agreement")
    assert svg.count('class="cell') == 4
    assert svg.count("agree") >= 1
    assert "a, &lt;b&gt;: -0.500" in svg
    assert "not defined" in svg
    assert 'fill-opacity="0.50"' in svg
    assert "frame" not in svg


def test_a_heat_map_of_small_numbers_shows_their_digits_and_frames_what_is_chosen() -> None:
    values = [[0.05, -0.1, None], [-0.0002, 0.0123, 0.0]]
    svg = heat_map(["one", "two"], ["a", "b", "c"], values, "preferences", scale=0.1, largest=(56, 30), chosen={(1, 1)})
    assert svg.count('class="cell') == 5  # there is none for None
    assert re.findall(r'fill-opacity="([\d.]+)"', svg) == ["0.50", "1.00", "0.00", "0.12", "0.00"]
    assert re.findall(r">(-?[\d.]+)</text>", svg) == ["0.050", "-0.100", "0.000", "0.012", "0.000"]
    assert svg.count('class="frame"') == 1
    assert "two, b: 0.0123, taken</title>" in svg
    assert "one, a: 0.0500</title>" in svg


def test_names_of_columns_are_upright_where_there_is_room() -> None:
    assert "rotate" not in heat_map(["one"], ["0", "1"], [[1.0, 0.5]], "inputs")
    assert heat_map(["one"], ["nor_conv_3x3", "1"], [[1.0, 0.5]], "operations").count("rotate") == 2


@settings(deadline=None)
@given(st.lists(st.tuples(NUMBERS, NUMBERS, st.floats(0, 1e3)), min_size=2, max_size=20))
def test_bands_lie_in_the_frame_and_are_named(points: list[tuple[float, float, float]]) -> None:
    svg = bands([Band("first", points), Band("<second>", points[:2])], "x", "y")
    around = re.findall(r'class="band series-\d" d="M([^"]+)Z"', svg)
    assert [path.count(",") for path in around] == [2 * len(points), 4]
    middle = re.findall(r'class="curve series-\d" d="M([^"]+)"><title>', svg)
    assert [path.count(",") for path in middle] == [len(points), 2]
    places = [tuple(map(float, place.split(","))) for path in (*around, *middle) for place in path.split("L")]
    assert all(0 <= x <= WIDTH and 0 <= y <= HEIGHT for x, y in places)
    assert svg.count(">&lt;second&gt;</text>") == 1  # below the frame


def test_many_bands_begin_again_with_the_first_colour() -> None:
    svg = bands([Band(str(number), [(0, 1, 0), (1, 2, 0)]) for number in range(SERIES + 1)], "x", "y")
    assert svg.count(f"band series-{SERIES}") == 1
    assert svg.count("band series-1") == 2


@settings(deadline=None)
@given(st.lists(st.tuples(NUMBERS, NUMBERS), min_size=2, max_size=20))
def test_lines_lie_in_the_frame(points: list[tuple[float, float]]) -> None:
    svg = lines([Line("first", points), Line("<second>", points[:2], other=True)], "x", "y")
    paths = re.findall(r'class="curve(?: other)?" d="M([^"]+)"', svg)
    assert [path.count(",") for path in paths] == [len(points), 2]
    places = [tuple(map(float, place.split(","))) for path in paths for place in path.split("L")]
    assert all(0 <= x <= WIDTH and 0 <= y <= HEIGHT for x, y in places)
    assert "&lt;second&gt;" in svg


POSITIVE = st.floats(1e-12, 1e12)


@settings(deadline=None)
@given(POSITIVE, POSITIVE)
def test_logarithmic_ticks_enclose_the_data(a: float, b: float) -> None:
    low, high = min(a, b), max(a, b)
    ticks = _powers(low, high)
    assert ticks[0] <= low * (1 + 1e-9)
    assert ticks[-1] >= high * (1 - 1e-9)
    assert 2 <= len(ticks) <= 8
    assert ticks == sorted(set(ticks))


def test_on_a_logarithmic_scale_factors_are_distances() -> None:
    svg = scatter([Point(x, 10.0**x, "") for x in range(4)], "x", "y", logarithmic=True, of="steps")
    heights = [float(y) for y in re.findall(r'cy="([-\d.]+)"', svg)]
    assert [a - b for a, b in itertools.pairwise(heights)] == pytest.approx([heights[0] - heights[1]] * 3, abs=0.2)
    assert "4 steps" in svg


def test_dots_can_be_compared_with_a_level_beyond_them() -> None:
    svg = scatter([Point(1, 2, "")], "x", "y", level=Line("nu", [(1, 5), (3, 4)], other=True))
    (path,) = re.findall(r'class="curve other" d="M([^"]+)"><title>nu', svg)
    places = [tuple(map(float, place.split(","))) for place in path.split("L")]
    assert all(0 <= x <= WIDTH and 0 <= y <= HEIGHT for x, y in places)
    assert places[0][1] < places[1][1] < float(re.findall(r'cy="([\d.]+)"', svg)[0])


def test_small_charts_share_their_range_and_draw_strong_lines_last() -> None:
    entries = [Line("taken", [(0, 0), (9, 1)], series=1, strong=True), Line("left", [(0, 0), (9, -1)], series=8)]
    svg = small_lines(entries, "growth", (-2.0, 2.0))
    assert re.findall(r'<path class="([^"]+)"', svg) == ["curve series-1", "curve series-1 strong"]
    assert svg.index("left") < svg.index("taken")
    assert ">2</text>" in svg
    assert 'aria-label="growth, 2 lines"' in svg


def test_a_legend_names_each_series() -> None:
    text = legend(["conv", "<pool>"])
    assert re.findall(r"(series-\d).*?</svg>([^<]+)<", text) == [("series-1", "conv"), ("series-2", "&lt;pool&gt;")]
