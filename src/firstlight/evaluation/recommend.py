"""Which proxy to trust on a task, estimated from a few trained networks.

The best of many proxies on a few networks is partly lucky. So the choice is repeated on resampled networks, and each
time tested on the networks that were not drawn. The mean of these tests is an unbiased estimate of what the choice is
worth.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from firstlight.core.statistics import Estimate, Numbers, estimate, resampled, spearman
from firstlight.evaluation.selection import choose_members, mean_rank, mostly_scored

RESAMPLES = 200
# A choice is not tested on fewer networks than this
FEWEST_LEFT = 4
# An interval wider than this leads to a warning
WIDE = 0.5


@dataclass(frozen=True)
class Recommendation:
    """A recommended proxy or ensemble.

    Attributes:
        choice: The proxy or ensemble, as `firstlight search --proxy` takes it.
        expected: Its expected Spearman correlation on networks that it was not chosen by.
        chosen: How often each proxy came first when the choice was repeated; one that seldom does was lucky.
        warnings: What limits the recommendation.
    """

    choice: str
    expected: Estimate
    chosen: Mapping[str, float]
    warnings: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        return {
            "choice": self.choice,
            "expected_spearman": self.expected.value,
            "expected_spearman_ci": [self.expected.low, self.expected.high],
            "chosen": dict(self.chosen),
            "warnings": list(self.warnings),
        }


def recommend(
    utilities: Mapping[str, Numbers], truth: Numbers, *, seed: int = 0, resamples: int = RESAMPLES
) -> Recommendation | None:
    """Recommend a single proxy, or the mean rank of a few, whichever does better on held-out networks.

    Args:
        utilities: The utilities of the networks by proxy, each of shape (N,). Proxies that score half of the networks
            or fewer are not considered.
        truth: The true values, shape (N,).
        seed: The seed of the resamples.
        resamples: The number of resamples.

    Returns:
        The recommendation; None if no proxy distinguishes the networks.
    """
    known = np.isfinite(truth)
    truth = truth[known]
    fit = {
        name: values[known]
        for name, values in utilities.items()
        if mostly_scored(values[known]) and np.nanmin(values[known]) < np.nanmax(values[known])
    }
    if not fit or len(truth) < 2 * FEWEST_LEFT or truth.min() == truth.max():
        return None
    left_out: dict[int, list[float]] = {1: [], 4: []}
    first_choices: Counter[str] = Counter()
    for rows in resampled(len(truth), seed, resamples):
        rest = np.setdiff1d(np.arange(len(truth)), rows)
        if len(rest) < FEWEST_LEFT:
            continue
        drawn = {name: values[rows] for name, values in fit.items()}
        members = choose_members(drawn, truth[rows])
        first_choices.update(members[:1])
        for limit, found in left_out.items():
            there = {name: fit[name][rest] for name in members[:limit]}
            value = spearman(mean_rank(there, list(there)), truth[rest]) if there else 0.0
            found.append(value if np.isfinite(value) else 0.0)  # a proxy that is constant on them
    # every other resample decides on the number of members, and the rest estimate its worth
    limit = max(left_out, key=lambda size: np.mean(left_out[size][::2]))
    judged = left_out[limit][1::2]
    members = choose_members(fit, truth, limit=limit)
    if not members or not judged:
        return None
    expected = estimate(float(np.mean(judged)), judged)
    choice = members[0] if len(members) == 1 else f"rank_mean({','.join(members)})"
    shares = {name: count / first_choices.total() for name, count in first_choices.most_common()}
    return Recommendation(choice, expected, shares, tuple(_warnings(expected, shares, len(truth))))


def _warnings(expected: Estimate, shares: Mapping[str, float], networks: int) -> list[str]:
    found = []
    if expected.high <= 0:
        found.append("Even the best proxy has a negative correlation: no proxy is useful here.")
    elif expected.low <= 0:
        found.append(
            f"{networks} trained networks are too few to tell whether any proxy works here: the choice may be no "
            "better than chance. Train more."
        )
    elif expected.high - expected.low > WIDE:
        found.append(f"{networks} trained networks leave a wide interval. Train more networks to narrow it.")
    if shares and next(iter(shares.values())) < 0.5:
        rivals = ", ".join(f"{name} {share:.0%}" for name, share in list(shares.items())[:4])
        found.append(f"No proxy is clearly the best; how often each came first: {rivals}.")
    return found
