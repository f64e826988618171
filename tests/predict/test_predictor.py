from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firstlight.core.errors import DataError, TooFewError
from firstlight.core.statistics import spearman
from firstlight.predict.design import normal_scores
from firstlight.predict.models import Trees
from firstlight.predict.predictor import LEAST_SLOPE, USUAL_LABELS, USUAL_SLOPE, Errors, Fit, Observed, predict_pool

COUNT = 300
GENERATOR = np.random.default_rng(1)
ROWS = GENERATOR.normal(size=(COUNT, 4)) / 2
# What networks reach depends on the first two columns; the prior knows the first one, with some noise
QUALITY = ROWS[:, 0] + 0.7 * ROWS[:, 1]
PRIOR = normal_scores(ROWS[:, 0] + 0.1 * GENERATOR.normal(size=COUNT))
ACCURACY = 94 - 3 * np.exp(-2 * QUALITY)


def labels(count: int, seed: int = 0, *, short: bool = False, values: np.ndarray | None = None) -> Observed:
    rows = np.random.default_rng(seed).permutation(COUNT)[:count]
    return Observed("accuracy", rows, (ACCURACY if values is None else values)[rows], short)


def others(observed: Observed) -> np.ndarray:
    return np.setdiff1d(np.arange(COUNT), observed.rows)


@pytest.mark.parametrize("model", ["mixed", "forest", "boosting", "gp"])
def test_better_than_the_prior(model: str) -> None:
    observed = labels(60)
    rest = others(observed)
    found = predict_pool(ROWS, PRIOR, [observed], model=model, intervals=False)
    assert spearman(found.score[rest], ACCURACY[rest]) > spearman(PRIOR[rest], ACCURACY[rest]) + 0.05


def test_mixture() -> None:
    """The process and a forest of the results themselves, which counts half as much as with many labels at 20."""
    observed = labels(20)
    mixed, process = (Fit.of(name, ROWS, PRIOR, observed) for name in ("mixed", "gp"))
    seen = np.column_stack([ROWS, PRIOR])
    forest = Trees(0, resampled=False).fit(seen[observed.rows], observed.values)
    other = mixed.score_at(forest.predict(seen)[0])
    found, deviation = mixed.predict(ROWS, PRIOR)
    assert found == pytest.approx(0.75 * process.predict(ROWS, PRIOR)[0] + 0.25 * other)
    assert (deviation > 0).all()
    assert mixed.value_at(mixed.score_at(observed.values)) == pytest.approx(observed.values)


@pytest.mark.parametrize("count", [5, 20])
def test_labels_that_say_nothing_leave_the_order_of_the_prior(count: int) -> None:
    noise = np.random.default_rng(5).normal(size=COUNT)
    observed = labels(count, short=True, values=noise)
    rest = others(observed)
    found = predict_pool(ROWS, PRIOR, [observed], model="gp", intervals=False)
    assert spearman(found.score[rest], PRIOR[rest]) > 0.75


@settings(max_examples=5)
@given(st.integers(0, 100))
def test_prior_alone_keeps_its_order(seed: int) -> None:
    observed = labels(10, seed, values=-ACCURACY)  # they contradict it
    rest = others(observed)
    found = predict_pool(ROWS, PRIOR, [observed], model="prior")
    assert spearman(found.score[rest], PRIOR[rest]) == pytest.approx(1)
    assert found.fits[0].slope == LEAST_SLOPE


def test_short_trainings_count_as_much_as_the_prior() -> None:
    observed = labels(COUNT, short=True, values=ROWS[:, 2])
    found = predict_pool(ROWS, PRIOR, [observed], model="prior", intervals=False)
    assert found.score == pytest.approx((PRIOR + normal_scores(ROWS[:, 2])) / 2)


def test_full_trainings_correct_short_ones() -> None:
    """Short trainings are biased by the third column; full ones of a few networks tell."""
    biased = labels(COUNT, short=True, values=QUALITY + 1.5 * ROWS[:, 2])
    full = labels(30, seed=2)
    rest = others(full)
    short_only = predict_pool(ROWS, PRIOR, [biased], model="gp", intervals=False)
    both = predict_pool(ROWS, PRIOR, [biased, full], model="gp", intervals=False)
    assert spearman(both.score[rest], ACCURACY[rest]) > spearman(short_only.score[rest], ACCURACY[rest]) + 0.1


@pytest.mark.parametrize("count", [5, 9, 30])
def test_intervals_cover(count: int) -> None:
    """At least 70 % on average over draws of labels, where 80 % are promised."""
    covered = []
    for seed in range(12):
        observed = labels(count, seed)
        rest = others(observed)
        found = predict_pool(ROWS, PRIOR, [observed], model="prior", seed=seed)
        covered.append(np.mean((found.low[rest] <= ACCURACY[rest]) & (ACCURACY[rest] <= found.high[rest])))
        assert (found.low <= found.high).all()
    assert np.mean(covered) > 0.7


def test_intervals_are_not_of_the_labels_they_were_fitted_on() -> None:
    """A model that knows its labels by heart has no errors on them, but on others."""
    noise = np.random.default_rng(6).normal(size=COUNT)
    observed = labels(40, values=noise)
    found = predict_pool(ROWS, np.zeros(COUNT), [observed], model="forest")
    assert np.mean(found.high - found.low) > 1.5  # 80 % of a normal distribution are within 2.56


def test_bounds() -> None:
    few = Errors(np.zeros(5), np.array([-3.0, -1.0, 0.0, 1.0, 2.0]))
    assert few.bounds() == (-3, 3)
    many = Errors(np.zeros(19), np.arange(19.0))
    assert many.bounds() == (1, 17)
    assert many.bounds(0.9) == (0, 18)


def test_known_networks_keep_their_values() -> None:
    observed = labels(20)
    found = predict_pool(ROWS, PRIOR, [observed], model="gp", intervals=False)
    assert found.value[observed.rows].tolist() == observed.values.tolist()
    assert np.isnan(found.low).all()
    assert found.value.min() >= observed.values.min()


def test_fit_against_least_squares() -> None:
    observed = labels(50)
    fit = Fit.of("prior", ROWS, PRIOR, observed)
    prior, scores = PRIOR[observed.rows], normal_scores(observed.values)
    more = np.tile(prior, USUAL_LABELS)  # 50 labels and five more, each of them 50 times
    prior, scores = np.tile(prior, 50), np.tile(scores, 50)
    slope, intercept = np.polyfit([*prior, *more], [*scores, *USUAL_SLOPE * (more - more.mean())], 1)
    assert (fit.slope, fit.intercept) == pytest.approx((slope, intercept))


def test_without_a_prior() -> None:
    observed = labels(60)
    rest = others(observed)
    found = predict_pool(ROWS, np.zeros(COUNT), [observed], model="gp", intervals=False)
    assert spearman(found.score[rest], ACCURACY[rest]) > 0.8


def test_bad_labels() -> None:
    with pytest.raises(DataError, match="There are no labels"):
        predict_pool(ROWS, PRIOR, [])
    with pytest.raises(TooFewError, match="There are 4 labels of accuracy, and a predictor needs at least 5"):
        predict_pool(ROWS, PRIOR, [labels(4)])
    with pytest.raises(DataError, match="All 6 labels of accuracy are 10, so there is nothing to learn"):
        predict_pool(ROWS, PRIOR, [labels(6, values=np.full(COUNT, 10.0))])
    with pytest.raises(DataError, match="6 labels of accuracy are not finite"):
        predict_pool(ROWS, PRIOR, [labels(6, values=np.full(COUNT, np.nan))])
