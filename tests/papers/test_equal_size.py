"""Regression on the size, by the textbook formula, and intervals that hold what they should."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from firstlight.papers.equal_size import EqualSize, Trainings


def test_the_line_is_that_of_scipy() -> None:
    rng = np.random.default_rng(0)
    sizes, accuracies = rng.normal(10, 0.3, 12), rng.normal(60, 2, 12)
    line, known = EqualSize(sizes, accuracies), stats.linregress(sizes, accuracies)
    assert line.slope == pytest.approx(known.slope)
    assert line.expected(9.5) == pytest.approx(known.intercept + 9.5 * known.slope)
    rest = accuracies - known.intercept - known.slope * sizes
    assert line.deviation == pytest.approx(math.sqrt((rest**2).sum() / 10))


def test_one_random_network_in_twenty_is_outside_its_interval() -> None:
    rng = np.random.default_rng(1)
    outside = 0
    for _ in range(2000):
        sizes = rng.normal(10, 0.3, 11)
        accuracies = 50 + 3 * sizes + rng.normal(0, 2, 11)
        found = EqualSize(sizes[:-1], accuracies[:-1]).excess(float(sizes[-1]), float(accuracies[-1]))
        outside += not found.low <= 0 <= found.high
    assert 70 < outside < 130


def test_the_interval_is_wider_far_from_the_random_networks() -> None:
    line = EqualSize(np.array([9.0, 9.5, 10.0, 10.5]), np.array([50.0, 52.0, 51.0, 54.0]))
    near, far = line.excess(9.75, 55.0), line.excess(12.0, 55.0)
    assert near.value == pytest.approx(55 - 51.75)
    assert far.high - far.low > near.high - near.low


def test_a_line_needs_three_networks_of_different_sizes() -> None:
    assert not EqualSize(np.array([9.0, 10.0]), np.array([50.0, 51.0])).defined
    assert not EqualSize(np.full(5, 9.0), np.arange(5.0)).defined
    assert EqualSize(np.array([9.0, 9.0, 10.0]), np.array([50.0, 51.0, 52.0])).defined


def test_seeds_are_pooled_over_networks() -> None:
    trainings = Trainings(np.array([[50.0, 52.0], [60.0, 60.0], [70.0, math.nan]]))
    assert trainings.means.tolist() == [51, 60, 70]
    assert trainings.freedom == 2
    assert trainings.deviation == pytest.approx(1.0)  # squares 1 + 1 + 0 + 0 over 2
    width = float(stats.t.ppf(0.975, 2))
    twice, once = trainings.mean(0), trainings.mean(2)
    assert twice is not None
    assert once is not None
    assert twice.high - twice.value == pytest.approx(width / math.sqrt(2))
    assert once.high - once.value == pytest.approx(width)


def test_a_single_seed_has_no_interval() -> None:
    trainings = Trainings(np.array([[50.0], [math.nan]]))
    assert math.isnan(trainings.deviation)
    assert trainings.mean(0) is None
    assert trainings.means[0] == 50
    assert math.isnan(trainings.means[1])
