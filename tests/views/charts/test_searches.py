"""Charts of searches: what is described is what was given."""

from __future__ import annotations

from typing import Any

import pytest

from firstlight.core.errors import StoreError
from firstlight.search.curves import Curve
from firstlight.views.charts.searches import cost_scatter, hnas_progress, hnas_surface, progress_lines

NAN = float("nan")
ANSWERS: list[dict[str, Any]] = [
    {"architecture": "a", "u": 0.1, "exponent": -1.0, "reached": 90.0},
    {"architecture": "b", "u": 0.7, "exponent": -2.0, "reached": 93.0},
    {"architecture": "c", "u": 0.2, "exponent": -3.0, "reached": None},
]
GRID: dict[str, Any] = {
    "u": [0.0, 0.5, 1.0],
    "exponents": [-4.0, -2.0],
    "surface": [[90, 91, 90], [91, 93, 92]],
}


def test_lines_have_bands_and_say_over_how_many_seeds() -> None:
    entries = [Curve("random", [(1, 10, 2), (2, 12, 1)], 5), Curve("evolution", [(1, 11, 0), (2, 15, 0)], 3)]
    chart = progress_lines(entries, "queries", "accuracy")
    assert [line.points for line in chart.lines] == [[(1, 10), (2, 12)], [(1, 11), (2, 15)]]
    assert chart.lines[0].band == ([(1, 8), (2, 11)], [(1, 12), (2, 13)])
    assert chart.title == "mean ± standard deviation over 3 to 5 seeds"


def test_one_seed_has_no_band_and_no_word_of_deviations() -> None:
    chart = progress_lines([Curve("random", [(1, 10, 0)], 1)], "queries", "accuracy")
    assert chart.title == ""
    assert not chart.lines[0].deviations


def test_a_front_is_joined_by_stairs() -> None:
    chart = cost_scatter("macs", [3.0, 1.0, 2.0, 2.5], [9.0, 4.0, 3.0, NAN], [True, True, False, False], "score")
    assert [(point.x, point.y, point.chosen) for point in chart.points] == [(3, 9, True), (1, 4, True), (2, 3, False)]
    assert chart.line is not None
    assert (chart.line.points, chart.line.is_stairs) == ([(1, 4), (3, 9)], True)
    assert (chart.title, chart.chosen_name) == ("3 of 4 networks", "front")


def test_a_front_that_is_not_a_line_is_not_joined() -> None:
    """With several costs, a network may be on the front for one that the chart does not show."""
    assert cost_scatter("macs", [1.0, 2.0], [5.0, 4.0], [True, True], "score").line is None
    assert cost_scatter("macs", [1.0, 2.0], [5.0, 4.0], [True, False], "score").chosen_name == "chosen"


def test_a_surface_shows_what_was_tried_and_the_best() -> None:
    chart = hnas_surface({"answers": ANSWERS, **GRID})
    assert [(point.x, point.y, point.value) for point in chart.points] == [(0.1, -1, 90), (0.7, -2, 93)]
    assert [point.chosen for point in chart.points] == [False, True]
    assert chart.points[1].tooltip == "query 2: 93.00%\nu 0.70, mu 10^-2.00\nb"
    assert chart.values == GRID["surface"]


def test_progress_has_the_number_of_each_query() -> None:
    chart = hnas_progress({"answers": [ANSWERS[2], *ANSWERS[:2]]})
    assert [(point.x, point.y) for point in chart.points] == [(2, 90), (3, 93)]
    assert chart.with_record
    assert hnas_progress({"answers": []}).points == []


@pytest.mark.parametrize(
    "damage",
    [{"answers": 3}, {"answers": [{"reached": 1}]}, {"surface": [[1]]}, {"surface": "words"}, {"u": None}, {"u": []}],
)
def test_damaged_findings_are_named(damage: dict[str, Any]) -> None:
    with pytest.raises(StoreError, match="findings of the search are damaged"):
        hnas_surface({"answers": ANSWERS, **GRID, **damage})
