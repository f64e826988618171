"""Rank statistics with bootstrap intervals: how well one ranking follows another."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from firstlight.core.seeds import derive

Numbers = npt.NDArray[np.float64]
Groups = npt.NDArray[np.int64]
# A statistic of utilities and true values; higher is better in both
Statistic = Callable[[Numbers, Numbers], float]

CONFIDENCE = 0.95
# Above MANY networks, intervals are narrow and resampling is slow, so that fewer resamples do
MANY, RESAMPLES, FEWER_RESAMPLES = 2_000, 500, 200
# Up to this many networks, comparing all pairs takes less time than the checks of `scipy.stats.kendalltau`
FEW = 200
# Fewer networks than this make an interval meaningless
FEWEST = 10
TOP_SHARES = (0.01, 0.05, 0.10)
TOP_COUNT = 10
# nDCG looks at this many networks of highest utility
GAIN_COUNT = 1_000


@dataclass(frozen=True)
class Estimate:
    """A value with its 95 % bootstrap interval.

    Attributes:
        value: The statistic over all networks.
        low: The lower end of the interval.
        high: The upper end of the interval.
    """

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}]"


@dataclass(frozen=True)
class RankQuality:
    """How well utilities rank networks by their true values.

    Attributes:
        networks: The number of networks with a true value.
        estimates: The statistics by name: "spearman", "kendall", "pearson", "ndcg" (see `ndcg`), "precision_1",
            "precision_5" and "precision_10" (the share of the truly best 1, 5 and 10 % that are also among as many
            networks of highest utility), "best_of_top_10" (the best true value among the ten networks of highest
            utility), "regret_1" and "regret_10" (by how much the network of highest utility, and the best of the ten,
            miss the best of all), and "equal_cost" (see `partial_spearman`). Without those that are undefined.
        note: Why `estimates` is empty.
        unscored: The number of networks without a utility; they rank last.
    """

    networks: int
    estimates: Mapping[str, Estimate]
    note: str = ""
    unscored: int = 0

    def to_dict(self) -> dict[str, Any]:
        flat: dict[str, Any] = {"n": self.networks, "unscored": self.unscored}
        for name in (*STATISTICS, EQUAL_COST):
            found = self.estimates.get(name)
            flat[name] = None if found is None else finite(found.value)
            flat[f"{name}_ci"] = None if found is None else [finite(found.low), finite(found.high)]
        return flat | ({"note": self.note} if self.note else {})


def finite(value: float) -> float | None:
    """Return the value, or None if it is NaN or infinite, which JSON cannot hold."""
    return value if math.isfinite(value) else None


def rank_quality(
    utilities: Numbers,
    truth: Numbers,
    *,
    costs: Sequence[Numbers] = (),
    groups: Groups | None = None,
    seed: int = 0,
    resamples: int | None = None,
) -> RankQuality:
    """Compute all statistics of a ranking, with intervals.

    Args:
        utilities: One utility for each network, shape (N,); networks with NaN rank last.
        truth: One true value for each network, shape (N,); networks with NaN are left out.
        costs: What networks cost, such as parameters and MACs, shape (N,) each, for the correlation at equal cost. It
            is left out if a cost is unknown.
        groups: The group of each network, shape (N,). Networks of one group share a score, so that they are resampled
            together: they are not independent evidence.
        seed: Decides the resamples and the order of ties.
        resamples: The number of bootstrap resamples; by default 500, or 200 for more than 2,000 networks.

    Returns:
        The statistics, or a note that says why none is defined.
    """
    known = _by_lot(np.flatnonzero(np.isfinite(truth)), seed)
    utilities, truth = utilities[known], truth[known]
    networks, scored = len(truth), int(np.isfinite(utilities).sum())
    unscored = networks - scored
    if scored < FEWEST:
        return RankQuality(networks, {}, f"{scored} networks have both values; at least {FEWEST} are needed", unscored)
    utilities = unscored_last(utilities)
    for name, values in (("score", utilities), ("true value", truth)):
        if values.min() == values.max():
            note = f"the {name} of all networks is {values[0]:.6g}: no correlation is defined"
            return RankQuality(networks, {}, note, unscored)
    held = [cost[known] for cost in costs]
    held = held if all(np.isfinite(cost).all() for cost in held) else []

    def compute(rows: Any) -> dict[str, float]:
        found = {name: statistic(utilities[rows], truth[rows]) for name, statistic in STATISTICS.items()}
        if held:
            found[EQUAL_COST] = partial_spearman(utilities[rows], truth[rows], *(cost[rows] for cost in held))
        return found

    found = {name: value for name, value in compute(slice(None)).items() if not math.isnan(value)}
    drawn = [compute(rows) for rows in resampled(networks if groups is None else groups[known], seed, resamples)]
    estimates = {name: estimate(value, [draw[name] for draw in drawn]) for name, value in found.items()}
    return RankQuality(networks, estimates, unscored=unscored)


def _by_lot(rows: npt.NDArray[np.intp], seed: int) -> npt.NDArray[np.intp]:
    """Shuffle rows, so that ties are broken by lot: a table may be sorted by the truth."""
    return np.random.default_rng(derive(seed, "ties")).permutation(rows)


def unscored_last(values: Numbers) -> Numbers:
    """Replace missing values by one just below the lowest, as published code does: such a network is never chosen.

    The replacement is the next smaller number, so that statistics of values, not ranks, see a network as bad as the
    worst.
    """
    known = np.isfinite(values)
    lowest = np.nextafter(values[known].min(), -np.inf) if known.any() else np.nan
    ranked: Numbers = np.where(known, values, lowest)
    return ranked


def difference(
    first: Numbers,
    second: Numbers,
    truth: Numbers,
    *,
    statistic: str = "spearman",
    groups: Groups | None = None,
    seed: int = 0,
    resamples: int | None = None,
) -> Estimate | None:
    """Estimate a statistic of the first minus that of the second, by default Spearman's correlation.

    Both are resampled together, so that the interval is that of the difference. Unscored networks rank last in each.
    Returns None if the statistic is undefined. The statistic is a name of `STATISTICS`; the other arguments are those
    of `rank_quality`.
    """
    compute = STATISTICS[statistic]

    def lead(first: Numbers, second: Numbers, truth: Numbers) -> float:
        return compute(first, truth) - compute(second, truth)

    known = _by_lot(np.flatnonzero(np.isfinite(truth)), seed)
    columns = unscored_last(first[known]), unscored_last(second[known]), truth[known]
    return bootstrapped(
        lead, *columns, groups=None if groups is None else groups[known], seed=seed, resamples=resamples
    )


def bootstrapped(
    statistic: Callable[..., float],
    *columns: Numbers,
    groups: Groups | None = None,
    seed: int = 0,
    resamples: int | None = None,
) -> Estimate | None:
    """Estimate a statistic of one or more columns over the networks that have a number in each; None if undefined."""
    known = np.all([np.isfinite(column) for column in columns], axis=0)
    columns = tuple(column[known] for column in columns)
    networks = len(columns[0])
    value = statistic(*columns) if networks >= FEWEST else math.nan
    if math.isnan(value):
        return None
    drawn = [
        statistic(*(column[rows] for column in columns))
        for rows in resampled(networks if groups is None else groups[known], seed, resamples)
    ]
    return estimate(value, drawn)


def spearman(first: Numbers, second: Numbers) -> float:
    """Return Spearman's rank correlation over the networks that have both values; NaN if it is undefined."""
    first, second = _both(first, second)
    return pearson(ranks(first), ranks(second)) if _varies(first, second) else math.nan


def kendall(first: Numbers, second: Numbers) -> float:
    """Return Kendall's tau-b, which corrects for ties, over the networks that have both values; NaN if undefined."""
    first, second = _both(first, second)
    if not _varies(first, second):
        return math.nan
    if len(first) <= FEW:
        return pearson(_signs(first), _signs(second))
    from scipy.stats import kendalltau

    # the asymptotic p-value, which is not used, is the one that takes no time
    return float(kendalltau(first, second, method="asymptotic").statistic)


def _signs(values: Numbers) -> Numbers:
    """Return the order of each pair of values: -1, 0 or 1. Each pair occurs in both directions, so the mean is zero."""
    found: Numbers = np.sign(np.subtract.outer(values, values)).ravel()
    return found


def pearson(first: Numbers, second: Numbers) -> float:
    """Return Pearson's correlation; NaN where one of the columns does not vary."""
    a, b = _centered(first), _centered(second)
    scale = math.sqrt(float(a @ a) * float(b @ b))
    return float(a @ b) / scale if scale > 0 else math.nan


def _both(first: Numbers, second: Numbers) -> tuple[Numbers, Numbers]:
    known = np.isfinite(first) & np.isfinite(second)
    return first[known], second[known]


def _varies(*columns: Numbers) -> bool:
    return all(len(column) > 1 and bool(column.min() < column.max()) for column in columns)


def _centered(values: Numbers) -> Numbers:
    """Shift to mean zero and scale to size one, so that no square overflows or underflows."""
    scaled = values / (np.abs(values).max() or 1.0)
    centered: Numbers = scaled - scaled.mean()
    return centered / (np.abs(centered).max() or 1.0)


def precision_at(share: float) -> Statistic:
    """Return the statistic: which part of the truly best networks is among as many of highest utility."""

    def precision(utilities: Numbers, truth: Numbers) -> float:
        count = max(1, round(share * len(truth)))
        chosen, best = best_first(utilities)[:count], best_first(truth)[:count]
        return len(np.intersect1d(chosen, best, assume_unique=True)) / count

    return precision


def best_of_top(utilities: Numbers, truth: Numbers) -> float:
    """Return the best true value among the ten networks of highest utility."""
    return float(truth[best_first(utilities)[:TOP_COUNT]].max())


def regret_of(count: int) -> Statistic:
    """Return the statistic: the best true value of all networks minus the best among the `count` ranked first."""

    def regret(utilities: Numbers, truth: Numbers) -> float:
        return float(truth.max() - truth[best_first(utilities)[:count]].max())

    return regret


def ndcg(utilities: Numbers, truth: Numbers) -> float:
    """Return the normalized discounted cumulative gain, as published with VKDNW (CVPR 2025), for accuracies in percent.

        sum over the 1,000 networks of highest utility, j = 1, 2, ...: (2^accuracy - 1) / log2(1 + j)

    It is divided by that of the best order, so that 1 is the best. A point of accuracy doubles the gain: only the very
    best networks count. NaN if a true value is negative, which is then not an accuracy.
    """
    if truth.min() < 0:
        return math.nan
    top = truth.max()
    gains = np.exp2(truth - top) - np.exp2(-top)  # relative to the best, so that nothing overflows
    discounts = 1 / np.log2(np.arange(2, min(len(truth), GAIN_COUNT) + 2))
    reached, most = (float(gains[best_first(by)[: len(discounts)]] @ discounts) for by in (utilities, truth))
    return reached / most if most > 0 else math.nan


def partial_spearman(first: Numbers, second: Numbers, *given: Numbers) -> float:
    """Return the correlation of what is left of the ranks of two columns after those of others are accounted for.

    With parameters and MACs given, it says whether a score tells more than the size of a network. NaN if nothing is
    left, as of a score that is the number of parameters.
    """
    others = np.column_stack([np.ones(len(first)), *map(ranks, given)])
    both = np.column_stack([ranks(first), ranks(second)])
    left = both - others @ np.linalg.lstsq(others, both, rcond=None)[0]
    spread = np.linalg.norm(both - both.mean(0), axis=0)
    if (np.linalg.norm(left, axis=0) <= NOTHING_LEFT * spread).any():
        return math.nan
    return pearson(left[:, 0], left[:, 1])


def ranks(values: Numbers) -> Numbers:
    """Return the rank of each value, 1 for the lowest; ties share the mean of their ranks."""
    # as `scipy.stats.rankdata`, whose checks take ten times as long as the ranking of some hundred values
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    found: Numbers = (np.cumsum(counts) - (counts - 1) / 2)[place]
    return found


def best_first(values: Numbers) -> npt.NDArray[np.intp]:
    """Return the indices that sort values from high to low; ties keep their order."""
    return np.argsort(-values, kind="stable")


STATISTICS: dict[str, Statistic] = {
    "spearman": spearman,
    "kendall": kendall,
    "pearson": pearson,
    "ndcg": ndcg,
    **{f"precision_{share * 100:.0f}": precision_at(share) for share in TOP_SHARES},
    f"best_of_top_{TOP_COUNT}": best_of_top,
    **{f"regret_{count}": regret_of(count) for count in (1, TOP_COUNT)},
}
# The name of the correlation given costs, which takes more columns than the others
EQUAL_COST = "equal_cost"
# What is left of ranks below this share of their spread is rounding
NOTHING_LEFT = 1e-9


def resampled(networks: int | Groups, seed: int, resamples: int | None = None) -> Iterator[npt.NDArray[np.int64]]:
    """Draw networks, or groups of them, with replacement; yields the rows of each resample.

    The same seed draws the same rows, so that statistics of several rankings are paired.
    """
    generator = np.random.default_rng(derive(seed, "bootstrap"))
    members: list[npt.NDArray[np.int64]] = []
    if not isinstance(networks, int):
        order = np.argsort(networks, kind="stable")
        members = np.split(order, np.flatnonzero(np.diff(networks[order])) + 1)
        networks = len(networks)
    count = len(members) or networks
    for _ in range(resamples or (RESAMPLES if networks <= MANY else FEWER_RESAMPLES)):
        drawn = generator.integers(count, size=count)
        yield np.concatenate([members[group] for group in drawn]) if members else drawn


def estimate(value: float, drawn: list[float]) -> Estimate:
    """Return the value with the interval that holds the middle 95 % of the resampled values."""
    defined = [number for number in drawn if not math.isnan(number)] or [math.nan]
    low, high = np.quantile(defined, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return Estimate(value, float(low), float(high))
