"""Statistics of rankings against scipy, by hand, and on data whose truth is known."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from firstlight.core.statistics import (
    STATISTICS,
    best_of_top,
    bootstrapped,
    difference,
    kendall,
    ndcg,
    partial_spearman,
    pearson,
    precision_at,
    rank_quality,
    ranks,
    regret_of,
    resampled,
    spearman,
    unscored_last,
)

PAIRS = st.lists(st.tuples(st.integers(-9, 9), st.integers(-9, 9)), min_size=10, max_size=40)


def related(correlation: float, networks: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    truth, noise = np.random.default_rng(seed).standard_normal((2, networks))
    return correlation * truth + math.sqrt(1 - correlation**2) * noise, truth


@settings(deadline=None)
@given(PAIRS)
def test_correlations_are_those_of_scipy(pairs: list[tuple[int, int]]) -> None:
    a, b = np.array(pairs, dtype=float).T
    if a.min() == a.max() or b.min() == b.max():
        assert math.isnan(pearson(a, b))
        return
    assert spearman(a, b) == pytest.approx(stats.spearmanr(a, b).statistic, abs=1e-12)
    assert pearson(a, b) == pytest.approx(stats.pearsonr(a, b).statistic, abs=1e-12)
    assert kendall(a, b) == pytest.approx(stats.kendalltau(a, b).statistic, abs=1e-12)


@settings(deadline=None)
@given(PAIRS)
def test_only_the_order_of_scores_matters_and_the_order_of_rows_does_not(pairs: list[tuple[int, int]]) -> None:
    a, b = np.array(pairs, dtype=float).T
    if a.min() == a.max() or b.min() == b.max():
        return
    b += 9  # nDCG takes accuracies, which are not negative
    found = rank_quality(a, b, resamples=2)
    stretched = rank_quality(np.exp(a) - 7, b, resamples=2)
    turned = rank_quality(a[::-1].copy(), b[::-1].copy(), resamples=2)
    for name in STATISTICS:
        if name != "pearson":
            assert stretched.estimates[name] == found.estimates[name]
        if name in ("spearman", "kendall", "pearson"):  # the others break ties by lot
            assert turned.estimates[name].value == pytest.approx(found.estimates[name].value, abs=1e-12)


def test_precision_and_best_of_top_by_hand() -> None:
    truth = np.arange(100.0)
    utilities = truth.copy()
    utilities[[99, 98]] = -1.0  # the two best are thought the worst
    assert precision_at(0.01)(utilities, truth) == 0
    assert precision_at(0.05)(utilities, truth) == pytest.approx(3 / 5)
    assert precision_at(0.10)(utilities, truth) == pytest.approx(8 / 10)
    assert best_of_top(utilities, truth) == 97
    assert precision_at(0.05)(truth, truth) == 1
    assert ranks(np.array([3.0, 1.0, 3.0])).tolist() == [2.5, 1.0, 2.5]


def test_ndcg_of_published_orders() -> None:
    """Ten accuracies from 10 to 100 %, in two orders, for which the authors of VKDNW publish the values."""
    truth = np.arange(10.0, 101, 10)
    for order, expected in (((80, 70, 100, 90, 60, 50, 40, 30, 20, 10), 0.5001), ((100, 90, 80, 70, 60, 50), 1.0)):
        places = {value: len(order) - place for place, value in enumerate(order)}
        utilities = np.array([places.get(int(value), -value) for value in truth], dtype=float)
        assert ndcg(utilities, truth) == pytest.approx(expected, abs=5e-5)


def slow_ndcg(utilities: np.ndarray, truth: np.ndarray, count: int) -> float:
    """In exact integers, one network after the other."""

    def gain(order: list[int]) -> float:
        return sum((2 ** int(truth[i]) - 1) / math.log2(1 + j) for j, i in enumerate(order[:count], start=1))

    best = sorted(range(len(truth)), key=lambda i: -truth[i])
    return gain(sorted(range(len(truth)), key=lambda i: -utilities[i])) / gain(best)


@settings(deadline=None)
@given(st.lists(st.integers(0, 100), min_size=2, max_size=30, unique=True), st.randoms(use_true_random=False))
def test_ndcg_is_that_of_its_definition(values: list[int], rng: random.Random) -> None:
    truth = np.array(values, dtype=float)
    utilities = np.array([rng.random() for _ in values])
    assert ndcg(utilities, truth) == pytest.approx(slow_ndcg(utilities, truth, 1000), abs=1e-12)
    assert ndcg(truth, truth) == pytest.approx(1)


def test_ndcg_looks_at_a_thousand_networks_of_accuracies() -> None:
    truth = np.random.default_rng(0).permutation(1200) / 12.0
    utilities = np.random.default_rng(1).standard_normal(1200)
    order, best = np.argsort(-utilities)[:1000], np.sort(truth)[::-1][:1000]
    discounts = np.log2(np.arange(2, 1002))
    expected = ((2 ** truth[order] - 1) / discounts).sum() / ((2**best - 1) / discounts).sum()
    assert ndcg(utilities, truth) == pytest.approx(expected)
    assert math.isnan(ndcg(utilities, truth - 1))
    assert math.isnan(ndcg(utilities[:5], np.zeros(5)))


def test_regret_by_hand() -> None:
    truth = np.array([90.0, 94.0, 80.0, 93.0])
    utilities = np.array([1.0, 0.0, 3.0, 2.0])
    assert [regret_of(count)(utilities, truth) for count in (1, 2, 3, 4)] == [14, 1, 1, 0]


@settings(deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 3))
def test_correlation_at_equal_cost_is_that_of_inverse_correlations(seed: int, given_columns: int) -> None:
    """A partial correlation is also an entry of the inverse of the matrix of all correlations."""
    generator = np.random.default_rng(seed)
    columns = generator.standard_normal((2 + given_columns, 40)) @ generator.standard_normal((40, 40))
    precision = np.linalg.inv(np.corrcoef([stats.rankdata(column) for column in columns]))
    expected = -precision[0, 1] / math.sqrt(precision[0, 0] * precision[1, 1])
    assert partial_spearman(columns[0], columns[1], *columns[2:]) == pytest.approx(expected, abs=1e-9)


def test_what_only_counts_is_worth_nothing_at_equal_cost() -> None:
    generator = np.random.default_rng(0)
    params, noise, luck = generator.standard_normal((3, 500))
    truth, counting = params + noise, params + 0.5 * luck
    assert spearman(counting, truth) > 0.5
    assert abs(partial_spearman(counting, truth, params)) < 0.15
    assert partial_spearman(counting + noise, truth, params) > 0.5
    assert math.isnan(partial_spearman(np.exp(params), truth, params))  # the same order
    assert math.isnan(partial_spearman(params, truth, params, params))
    found = rank_quality(counting + noise, truth, costs=[params], resamples=50).estimates["equal_cost"]
    assert found.value == pytest.approx(partial_spearman(counting + noise, truth, params))
    assert found.low < found.value < found.high
    assert "equal_cost" not in rank_quality(params, truth, costs=[params], resamples=5).estimates
    unknown = np.where(np.arange(500) == 7, np.nan, params)
    assert "equal_cost" not in rank_quality(counting, truth, costs=[unknown], resamples=2).estimates


@pytest.mark.parametrize("statistic", STATISTICS)
def test_paired_differences_of_every_statistic(statistic: str) -> None:
    truth = np.abs(related(0.9, 60, seed=3)[1]) + 90
    first, second = (truth + np.random.default_rng(seed).standard_normal(60) * 3 for seed in (1, 2))
    gap = difference(first, second, truth, statistic=statistic, resamples=40)
    one, other = (rank_quality(values, truth, resamples=40).estimates[statistic] for values in (first, second))
    assert gap is not None
    assert gap.value == pytest.approx(one.value - other.value)
    assert gap.low <= gap.value <= gap.high


def test_ties_are_broken_by_lot_and_not_by_the_order_of_the_table() -> None:
    truth = np.sort(np.random.default_rng(0).standard_normal(400))[::-1].copy()  # best first
    blind = np.arange(400) % 2 * 1.0
    found = rank_quality(blind, truth, resamples=100).estimates
    assert found["precision_10"].value < 0.3
    assert found["precision_10"].low <= found["precision_10"].value <= found["precision_10"].high


def test_networks_that_share_a_score_are_drawn_together() -> None:
    groups = np.repeat(np.arange(30), 20)
    utilities = np.random.default_rng(0).standard_normal(30)[groups]
    truth = utilities + np.random.default_rng(1).standard_normal(30)[groups]
    apart, together = (
        rank_quality(utilities, truth, groups=given, resamples=200).estimates["spearman"] for given in (None, groups)
    )
    assert together.value == pytest.approx(apart.value)
    assert together.high - together.low > 3 * (apart.high - apart.low)
    rows = next(resampled(groups, seed=0))
    assert len(rows) == 600
    assert all((np.bincount(rows, minlength=600)[groups == g] == np.bincount(rows)[20 * g]).all() for g in range(30))


@pytest.mark.parametrize("size", [1e200, 1e-200])
def test_numbers_of_any_size_are_correlated(size: float) -> None:
    assert pearson(size * np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 3.0])) == pytest.approx(1)


def test_intervals_hold_the_truth_about_as_often_as_they_say() -> None:
    known = 6 / math.pi * math.asin(0.7 / 2)  # Spearman's correlation of normal variables whose Pearson's is 0.7
    held = 0
    for seed in range(30):
        estimate = rank_quality(*related(0.7, 80, seed), seed=seed, resamples=100).estimates["spearman"]
        assert estimate.low < estimate.value < estimate.high
        held += estimate.low <= known <= estimate.high
    assert held >= 25  # 95 % of 30 are 28.5, and three deviations below that are 24.9


def test_a_paired_difference_is_surer_than_two_intervals() -> None:
    better, truth = related(0.8, 300, seed=1)
    worse = better + 0.3 * np.random.default_rng(2).standard_normal(300)
    found = difference(better, worse, truth)
    assert found is not None
    assert found.value == pytest.approx(spearman(better, truth) - spearman(worse, truth))
    assert 0 < found.low < found.high
    assert rank_quality(worse, truth).estimates["spearman"].high > rank_quality(better, truth).estimates["spearman"].low
    turned = difference(worse, better, truth)
    assert turned is not None
    assert (turned.value, turned.low) == (-found.value, pytest.approx(-found.high))
    same = difference(better, better, truth)
    assert same is not None
    assert (same.value, same.low, same.high) == (0, 0, 0)


def test_networks_without_a_score_rank_last() -> None:
    utilities, truth = related(0.5, 40, seed=0)
    truth = truth + 90
    some = utilities.copy()
    some[::3] = np.nan
    lowest = np.where(np.isnan(some), utilities.min() - 1, utilities)
    found = rank_quality(some, truth)
    assert (found.networks, found.unscored) == (40, 14)
    for name, statistic in STATISTICS.items():
        if name not in ("pearson", "ndcg"):  # which depends on the order of all networks, and ties are broken by lot
            assert found.estimates[name].value == pytest.approx(statistic(lowest, truth)), name
    assert found.to_dict()["unscored"] == 14
    gap = difference(utilities, some, truth)
    assert gap is not None
    assert gap.value == pytest.approx(spearman(utilities, truth) - found.estimates["spearman"].value)


def test_networks_without_a_true_value_are_left_out() -> None:
    utilities, truth = related(0.5, 40, seed=0)
    partly = np.where(np.arange(40) % 4 == 0, np.nan, truth)
    found = rank_quality(utilities, partly)
    assert (found.networks, found.unscored) == (30, 0)
    assert found.estimates["spearman"].value == pytest.approx(
        spearman(utilities[~np.isnan(partly)], truth[~np.isnan(partly)])
    )


@pytest.mark.parametrize("lowest", [-3.0, 1e30, 0.0])
def test_below_all_others_whatever_their_size(lowest: float) -> None:
    filled = unscored_last(np.array([2e30, math.nan, lowest]))
    assert filled[[0, 2]].tolist() == [2e30, lowest]
    assert filled[1] < lowest
    assert np.isnan(unscored_last(np.array([math.nan, math.nan]))).all()


@pytest.mark.parametrize(
    ("utilities", "truth", "reason"),
    [
        (np.arange(9.0), np.arange(9.0), "at least 10"),
        (np.full(12, np.nan), np.arange(12.0), "0 networks"),
        (np.ones(12), np.arange(12.0), "score of all networks is 1"),
        (np.arange(12.0), np.zeros(12), "true value of all networks is 0"),
    ],
)
def test_what_is_not_defined_is_said_to_be(utilities: np.ndarray, truth: np.ndarray, reason: str) -> None:
    found = rank_quality(utilities, truth)
    assert reason in found.note
    assert found.to_dict()["spearman"] is None
    assert difference(utilities, np.flip(utilities), truth) is None


def test_json_has_each_number_with_its_interval() -> None:
    found = rank_quality(*related(0.9, 50, seed=0), resamples=20).to_dict()
    assert found["n"] == 50
    assert found["spearman_ci"][0] <= found["spearman"] <= found["spearman_ci"][1]
    assert {"kendall", "kendall_ci", "precision_5", "best_of_top_10"} <= found.keys()


def test_the_seed_decides_the_interval() -> None:
    data = related(0.9, 50, seed=0)
    first, again, other = (rank_quality(*data, seed=seed, resamples=50) for seed in (0, 0, 1))
    assert first == again != other


def test_any_statistic_has_an_interval_over_complete_rows() -> None:
    values = np.array([*range(20), math.nan], dtype=float)
    found = bootstrapped(lambda column: float(column.mean()), values)
    assert found is not None
    assert found.value == 9.5
    # the deviation of a mean of 20 such numbers is 1.29
    assert found.low == pytest.approx(9.5 - 2.5, abs=0.8)
    assert found.high == pytest.approx(9.5 + 2.5, abs=0.8)
    pair = bootstrapped(pearson, values, -values)
    assert pair is not None
    assert (pair.value, pair.low, pair.high) == pytest.approx((-1, -1, -1))


def test_no_interval_for_a_few_networks_or_an_undefined_statistic() -> None:
    assert bootstrapped(pearson, np.arange(9.0), np.arange(9.0)) is None
    assert bootstrapped(pearson, np.arange(12.0), np.ones(12)) is None
