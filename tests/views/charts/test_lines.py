"""Lines and bands: every point inside the frame, every line named."""

from __future__ import annotations

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from firstlight.views.charts.frame import HEIGHT, WIDTH
from firstlight.views.charts.lines import SERIES, Band, Line, bands, legend, lines, small_lines

NUMBERS = st.floats(-1e12, 1e12, allow_nan=False)


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
