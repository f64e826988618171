"""The difference between two networks that were each trained several times and tested on the same samples."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from firstlight.core.statistics import CONFIDENCE, Estimate

Answers = npt.NDArray[np.bool_]


def accuracy_difference(first: Answers, second: Answers) -> Estimate:
    """Estimate the accuracy of the first network minus that of the second, with an interval.

    Two things vary: the training, by its seed, and the samples that happen to be in the test set. Trainings are
    independent; the samples are the same for both networks. The variance is estimated as in a two-way analysis of
    variance, without counting twice what a training does to a sample, and the degrees of freedom as by Welch and
    Satterthwaite. With one training of a network, nothing is known of how trainings differ, and only the samples count.

    The variance over samples counts two further ones, on which the networks differ by half in either direction, so that
    a few equal answers do not pass for certainty.

    Args:
        first: Whether each answer is right, shape (trainings, samples).
        second: The same for the other network; the number of trainings may differ.
    """
    from scipy.stats import t

    value = float(first.mean() - second.mean())
    samples = first.shape[1]
    by_sample = first.mean(0) - second.mean(0)
    of_samples = _variance_over_samples(by_sample) / samples
    terms = [(of_samples, max(1.0, samples - 1.0))]
    twice = 0.0
    for right in (first, second):
        trainings = len(right)
        if trainings > 1:
            terms.append((float(right.mean(1).var(ddof=1)) / trainings, trainings - 1.0))
            twice += _interaction(right) / (trainings * samples)
    total = sum(variance for variance, _ in terms)
    variance = max([total - twice, *(variance for variance, _ in terms)])
    freedom = total**2 / sum(variance**2 / degrees for variance, degrees in terms)
    reach = float(t.ppf((1 + CONFIDENCE) / 2, freedom)) * math.sqrt(variance)
    return Estimate(value, value - reach, value + reach)


def samples_part(first: Answers, second: Answers) -> float:
    """Return the part of the variance that more test samples would reduce, from 0 to 1."""
    of_samples = _variance_over_samples(first.mean(0) - second.mean(0)) / first.shape[1]
    of_trainings = sum(
        max(0.0, float(right.mean(1).var(ddof=1)) - _interaction(right) / right.shape[1]) / len(right)
        for right in (first, second)
        if len(right) > 1
    )
    return float(of_samples / (of_samples + of_trainings))


def _variance_over_samples(differences: npt.NDArray[np.float64]) -> float:
    count = len(differences) + 2
    return float(((differences**2).sum() + 0.5) / count - (differences.sum() / count) ** 2)


def _interaction(right: Answers) -> float:
    """Return the mean square of what neither the training nor the sample explains."""
    trainings, samples = right.shape
    if samples == 1:
        return 0.0
    rest = right - right.mean(1, keepdims=True) - right.mean(0) + right.mean()
    return float(np.square(rest).sum() / ((trainings - 1) * (samples - 1)))
