"""Correlation within strata against scipy's, stratum by stratum."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import rankdata, spearmanr

from firstlight.core.statistics import partial_spearman
from firstlight.papers.strata import spearman_within


def columns(seed: int, count: int, number: int = 3) -> list[np.ndarray]:
    return list(np.random.default_rng(seed).normal(size=(number, count)))


@given(st.integers(0, 10_000), st.integers(10, 40))
def test_one_stratum_is_all_networks(seed: int, count: int) -> None:
    first, second, cost = columns(seed, count)
    alone = np.zeros(count)
    assert spearman_within(first, second, alone) == pytest.approx(spearmanr(first, second).statistic)
    assert spearman_within(first, second, alone, cost) == pytest.approx(partial_spearman(first, second, cost))


@given(st.integers(0, 10_000), st.integers(4, 20), st.integers(2, 4))
def test_equal_strata_give_the_mean_of_their_correlations(seed: int, count: int, strata: int) -> None:
    first, second, _ = columns(seed, count * strata)
    of = np.arange(count * strata) % strata
    each = [spearmanr(first[of == number], second[of == number]).statistic for number in range(strata)]
    assert spearman_within(first, second, of.astype(float)) == pytest.approx(np.mean(each))


def test_unequal_strata_against_a_plain_loop() -> None:
    first, second, _ = columns(3, 15)
    of = np.array([0.0] * 4 + [1.0] * 11)
    shares = []
    for values in (first, second):
        parts = [rankdata(values[of == number]) for number in (0, 1)]
        shares.append(np.concatenate([(part - part.mean()) / len(part) for part in parts]))
    assert spearman_within(first, second, of) == pytest.approx(np.corrcoef(*shares)[0, 1])


def test_differences_between_strata_do_not_count() -> None:
    first, second, _ = columns(1, 30)
    of = np.repeat([0.0, 1.0, 2.0], 10)
    shifted = spearman_within(first + 100 * of, second - 100 * of, of)
    assert shifted == pytest.approx(spearman_within(first, second, of))
    assert spearmanr(first + 100 * of, second - 100 * of).statistic < -0.5


def test_what_costs_explain_is_taken_away() -> None:
    _, second, cost = columns(2, 20)
    of = np.repeat([0.0, 1.0], 10)
    assert math.isnan(spearman_within(np.exp(cost), second, of, cost))
    assert math.isnan(spearman_within(np.ones(20), second, of))
