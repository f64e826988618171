"""Lines and bands: every point inside the frame, every line named."""

from __future__ import annotations

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from firstlight.views.charts.description import Line, Lines
from firstlight.views.charts.svg.frame import HEIGHT, WIDTH
from firstlight.views.charts.svg.lines import SERIES, legend, lines

NUMBERS = st.floats(-1e12, 1e12, allow_nan=False)


def places(paths: list[str]) -> list[tuple[float, ...]]:
    return [tuple(map(float, place.split(","))) for path in paths for place in path.split("L")]


@settings(deadline=None)
@given(st.lists(st.tuples(NUMBERS, NUMBERS, st.floats(0, 1e3)), min_size=2, max_size=20))
def test_bands_lie_in_the_frame_and_are_named(points: list[tuple[float, float, float]]) -> None:
    middle, around = [(x, y) for x, y, _ in points], [deviation for *_, deviation in points]
    svg = lines(Lines("x", "y", [Line("first", middle, around), Line("<second>", middle[:2], around[:2])]))
    bands = re.findall(r'class="band series-\d" d="M([^"]+)Z"', svg)
    assert [path.count(",") for path in bands] == [2 * len(points), 4]
    curves = re.findall(r'class="curve series-\d" d="M([^"]+)"><title>', svg)
    assert [path.count(",") for path in curves] == [len(points), 2]
    assert all(0 <= x <= WIDTH and 0 <= y <= HEIGHT for x, y in places([*bands, *curves]))
    assert svg.count(">&lt;second&gt;</text>") == 1  # below the frame


def test_many_lines_begin_again_with_the_first_color() -> None:
    svg = lines(Lines("x", "y", [Line(str(number), [(0, 1), (1, 2)], [0, 0]) for number in range(SERIES + 1)]))
    assert svg.count(f"band series-{SERIES}") == 1
    assert svg.count("band series-1") == 2


def test_a_tooltip_tells_where_a_line_ends() -> None:
    svg = lines(Lines("queries", "accuracy", [Line("random", [(1, 2), (9, 4)], [0, 0.25])]))
    assert "<title>random: 4 ± 0.25 at 9 queries</title>" in svg
    assert ">random</text>" not in svg  # a single line needs no legend
    assert "<title>said</title>" in lines(Lines("x", "y", [Line("random", [(1, 2), (9, 4)], tooltip="said")]))


def test_lines_of_one_name_and_series_are_named_once() -> None:
    entries = [Line(name, [(0, number), (1, 2)], series=1 + (name == "b")) for number, name in enumerate("aabb")]
    svg = lines(Lines("x", "y", entries))
    assert re.findall(r">(a|b)</text>", svg) == ["a", "b"]
    assert svg.count('class="curve series-2"') == 3  # two lines and the legend


def test_stairs_hold_each_value_until_the_next() -> None:
    svg = lines(Lines("x", "y", [Line("front", [(0, 0), (2, 1), (4, 3)], is_stairs=True)]))
    (path,) = re.findall(r'd="(M[^"]+)"><title>', svg)
    assert re.sub(r"[\d.,]", "", path) == "MHVHV"


def test_a_single_point_is_a_dot_and_marks_are_drawn() -> None:
    svg = lines(Lines("x", "y", [Line("one", [(1, 2)], marks=[(0, 1), (2, 3)])]))
    assert svg.count("<circle") == 3
    assert "d=" not in svg


def test_small_charts_share_their_range_and_draw_strong_lines_last() -> None:
    entries = [
        Line("chosen", [(0, 0), (9, 1)], tooltip="chosen", series=1, strong=True),
        Line("left", [(0, 0), (9, -1)], tooltip="left", series=8),
    ]
    svg = lines(Lines("steps", "growth", entries, includes=(-2.0, 2.0)), small=True)
    assert re.findall(r'<path class="([^"]+)"', svg) == ["curve series-1", "curve series-1 strong"]
    assert svg.index("left") < svg.index("chosen")
    assert ">2</text>" in svg
    assert 'class="label"' not in svg
    assert 'aria-label="growth against steps, 2 lines"' in svg


def test_a_legend_names_each_series() -> None:
    text = legend(["conv", "<pool>"])
    assert re.findall(r"(series-\d).*?</svg>([^<]+)<", text) == [("series-1", "conv"), ("series-2", "&lt;pool&gt;")]
