"""Scatter plots side by side: every mark inside its own frame."""

from __future__ import annotations

import re

import pytest

from firstlight.views.charts.panels import ROOM, TOP, Panel, panels


def test_every_panel_has_its_place_and_its_marks() -> None:
    series = {"training <loss>": [(0.0, 1.0), (5.0, 2.0)], "test": [(0.0, 9.0), (5.0, 3.0)]}
    rows = [[Panel(f"panel {row}{column}", "x", "y", series) for column in range(3)] for row in range(2)]
    svg = panels(rows)
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
    svg = panels([[Panel("", "x", "y", {"loss": [(0, 0.1), (1, 1.0), (2, 10.0)]}, logarithmic=True)]])
    heights = [float(y) for y in re.findall(r'cy="([\d.]+)"', svg)][1:]  # the first is that of the names
    assert heights[0] - heights[1] == pytest.approx(heights[1] - heights[2], abs=0.2)
