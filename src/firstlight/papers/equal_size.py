"""Is a network better than random ones of its size? Accuracy regressed on the logarithm of the parameters."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from firstlight.core.statistics import CONFIDENCE, Estimate, Numbers

# A line through fewer points leaves no degree of freedom for the spread around it
FEWEST_POINTS = 3


@dataclass(frozen=True)
class EqualSize:
    """The line through random networks, accuracy = intercept + slope * ln(parameters), by least squares.

    Attributes:
        sizes: ln(parameters) of the random networks, shape (N,).
        accuracies: Their accuracies, shape (N,).
    """

    sizes: Numbers
    accuracies: Numbers

    @property
    def defined(self) -> bool:
        """Whether there are enough networks, of different sizes, for a line and an interval."""
        return len(self.sizes) >= FEWEST_POINTS and bool(np.ptp(self.sizes) > 0)

    @property
    def slope(self) -> float:
        """Percentage points for each unit of ln(parameters)."""
        centered = self.sizes - self.sizes.mean()
        return float(centered @ self.accuracies / (centered @ centered))

    def expected(self, size: float) -> float:
        """Return the accuracy of a random network of this ln(parameters)."""
        return float(self.accuracies.mean() + self.slope * (size - self.sizes.mean()))

    @property
    def deviation(self) -> float:
        """The standard deviation of random networks around the line."""
        rest = self.accuracies - [self.expected(size) for size in self.sizes]
        return math.sqrt(float(rest @ rest) / (len(rest) - 2))

    def excess(self, size: float, accuracy: float) -> Estimate:
        """Return by how much a network is better than expected, with the 95 % prediction interval of the line.

        A random network of this size has an interval without 0 in one of twenty cases. Beyond the sizes of the random
        networks, where the line is extrapolated, the interval is wider.
        """
        from scipy.stats import t  # slow to import

        count, centered = len(self.sizes), self.sizes - self.sizes.mean()
        distance = (size - self.sizes.mean()) ** 2 / float(centered @ centered)
        error = self.deviation * math.sqrt(1 + 1 / count + distance)
        value, width = accuracy - self.expected(size), float(t.ppf((1 + CONFIDENCE) / 2, count - 2)) * error
        return Estimate(value, value - width, value + width)


@dataclass(frozen=True)
class Trainings:
    """Accuracies of networks that were each trained several times.

    Attributes:
        values: A row for each network and a column for each seed; NaN where a training did not end.
    """

    values: Numbers

    @property
    def means(self) -> Numbers:
        """The mean of each network over its seeds; NaN if no training ended."""
        ended = np.isfinite(self.values)
        sums, counts = np.where(ended, self.values, 0.0).sum(1), ended.sum(1)
        found: Numbers = np.divide(sums, counts, out=np.full(len(sums), np.nan), where=counts > 0)
        return found

    @property
    def freedom(self) -> int:
        """The degrees of freedom of the deviation: trainings beyond the first of each network."""
        return int(np.maximum(np.isfinite(self.values).sum(1) - 1, 0).sum())

    @property
    def deviation(self) -> float:
        """The standard deviation between the seeds of a network, pooled over networks; NaN with one seed."""
        squares = float(np.nansum((self.values - self.means[:, None]) ** 2))
        return math.sqrt(squares / self.freedom) if self.freedom else math.nan

    def mean(self, network: int) -> Estimate | None:
        """Return the mean of a network with the 95 % interval of the pooled deviation; None if there is none."""
        from scipy.stats import t

        value, count = float(self.means[network]), int(np.isfinite(self.values[network]).sum())
        if not count or not self.freedom:
            return None
        width = float(t.ppf((1 + CONFIDENCE) / 2, self.freedom)) * self.deviation / math.sqrt(count)
        return Estimate(value, value - width, value + width)
