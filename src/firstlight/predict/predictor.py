"""Predictors: what a few trained networks say about all networks of a pool, on top of a prior that needs none.

Networks are compared on the scale of normal scores. The prior s is the mean rank by a few proxies. A fit on n labels is

    h(x) = a + b s(x) + r(x),      a, b by least squares with five more labels for which b is 0.7; b >= 0.1

where r is a model of the residuals, a function of features and proxies, which is 0 far from the labels. So few labels
leave the ranking of the prior as it is. The default mixes h with a forest of the results themselves, which sees the
prior as one more column: bad networks, far below the others, count more in it. It counts more the more labels there
are, and never more than h.

Trainings of few epochs are noisy and biased: however many there are, they do
not replace the prior. It becomes (s + h) / 2, and then the next number of epochs is fitted. After full ones it is h.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from firstlight.core.errors import DataError, TooFewError
from firstlight.predict.design import Numbers, normal_scores
from firstlight.predict.models import MIXED, Model, Trees, confidence_rank, make_model

# Proxies that were chosen as a prior are not turned upside down by a few labels
LEAST_SLOPE, USUAL_SLOPE, USUAL_LABELS = 0.1, 0.7, 5
FEWEST_LABELS = 5
# The forest of the mixture counts half as much as with many labels when there are this many
HALF_TRUSTED = 20
# The share of networks whose value lies in the interval
COVERAGE = 0.8
FOLDS = 10
# Added to standard deviations, in normal scores, so that no interval depends on a vanishing one
LEAST_DEVIATION = 0.05


@dataclass(frozen=True)
class Observed:
    """Results of trained networks after one number of epochs.

    Attributes:
        name: What was observed, such as "cifar10_val_12".
        rows: The places of the networks in the pool, each once.
        values: Their results, higher is better.
        short: Whether they are of few epochs, so that they are noisy and biased.
    """

    name: str
    rows: NDArray[np.int64]
    values: Numbers
    short: bool = False

    def check(self) -> None:
        """Raise an error for labels that nothing can be learned from.

        Raises:
            TooFewError: If there are fewer than five.
            DataError: If all are alike, or some are not finite.
        """
        if len(self.values) < FEWEST_LABELS:
            raise TooFewError(
                f"There are {len(self.values)} labels of {self.name}, and a predictor needs at least {FEWEST_LABELS}. "
                "Train more networks, or rank by a proxy: `firstlight rank`."
            )
        if not np.isfinite(self.values).all():
            raise DataError(f"{int((~np.isfinite(self.values)).sum())} labels of {self.name} are not finite numbers.")
        if (self.values == self.values[0]).all():
            raise DataError(
                f"All {len(self.values)} labels of {self.name} are {self.values[0]:g}, so there is nothing to learn. "
                "Name another target, or train for longer."
            )


@dataclass(frozen=True)
class Fit:
    """A model fitted on the labels of one number of epochs.

    Attributes:
        observed: The labels.
        intercept, slope: a and b above.
        model: r above.
        forest: The forest of the results themselves that h is mixed with, if any.
    """

    observed: Observed
    intercept: float
    slope: float
    model: Model
    forest: Trees | None = None

    @classmethod
    def of(cls, name: str, rows: Numbers, prior: Numbers, observed: Observed, seed: int = 0) -> Fit:
        """Fit a model by name.

        Args:
            name: A name of `MODELS`.
            rows: What the model sees of the pool, shape (N, F).
            prior: The prior s of the pool, shape (N,).
            observed: The labels.
            seed: The seed of the model's random numbers.
        """
        scores, known = normal_scores(observed.values), prior[observed.rows]
        spread = float(np.sum((known - known.mean()) ** 2)) or 1.0
        usual = USUAL_LABELS / len(scores) * spread
        slope = max((float((known - known.mean()) @ scores) + USUAL_SLOPE * usual) / (spread + usual), LEAST_SLOPE)
        intercept = float(-slope * known.mean())  # normal scores have mean 0
        residuals = scores - intercept - slope * known
        seen, forest = rows[observed.rows], None
        if name == MIXED:
            forest = Trees(seed, resampled=False).fit(np.column_stack([seen, known]), observed.values)
        return cls(observed, intercept, slope, make_model(name, seed).fit(seen, residuals), forest)

    def predict(self, rows: Numbers, prior: Numbers) -> tuple[Numbers, Numbers]:
        """Return h, mixed with the forest if there is one, and its deviation, on the scale of normal scores."""
        found, deviation = self.model.predict(rows)
        found = self.intercept + self.slope * prior + found
        if self.forest is not None:
            each = self.forest.by_tree(np.column_stack([rows, prior]))
            other, spread = self.score_at(each.mean(axis=0)), self.score_at(each).std(axis=0)
            count = len(self.observed.values)
            share = count / (count + HALF_TRUSTED) / 2
            deviation = np.sqrt(
                (1 - share) * deviation**2 + share * spread**2 + share * (1 - share) * (found - other) ** 2
            )
            found = (1 - share) * found + share * other
        return found, deviation + LEAST_DEVIATION

    def score_at(self, values: Numbers) -> Numbers:
        """Return the normal score that a value would have among the labels."""
        order = np.argsort(self.observed.values, kind="stable")
        own = normal_scores(self.observed.values)
        found: Numbers = np.interp(values, self.observed.values[order], own[order])
        return found

    def value_at(self, scores: Numbers) -> Numbers:
        """Return the value that stands for a normal score among the labels; the lowest and the highest beyond them."""
        own = normal_scores(self.observed.values)
        order = np.argsort(own)
        found: Numbers = np.interp(scores, own[order], self.observed.values[order])
        return found


@dataclass(frozen=True)
class Errors:
    """By how much predictions miss labels that they were not fitted on.

    Attributes:
        predicted: The prediction for each label by a model fitted on the others, shape (n,).
        misses: The label minus the prediction, as multiples of the standard deviation, sorted. Shape (n,).
    """

    predicted: Numbers
    misses: Numbers

    @classmethod
    def of(cls, name: str, rows: Numbers, prior: Numbers, observed: Observed, seed: int = 0) -> Errors:
        """Fit the model again without each tenth of the labels, and compare."""
        count = len(observed.values)
        order = np.random.default_rng(seed).permutation(count)
        predicted, misses = np.empty(count), np.empty(count)
        for fold in np.array_split(order, min(FOLDS, count)):
            kept = np.setdiff1d(order, fold)
            others = Observed(observed.name, observed.rows[kept], observed.values[kept])
            fit = Fit.of(name, rows, prior, others, seed)
            scores, deviation = fit.predict(rows[observed.rows[fold]], prior[observed.rows[fold]])
            predicted[fold] = fit.value_at(scores)
            misses[fold] = (observed.values[fold] - predicted[fold]) / deviation
        return cls(predicted, np.sort(misses))

    def bounds(self, coverage: float = COVERAGE) -> tuple[float, float]:
        """Return how many standard deviations below and above its prediction a new value lies with this probability.

        Below and above are bounded apart, unless there are too few labels for that.
        """
        count = len(self.misses)
        tail = int((1 - coverage) / 2 * (count + 1) + 1e-9)
        if tail:
            return float(self.misses[tail - 1]), float(self.misses[count - tail])
        most = float(np.sort(np.abs(self.misses))[confidence_rank(coverage, count) - 1])
        return -most, most


@dataclass(frozen=True)
class Predicted:
    """What is predicted of the networks of a pool; all arrays have shape (N,).

    Attributes:
        score: What networks are ranked by: higher is better.
        value: The expected result after the most epochs that were observed; observed ones are themselves.
        deviation: The standard deviation of the score.
        low, high: The interval that the value is in with a probability of 80 %; NaN unless asked for.
        fits: The fits, fewest epochs first.
        errors: Errors of the last fit, if intervals were asked for.
    """

    score: Numbers
    value: Numbers
    deviation: Numbers
    low: Numbers
    high: Numbers
    fits: tuple[Fit, ...]
    errors: Errors | None


def predict_pool(
    rows: Numbers,
    prior: Numbers,
    labels: Sequence[Observed],
    *,
    model: str = "mixed",
    intervals: bool = True,
    seed: int = 0,
) -> Predicted:
    """Predict the results of all networks of a pool.

    Args:
        rows: What models see of each network, as `design` makes it. Shape (N, F).
        prior: The prior of each network, as `prior_of` makes it. Shape (N,).
        labels: Results of some of the networks, fewest epochs first.
        model: A name of `MODELS`.
        intervals: Whether to fit ten more models for calibrated intervals.
        seed: The seed of the models.

    Raises:
        DataError: If there are no labels, or nothing can be learned from them.
    """
    if not labels:
        raise DataError("There are no labels. Without any, rank by a proxy or an ensemble: `firstlight rank`.")
    for observed in labels:
        observed.check()
    before = state = prior
    fits: list[Fit] = []
    for observed in labels:
        before = state
        fit = Fit.of(model, rows, state, observed, seed)
        found, deviation = fit.predict(rows, state)
        scores = found.copy()
        scores[observed.rows] = normal_scores(observed.values)
        state = (state + normal_scores(scores)) / 2 if observed.short else scores
        fits.append(fit)
    last = fits[-1]
    value = last.value_at(found)
    value[last.observed.rows] = last.observed.values
    low = high = np.full(len(rows), np.nan)
    errors = None
    if intervals:
        errors = Errors.of(model, rows, before, last.observed, seed)
        below, above = errors.bounds()
        expected = last.value_at(found)
        low, high = expected + below * deviation, expected + above * deviation
    return Predicted(state, value, deviation, low, high, tuple(fits), errors)
