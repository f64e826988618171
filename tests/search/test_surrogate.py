"""Bayesian optimisation of two numbers."""

from __future__ import annotations

import random

import numpy as np
import pytest
import torch

from firstlight.search.surrogate import Acquisition, Surrogate


def hill(point: tuple[float, ...]) -> float:
    return 90 - 20 * ((point[0] - 0.7) ** 2 + (point[1] - 0.2) ** 2)


def climbed(acquisition: Acquisition, seed: int = 0, steps: int = 8) -> Surrogate:
    surrogate = Surrogate(2, acquisition, random.Random(seed))
    for point in [(0.0, 0.5), (0.5, 0.5), (1.0, 0.5)]:
        surrogate.learn(point, hill(point))
    for _ in range(steps):
        (point,) = surrogate.propose()
        surrogate.learn(point, hill(point))
    return surrogate


@pytest.mark.parametrize("acquisition", ["ei", "ucb"])
def test_it_climbs_a_hill(acquisition: Acquisition) -> None:
    surrogate = climbed(acquisition)
    assert max(surrogate._values) > 89.8
    there, far = surrogate.means([(0.7, 0.2), (0.0, 1.0)])
    assert there > far
    assert there == pytest.approx(90, abs=0.5)


def test_the_seed_decides_and_the_random_numbers_of_others_stay() -> None:
    state = torch.random.get_rng_state()
    assert climbed("ei", steps=2)._points == climbed("ei", steps=2)._points
    assert torch.equal(torch.random.get_rng_state(), state)


@pytest.mark.parametrize("acquisition", ["ei", "ucb"])
def test_values_that_are_all_the_same_teach_nothing_and_break_nothing(acquisition: Acquisition) -> None:
    surrogate = Surrogate(2, acquisition, random.Random(0))
    for point in [(0.0, 0.0), (0.1, 0.1), (0.0, 0.1)]:
        surrogate.learn(point, 10.0)
    (point,) = surrogate.propose()
    assert max(point) > 0.3  # away from what is known
    assert surrogate.means([(0.5, 0.5)]) == pytest.approx([10.0], abs=1e-6)


def test_several_at_a_time_differ_and_are_not_taken_for_known() -> None:
    surrogate = climbed("ei", steps=0)
    before = list(surrogate._points)
    proposed = surrogate.propose(3)
    assert len(set(proposed)) == 3
    assert min(np.abs(np.subtract(a, b)).max() for a, b in [proposed[:2], proposed[1:]]) > 1e-3
    assert surrogate._points == before


def test_what_failed_counts_as_the_worst_that_is_known() -> None:
    surrogate = climbed("ei", steps=0)
    surrogate.learn((0.2, 0.2), None)
    assert surrogate._values[-1] == min(surrogate._values[:3])
    surrogate.learn((0.1, 0.1), 50.0)
    assert surrogate._values[3] == 50.0


def test_before_anything_is_known_it_proposes_anything() -> None:
    (point,) = Surrogate(2, "ei", random.Random(0)).propose()
    assert all(0 <= number <= 1 for number in point)
