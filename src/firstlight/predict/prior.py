"""Priors for spaces without labels: a weighted mean of proxies, fitted on spaces that have some.

Within the pool of a space, each proxy is brought to the scale of normal scores, as in `design`; so are results. Weights
are those of nonnegative least squares over the pools of all spaces, each of which counts alike:

    minimize  mean over groups of  (1 / n) |y - Z w|^2  +  ridge |w|^2,      w >= 0

The columns with the largest weights stay, and are fitted again. The ridge is the one with which spaces that are left
out are ranked best.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from firstlight.core.errors import DataError
from firstlight.core.statistics import Numbers, spearman
from firstlight.predict.design import normal_scores

RIDGES = (0.01, 0.1, 1.0, 10.0)
# Each member of a prior costs time for each network
MOST_MEMBERS = 8
FEATURE, NEGATED = "feature ", "-"


@dataclass(frozen=True)
class Pool:
    """Networks of one space that are compared with each other.

    Attributes:
        title: What the networks are.
        group: What they are left out with.
        utilities: A row for each network and a column for each proxy, of which higher is better; NaN without a score.
        features: The same rows, with the features of any module.
        truths: The results of the same networks, by task.
    """

    title: str
    group: str
    utilities: pd.DataFrame
    features: pd.DataFrame
    truths: Mapping[str, Numbers]

    def __len__(self) -> int:
        return len(self.utilities)

    @property
    def proxies(self) -> list[str]:
        """The names of the proxies."""
        return [str(name) for name in self.utilities]

    @cached_property
    def scores(self) -> dict[str, Numbers]:
        """The normal scores of each proxy and feature; zeros if no network has one."""
        both = pd.concat([self.utilities, self.features.add_prefix(FEATURE)], axis=1).astype(float)
        known = both.loc[:, both.notna().any()]
        found = {str(name): normal_scores(known[name].to_numpy()) for name in known}
        return {str(name): found.get(str(name), np.zeros(len(self))) for name in both}

    @cached_property
    def target(self) -> Numbers:
        """What weights are fitted to: the normal scores of the mean over tasks."""
        return normal_scores(np.mean([normal_scores(truth) for truth in self.truths.values()], axis=0))

    def column(self, name: str) -> Numbers:
        """Return the normal scores of a proxy or a feature, negated after a minus."""
        return -self.scores[name.removeprefix(NEGATED)] if name.startswith(NEGATED) else self.scores[name]

    def score(self, weights: Mapping[str, float]) -> Numbers:
        """Return the weighted sum of columns: higher is better."""
        found = np.zeros(len(self))
        for name, weight in weights.items():
            found += weight * self.column(name)
        return found


def fit_prior(pools: Sequence[Pool], names: Sequence[str]) -> dict[str, float]:
    """Return the weights of a prior, the largest first; they sum to 1.

    Args:
        pools: Networks with results, of two or more groups.
        names: Proxies, and features as "feature depth", that may be used; "-feature depth" prefers lower ones.

    Raises:
        DataError: If there is only one group, or nothing agrees with the results.
    """
    if len({pool.group for pool in pools}) < 2:
        raise DataError("A prior is fitted on the networks of two or more spaces, so that one can be left out.")
    ridge = max(RIDGES, key=lambda ridge: _left_out(pools, names, ridge))
    weights = _fitted(pools, names, ridge)
    if not weights:
        raise DataError("No proxy agrees with the results, so there is no prior.")
    total = sum(weights.values())
    return {name: weight / total for name, weight in sorted(weights.items(), key=lambda entry: -entry[1])}


def leaving_out(pools: Sequence[Pool]) -> Iterator[tuple[str, list[Pool], list[Pool]]]:
    """Yield each group with its pools, and those of the others."""
    for group in dict.fromkeys(pool.group for pool in pools):
        yield group, [pool for pool in pools if pool.group == group], [pool for pool in pools if pool.group != group]


def _left_out(pools: Sequence[Pool], names: Sequence[str], ridge: float) -> float:
    """Return the mean rank correlation in groups whose pools were left out of the fit."""
    found = []
    for _, left, others in leaving_out(pools):
        weights = _fitted(others, names, ridge)
        each = [spearman(pool.score(weights), pool.target) for pool in left]
        found.append(float(np.mean(np.nan_to_num(each))))
    return float(np.mean(found))


def _fitted(pools: Sequence[Pool], names: Sequence[str], ridge: float) -> dict[str, float]:
    weights = _least_squares(pools, names, ridge)
    kept = sorted((name for name in names if weights[name] > 0), key=lambda name: -weights[name])[:MOST_MEMBERS]
    return {name: weight for name, weight in _least_squares(pools, kept, ridge).items() if weight > 0}


def _least_squares(pools: Sequence[Pool], names: Sequence[str], ridge: float) -> dict[str, float]:
    from scipy.optimize import nnls

    if not names:
        return {}
    members = {group: sum(len(pool) for pool in left) for group, left, _ in leaving_out(pools)}
    shares = [1 / math.sqrt(members[pool.group] * len(members)) for pool in pools]
    rows = [
        share * np.column_stack([pool.column(name) for name in names])
        for pool, share in zip(pools, shares, strict=True)
    ]
    values = [share * pool.target for pool, share in zip(pools, shares, strict=True)]
    rows.append(math.sqrt(ridge) * np.eye(len(names)))
    values.append(np.zeros(len(names)))
    found, _ = nnls(np.concatenate(rows), np.concatenate(values))
    return dict(zip(names, found.tolist(), strict=True))
