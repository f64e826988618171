"""Charts side by side: every mark inside its own frame."""

from __future__ import annotations

import re

import pytest

from firstlight.views.charts.description import Loop, Panels, Point, Scatter
from firstlight.views.charts.svg.panels import ROOM, TOP, panels


def test_every_panel_has_its_place_and_its_marks() -> None:
    points = [Point(0, 1), Point(5, 2), Point(0, 9, series=2), Point(5, 3, series=2)]
    names = ("training <loss>", "test")
    rows = [
        [Scatter("x", "y", points, title=f"panel {row}{column}", series=names) for column in range(3)]
        for row in range(2)
    ]
    svg = panels(Panels(rows))
    assert f'viewBox="0 0 {3 * ROOM.width} {TOP + 2 * ROOM.height}"' in svg
    assert "training &lt;loss&gt;" in svg
    places = re.findall(r'<g transform="translate\((\d+) (\d+)\)">(.*?)</g>', svg)
    assert {(int(x), int(y)) for x, y, _ in places} == {
        (ROOM.width * column, TOP + ROOM.height * row) for row in range(2) for column in range(3)
    }
    for _, _, drawn in places:
        dots = re.findall(r'cx="([\d.]+)" cy="([\d.]+)"', drawn)
        squares = re.findall(r'<rect class="dot chosen" x="([\d.]+)" y="([\d.]+)"', drawn)
        assert len(dots) == len(squares) == 2
        assert all(
            ROOM.left - 3 <= float(x) <= ROOM.width - ROOM.right and ROOM.top - 3 <= float(y) <= ROOM.height
            for x, y in dots + squares
        )
        assert float(squares[0][1]) < float(dots[0][1])  # 9 is higher than 1


def test_on_a_logarithmic_scale_factors_are_distances() -> None:
    svg = panels(Panels([[Scatter("x", "y", [Point(0, 0.1), Point(1, 1.0), Point(2, 10.0)], log_y=True)]]))
    heights = [float(y) for y in re.findall(r'cy="([\d.]+)"', svg)]
    assert heights[0] - heights[1] == pytest.approx(heights[1] - heights[2], abs=0.2)


def test_closed_curves_stand_side_by_side() -> None:
    curve = Loop("first", "second", [(0, 0), (1, 0), (1, 1)], "mine\nlength 1.00")
    svg = panels(Panels([[curve, curve]]))
    assert svg.count('Z"/>') == 2
    assert svg.count(">mine, length 1.00</text>") == 2
