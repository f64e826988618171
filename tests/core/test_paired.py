"""Differences of accuracies: against a simulation in which the true difference is known, and in plain cases."""

from __future__ import annotations

import numpy as np
import pytest

from firstlight.core.paired import Answers, accuracy_difference, samples_part


def drawn(
    rng: np.random.Generator, hardness: np.ndarray, skill: float, trainings: int, spread: float, noise: float = 1.0
) -> Answers:
    """Trainings differ in skill by `spread`; a sample is right if skill exceeds its hardness after noise."""
    skills = skill + spread * rng.standard_normal((trainings, 1))
    return np.asarray(skills + noise * rng.standard_normal((trainings, len(hardness))) > hardness)


@pytest.mark.parametrize(("trainings", "samples", "spread"), [(3, 300, 0.1), (5, 200, 0.0), (2, 2000, 0.3)])
def test_intervals_hold_the_true_difference_about_as_often_as_they_say(
    trainings: int, samples: int, spread: float
) -> None:
    rng = np.random.default_rng(0)
    everything = rng.standard_normal(200_000)
    first, second = (drawn(rng, everything, skill, 40, spread).mean() for skill in (0.5, 0.3))
    truth = float(first - second)
    held = 0
    for _ in range(400):
        hardness = rng.standard_normal(samples)
        found = accuracy_difference(
            drawn(rng, hardness, 0.5, trainings, spread), drawn(rng, hardness, 0.3, trainings, spread)
        )
        held += found.low <= truth <= found.high
    assert 0.91 <= held / 400 <= 0.995


def test_one_training_each_is_the_paired_interval() -> None:
    """Many samples: the classical formula for paired proportions, without trainings."""
    rng = np.random.default_rng(1)
    hardness = rng.standard_normal(5000)
    one, other = drawn(rng, hardness, 0.6, 1, 0), drawn(rng, hardness, 0.4, 1, 0)
    found = accuracy_difference(one, other)
    differences = one[0].astype(float) - other[0]
    error = differences.std(ddof=1) / np.sqrt(5000)
    assert found.value == pytest.approx(differences.mean())
    assert (found.high - found.low) / 2 == pytest.approx(1.96 * error, rel=0.01)


def test_swapping_the_networks_turns_the_interval() -> None:
    rng = np.random.default_rng(2)
    hardness = rng.standard_normal(100)
    one, other = drawn(rng, hardness, 0.5, 3, 0.1), drawn(rng, hardness, 0.2, 5, 0.1)
    there, back = accuracy_difference(one, other), accuracy_difference(other, one)
    assert (back.value, back.low, back.high) == pytest.approx((-there.value, -there.high, -there.low))


def test_equal_answers_are_certain_only_with_many_samples() -> None:
    few, many = (accuracy_difference(np.ones((3, n), bool), np.ones((3, n), bool)) for n in (20, 2000))
    assert few.value == many.value == 0
    assert few.high > 0.02 > many.high > 0


def test_trainings_that_differ_widen_the_interval() -> None:
    rng = np.random.default_rng(3)
    hardness = rng.standard_normal(1000)
    even = [drawn(rng, hardness, skill, 4, 0.0) for skill in (0.5, 0.5)]
    uneven = [drawn(rng, hardness, skill, 4, 0.8) for skill in (0.5, 0.5)]
    narrow, wide = accuracy_difference(*even), accuracy_difference(*uneven)
    assert wide.high - wide.low > 3 * (narrow.high - narrow.low)
    assert samples_part(*even) > 0.5 > samples_part(*uneven)


def test_a_single_sample_tells_nothing() -> None:
    found = accuracy_difference(np.array([[True], [True]]), np.array([[False], [True]]))
    assert found.low < -0.5
    assert found.high > 1
