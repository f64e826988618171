"""A function of two numbers as colors."""

from __future__ import annotations

import re

from firstlight.views.charts.description import Point, Surface
from firstlight.views.charts.svg.surface import surface

XS, YS = [0.0, 0.5, 1.0], [-4.0, 0.0]
VALUES = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]


def test_a_cell_for_each_pair_and_the_highest_is_the_fullest() -> None:
    chart = surface(Surface("u", "c", "expected", XS, YS, VALUES, [Point(0.5, -4.0, "<here>", chosen=True)]))
    cells = re.findall(r'fill-opacity="([\d.]+)"><title>([^<]+)</title>', chart)
    assert len(cells) == 6
    assert max(cells) == ("0.80", "1.00, 0.00: expected 6.00")
    assert min(cells) == ("0.05", "0.00, -4.00: expected 1.00")
    assert chart.count("<circle") == 1
    assert "&lt;here&gt;" in chart


def test_cells_fill_the_frame_without_gaps() -> None:
    chart = surface(Surface("u", "c", "expected", XS, YS, VALUES))
    cells = re.findall(r'x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" height="([\d.]+)"', chart)
    area = sum(float(width) * float(height) for _, _, width, height in cells)
    lefts, tops, widths, heights = zip(*(map(float, cell) for cell in cells), strict=True)
    across = max(map(sum, zip(lefts, widths, strict=True))) - min(lefts)
    down = max(map(sum, zip(tops, heights, strict=True))) - min(tops)
    assert abs(area - across * down) < 0.01 * area


def test_where_all_is_the_same_nothing_is_divided_by_zero() -> None:
    assert surface(Surface("u", "c", "expected", XS, YS, [[1.0] * 3] * 2)).count('fill-opacity="0.05"') == 6
