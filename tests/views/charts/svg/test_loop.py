"""Closed curves: the same scale both ways."""

from __future__ import annotations

import re

import pytest

from firstlight.views.charts.description import Loop
from firstlight.views.charts.svg.frame import HEIGHT, WIDTH
from firstlight.views.charts.svg.loop import loop


def test_a_square_stays_a_square() -> None:
    svg = loop(Loop("x", "y", [(0, 0), (3, 0), (3, 3), (0, 3)]))
    (path,) = re.findall(r'class="curve" d="M([^"]+)Z"', svg)
    corners = [tuple(map(float, place.split(","))) for place in path.split("L")]
    assert all(0 <= x <= WIDTH and 0 <= y <= HEIGHT for x, y in corners)
    (left, low), (right, _), (_, high), _ = corners
    assert right - left == pytest.approx(low - high, abs=0.2)
    assert re.findall(r'class="dot chosen" cx="([\d.]+)" cy="([\d.]+)"', svg) == [(f"{left}", f"{low}")]
