"""Bars: every one inside the frame."""

from __future__ import annotations

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from firstlight.views.charts.bars import Bar, bars
from firstlight.views.charts.frame import WIDTH


@settings(deadline=None)
@given(st.lists(st.tuples(st.floats(-1, 1), st.floats(0, 0.5), st.floats(0, 0.5)), min_size=1, max_size=12))
def test_bars_and_whiskers_lie_in_the_frame(values: list[tuple[float, float, float]]) -> None:
    svg = bars([Bar(f"p{i}", v, v - below, v + above) for i, (v, below, above) in enumerate(values)], "rho")
    left = float(re.findall(r'<text x="([\d.]+)"', svg)[0])  # where names end
    found = re.findall(r'class="bar" x="([-\d.]+)" y="\d+" width="([\d.]+)"', svg)
    assert len(found) == len(values)
    assert all(float(x) > left and float(x) + float(width) <= WIDTH for x, width in found)
    whiskers = [float(x) for x in re.findall(r"M([-\d.]+),", svg)]
    assert all(left < x <= WIDTH for x in whiskers)


def test_a_bar_without_an_interval_has_no_whisker() -> None:
    svg = bars([Bar("<often>", 0.75), Bar("seldom", 0.25)], "share")
    assert "whisker" not in svg
    assert "<title>&lt;often&gt;: 0.750</title>" in svg
