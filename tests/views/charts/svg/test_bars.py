"""Bars: every one inside the frame."""

from __future__ import annotations

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from firstlight.views.charts.description import Bar, Bars
from firstlight.views.charts.svg.bars import bars
from firstlight.views.charts.svg.frame import WIDTH


@settings(deadline=None)
@given(st.lists(st.tuples(st.floats(-1, 1), st.floats(0, 0.5), st.floats(0, 0.5)), min_size=1, max_size=12))
def test_bars_and_whiskers_lie_in_the_frame(values: list[tuple[float, float, float]]) -> None:
    entries = [Bar(f"p{i}", v, v - below, v + above) for i, (v, below, above) in enumerate(values)]
    svg = bars(Bars("rho", entries))
    left = float(re.findall(r'<text x="([\d.]+)"', svg)[0])  # where names end
    found = re.findall(r'class="bar" x="([-\d.]+)" y="\d+" width="([\d.]+)"', svg)
    assert len(found) == len(values)
    assert all(float(x) > left and float(x) + float(width) <= WIDTH for x, width in found)
    whiskers = [float(x) for x in re.findall(r"M([-\d.]+),", svg)]
    assert all(left < x <= WIDTH for x in whiskers)


def test_tooltips_have_the_interval_if_there_is_one() -> None:
    svg = bars(Bars("share", [Bar("<often>", 0.75), Bar("seldom", 0.25, 0.125, 0.5)]))
    assert svg.count("whisker") == 1
    assert "<title>&lt;often&gt;: 0.750</title>" in svg
    assert "<title>seldom: 0.250 (95% interval 0.125 to 0.500)</title>" in svg
