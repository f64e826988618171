"""How well one ranking follows another, with bootstrap intervals: the networks at hand are a sample, too."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from firstlight.core.seeds import derive

Numbers = npt.NDArray[np.float64]
Groups = npt.NDArray[np.int64]
# What is asked of a ranking: a number made of utilities and true values, higher being better in both
Statistic = Callable[[Numbers, Numbers], float]

CONFIDENCE = 0.95
# So many networks leave little to chance, and take long
MANY, RESAMPLES, FEWER_RESAMPLES = 2_000, 500, 200
# With fewer networks an interval says nothing
FEWEST = 10
TOP_SHARES = (0.01, 0.05, 0.10)
TOP_COUNT = 10


@dataclass(frozen=True)
class Estimate:
    """A number and the interval that holds the middle 95 % of what resampled networks give."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}]"


@dataclass(frozen=True)
class RankQuality:
    """What utilities tell of the true values of `networks`, of which so many are `unscored` and rank last.

    Precision is the share of the truly best 1, 5 and 10 % that are among as many of highest utility; best of top the
    best true value among the ten of highest utility. Empty, with a `note`, where nothing is defined.
    """

    networks: int
    estimates: Mapping[str, Estimate]
    note: str = ""
    unscored: int = 0

    def to_dict(self) -> dict[str, Any]:
        flat: dict[str, Any] = {"n": self.networks, "unscored": self.unscored}
        for name in STATISTICS:
            found = self.estimates.get(name)
            flat[name] = None if found is None else finite(found.value)
            flat[f"{name}_ci"] = None if found is None else [finite(found.low), finite(found.high)]
        return flat | ({"note": self.note} if self.note else {})


def finite(value: float) -> float | None:
    """For JSON, which has no word for what is no number."""
    return value if math.isfinite(value) else None


def rank_quality(
    utilities: Numbers, truth: Numbers, *, groups: Groups | None = None, seed: int = 0, resamples: int | None = None
) -> RankQuality:
    """All statistics; networks without a utility (NaN) rank last, those without a true value are left out.

    Networks of one group share a score and are drawn together: they are no evidence independent of each other.
    """
    known = np.flatnonzero(np.isfinite(truth))
    known = np.random.default_rng(derive(seed, "ties")).permutation(known)  # the table's order may be that of the truth
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
    found = {name: statistic(utilities, truth) for name, statistic in STATISTICS.items()}
    drawn: dict[str, list[float]] = {name: [] for name in STATISTICS}
    for rows in resampled(networks if groups is None else groups[known], seed, resamples):
        for name, statistic in STATISTICS.items():
            drawn[name].append(statistic(utilities[rows], truth[rows]))
    return RankQuality(
        networks, {name: estimate(value, drawn[name]) for name, value in found.items()}, unscored=unscored
    )


def unscored_last(values: Numbers) -> Numbers:
    """Networks that a proxy has no value for rank below all others, as published code has it: none would be chosen.

    They are below by as little as can be, so that what looks at sizes takes them for as bad as the worst.
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
    groups: Groups | None = None,
    seed: int = 0,
    resamples: int | None = None,
) -> Estimate | None:
    """How much better the first follows the truth than the second, in Spearman's correlation; unscored networks rank
    last in each. The same networks are drawn for both, so that the interval is that of the difference. None if
    undefined.
    """

    def lead(first: Numbers, second: Numbers, truth: Numbers) -> float:
        return spearman(first, truth) - spearman(second, truth)

    columns = unscored_last(first), unscored_last(second), truth
    return bootstrapped(lead, *columns, groups=groups, seed=seed, resamples=resamples)


def bootstrapped(
    statistic: Callable[..., float],
    *columns: Numbers,
    groups: Groups | None = None,
    seed: int = 0,
    resamples: int | None = None,
) -> Estimate | None:
    """A statistic of one or several columns, over the networks that have a number in each; None if undefined."""
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


def spearman(utilities: Numbers, truth: Numbers) -> float:
    return pearson(ranks(utilities), ranks(truth))


def kendall(utilities: Numbers, truth: Numbers) -> float:
    """Tau-b, which makes allowance for ties."""
    from scipy.stats import kendalltau

    return float(kendalltau(utilities, truth, method="asymptotic").statistic)


def pearson(utilities: Numbers, truth: Numbers) -> float:
    """NaN where one of them does not vary."""
    a, b = _centred(utilities), _centred(truth)
    scale = math.sqrt(float(a @ a) * float(b @ b))
    return float(a @ b) / scale if scale > 0 else math.nan


def _centred(values: Numbers) -> Numbers:
    """Around zero and of size one, so that no square overflows or vanishes."""
    scaled = values / (np.abs(values).max() or 1.0)
    centred: Numbers = scaled - scaled.mean()
    return centred / (np.abs(centred).max() or 1.0)


def precision_at(share: float) -> Statistic:
    """Of the truly best, so many, the part that is among as many of highest utility."""

    def precision(utilities: Numbers, truth: Numbers) -> float:
        count = max(1, round(share * len(truth)))
        chosen, best = best_first(utilities)[:count], best_first(truth)[:count]
        return len(np.intersect1d(chosen, best, assume_unique=True)) / count

    return precision


def best_of_top(utilities: Numbers, truth: Numbers) -> float:
    return float(truth[best_first(utilities)[:TOP_COUNT]].max())


def ranks(values: Numbers) -> Numbers:
    """1 for the lowest; equals share the mean of their ranks."""
    from scipy.stats import rankdata

    found: Numbers = rankdata(values)
    return found


def best_first(values: Numbers) -> npt.NDArray[np.intp]:
    return np.argsort(-values, kind="stable")


STATISTICS: dict[str, Statistic] = {
    "spearman": spearman,
    "kendall": kendall,
    "pearson": pearson,
    **{f"precision_{share * 100:.0f}": precision_at(share) for share in TOP_SHARES},
    f"best_of_top_{TOP_COUNT}": best_of_top,
}


def resampled(networks: int | Groups, seed: int, resamples: int | None = None) -> Iterator[npt.NDArray[np.int64]]:
    """Rows of as many networks, or groups of them, drawn with replacement.

    One seed draws the same ones, so that statistics are paired.
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
    """The value with the interval of what was drawn."""
    defined = [number for number in drawn if not math.isnan(number)] or [math.nan]
    low, high = np.quantile(defined, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return Estimate(value, float(low), float(high))
