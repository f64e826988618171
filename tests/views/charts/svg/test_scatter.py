"""Dots: every one inside the frame."""

from __future__ import annotations

import itertools
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firstlight.views.charts.description import Line, Point, Scatter
from firstlight.views.charts.svg.frame import HEIGHT, WIDTH
from firstlight.views.charts.svg.scatter import scatter

NUMBERS = st.floats(-1e12, 1e12, allow_nan=False)


@settings(deadline=None)
@given(st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=20))
def test_points_lie_in_the_frame(values: list[tuple[float, float]]) -> None:
    svg = scatter(Scatter("x", "y", [Point(x, y, "t") for x, y in values], with_record=True))
    places = re.findall(r'cx="([-\d.]+)" cy="([-\d.]+)"', svg)
    assert len(places) == len(values)
    assert all(0 <= float(x) <= WIDTH and 0 <= float(y) <= HEIGHT for x, y in places)


def test_the_record_never_falls() -> None:
    svg = scatter(Scatter("x", "y", [Point(0, 1), Point(1, 3), Point(2, 2)], with_record=True))
    path = re.search(r'class="curve" d="([^"]+)"', svg)
    assert path is not None
    heights = [float(value) for value in re.findall(r"V([\d.]+)", path[1])]
    assert heights == sorted(heights, reverse=True)
    assert heights[1] == heights[2]


def test_on_a_logarithmic_scale_factors_are_distances() -> None:
    svg = scatter(Scatter("x", "y", [Point(x, 10.0**x) for x in range(4)], log_y=True, noun="steps"))
    heights = [float(y) for y in re.findall(r'cy="([-\d.]+)"', svg)]
    assert [a - b for a, b in itertools.pairwise(heights)] == pytest.approx([heights[0] - heights[1]] * 3, abs=0.2)
    assert "4 steps" in svg


def test_dots_can_be_compared_with_a_line_beyond_them() -> None:
    svg = scatter(Scatter("x", "y", [Point(1, 2)], line=Line("nu", [(1, 5), (3, 4)])))
    (path,) = re.findall(r'class="curve other" d="M([^"]+)"><title>nu', svg)
    places = [tuple(map(float, place.split(","))) for place in path.split("L")]
    assert all(0 <= x <= WIDTH and 0 <= y <= HEIGHT for x, y in places)
    assert places[0][1] < places[1][1] < float(re.findall(r'cy="([\d.]+)"', svg)[0])
