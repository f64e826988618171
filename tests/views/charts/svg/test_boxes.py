"""Box plots: every part inside the frame, and quartiles as numpy has them."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firstlight.views.charts.description import Boxes, five_numbers
from firstlight.views.charts.svg.boxes import boxes
from firstlight.views.charts.svg.frame import WIDTH

SAMPLES = st.lists(st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=9), min_size=1, max_size=5)


@settings(deadline=None)
@given(SAMPLES)
def test_boxes_and_whiskers_lie_in_the_frame(samples: list[list[float]]) -> None:
    svg = boxes(Boxes("loss", {f"p{i}": values for i, values in enumerate(samples)}))
    left = float(re.findall(r'<text x="([\d.]+)"', svg)[0])  # where names end
    found = re.findall(r'class="box" x="([-\d.]+)" y="\d+" width="([\d.]+)"', svg)
    assert len(found) == len(samples)
    assert all(float(x) > left and float(x) + float(width) <= WIDTH for x, width in found)
    assert svg.count("<circle") == sum(map(len, samples))


@given(st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=20))
def test_five_numbers_are_those_of_numpy(values: list[float]) -> None:
    assert five_numbers(values) == pytest.approx(np.percentile(values, [0, 25, 50, 75, 100]), abs=1e-6)


def test_a_sample_without_values_is_left_out() -> None:
    svg = boxes(Boxes("loss", {"none": [], "<some>": [1.0, 2.0]}))
    assert svg.count('class="box"') == 1
    assert "&lt;some&gt;: median 1.5" in svg


def test_without_any_value_only_the_axis_is_drawn() -> None:
    svg = boxes(Boxes("loss", {"none": []}))
    assert 'class="box"' not in svg
    assert ">loss</text>" in svg
