"""Heat maps: a cell for each pair, and what it says."""

from __future__ import annotations

import re

from firstlight.views.charts.description import HeatMap
from firstlight.views.charts.svg.heat_map import heat_map


def test_a_heat_map_has_a_square_for_each_pair_and_says_what_it_is() -> None:
    names = ["a", "<b>"]
    svg = heat_map(HeatMap("agreement", "correlation", names, names, [[1.0, -0.5], [-0.5, float("nan")]]))
    assert svg.count('class="cell') == 4
    assert svg.count("agree") >= 1
    assert "a, &lt;b&gt;: -0.500" in svg
    assert "not defined" in svg
    assert 'fill-opacity="0.50"' in svg
    assert "frame" not in svg
    assert "operation" not in svg  # the class of names on arrows, which have the paper's color around them


def test_small_numbers_show_their_digits_and_chosen_cells_have_a_frame() -> None:
    values = [[0.05, -0.1, None], [-0.0002, 0.0123, 0.0]]
    columns = ["a", "b", "c"]
    svg = heat_map(HeatMap("t", "v", ["one", "two"], columns, values, scale=0.1, chosen={(1, 1)}, is_square=False))
    assert svg.count('class="cell') == 5  # there is none for None
    assert re.findall(r'fill-opacity="([\d.]+)"', svg) == ["0.50", "1.00", "0.00", "0.12", "0.00"]
    assert re.findall(r">(-?[\d.]+)</text>", svg) == ["0.050", "-0.100", "-0.0002", "0.012", "0.000"]
    assert svg.count('class="frame"') == 1
    assert "two, b: 0.0123, chosen</title>" in svg
    assert "one, a: 0.0500</title>" in svg
    assert "two, a: -0.0002</title>" in svg


def test_small_numbers_have_zeros_where_there_is_no_room_for_more() -> None:
    svg = heat_map(HeatMap("agreement", "v", ["one"], ["a", "b"], [[0.004, -0.0004]]))
    assert re.findall(r">(-?[\d.]+)</text>", svg) == ["0.004", "0.00"]
    assert re.findall(r"one, .: ([^<]+)<", svg) == ["0.004", "-0.0004"]


def test_names_of_columns_are_upright_where_there_is_room() -> None:
    assert "rotate" not in heat_map(HeatMap("inputs", "v", ["one"], ["0", "1"], [[1.0, 0.5]]))
    turned = heat_map(HeatMap("operations", "v", ["one"], ["nor_conv_3x3", "1"], [[1.0, 0.5]]))
    assert turned.count("rotate") == 2
