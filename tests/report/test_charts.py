"""Charts: every point inside the frame, round ticks around the data."""

from __future__ import annotations

import re

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
    _ticks,
    bands,
    bars,
    heat_map,
    lines,
    scatter,
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
    svg = heat_map(["a", "<b>"], [[1.0, -0.5], [-0.5, float("nan")]], "agreement")
    assert svg.count('class="cell') == 4
    assert svg.count("agree") >= 1
    assert "a, &lt;b&gt;: -0.500" in svg
    assert "not defined" in svg
    assert 'fill-opacity="0.50"' in svg


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
