"""Fronts against their definition, point by point."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firstlight.search.front import Points, crowding, hypervolume, hypervolumes, layers, on_front

small = st.integers(0, 4).map(float)
point_lists = st.integers(2, 3).flatmap(
    lambda width: st.lists(st.lists(small, min_size=width, max_size=width), min_size=1, max_size=25)
)


def beaten(point: Points, points: Points) -> bool:
    return any((other >= point).all() and (other > point).any() for other in points)


@settings(deadline=None)  # the first example imports BoTorch
@given(point_lists)
def test_the_front_is_what_nothing_beats(rows: list[list[float]]) -> None:
    points = np.array(rows)
    assert on_front(points).tolist() == [not beaten(point, points) for point in points]


@settings(deadline=None)
@given(point_lists)
def test_each_layer_is_the_front_of_the_rest(rows: list[list[float]]) -> None:
    points = np.array(rows)
    numbers = layers(points)
    for number in range(numbers.max() + 1):
        rest = points[numbers >= number]
        expected = [not beaten(point, rest) for point in rest]
        assert (numbers[numbers >= number] == number).tolist() == expected


def test_room_by_hand() -> None:
    points = np.array([[0.0, 4.0], [1.0, 3.0], [3.0, 1.0], [4.0, 0.0]])
    assert crowding(points).tolist() == [np.inf, 3 / 4 + 3 / 4, 3 / 4 + 3 / 4, np.inf]
    assert crowding(points[[2, 0, 3, 1]]).tolist() == [1.5, np.inf, np.inf, 1.5]
    assert crowding(np.array([[1.0, 1.0]] * 3)).tolist()[1] == 0


@settings(deadline=None)
@given(point_lists)
def test_volume_counts_the_cells_below_the_front(rows: list[list[float]]) -> None:
    """With whole numbers, the volume is the number of unit cells that some point reaches."""
    points = np.array(rows)
    cells = np.array(list(np.ndindex(*[5] * points.shape[1]))) + 1.0
    expected = sum(bool((points >= cell).all(axis=1).any()) for cell in cells)
    assert hypervolume(points, np.zeros(points.shape[1])) == pytest.approx(expected)


def test_growth_over_time() -> None:
    points = np.array([[0.0, 0.0], [10.0, 0.0], [0.0, 1.0], [10.0, 1.0]])
    found = hypervolumes(points, [1, 2, 4])
    assert found == sorted(found)
    assert found[-1] == pytest.approx(1)
    assert found[0] < 1e-5
    assert hypervolumes(np.array([[2.0, 3.0]]), [1]) == [1.0]
    assert hypervolumes(np.array([[2.0, 0.0], [2.0, 1.0]]), [1, 2]) == pytest.approx([0.0, 1.0], abs=2e-3)
