"""Selection of an ensemble of proxies: chosen on one half of the networks, tested on the other."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from firstlight.core.seeds import derive
from firstlight.core.statistics import (
    FEWEST,
    Estimate,
    Groups,
    Numbers,
    RankQuality,
    difference,
    rank_quality,
    ranks,
    spearman,
)

LARGEST = 4


@dataclass(frozen=True)
class JudgedEnsemble:
    """An ensemble chosen on one half of the networks, and its test on the other.

    Attributes:
        members: The chosen proxies.
        networks: The number of networks in the test.
        quality: How well the mean rank of the members ranks them.
        all_members: How well the mean rank of all proxies does.
        best_single: The proxy that does best in the test, which could not be known before.
        single: How well it does.
        gain: The lead of the ensemble over the best single proxy, in Spearman correlation.
    """

    members: tuple[str, ...]
    networks: int
    quality: RankQuality
    all_members: RankQuality
    best_single: str
    single: RankQuality
    gain: Estimate | None

    @property
    def text(self) -> str:
        """The ensemble as `firstlight rank --by` takes it."""
        return f"rank_mean({','.join(self.members)})"

    def to_dict(self) -> dict[str, Any]:
        gain = None if self.gain is None else {"value": self.gain.value, "ci": [self.gain.low, self.gain.high]}
        return {
            "members": list(self.members),
            "ensemble": self.text,
            "networks": self.networks,
            "judged": self.quality.to_dict(),
            "all_proxies": self.all_members.to_dict(),
            "best_single": self.best_single,
            "single": self.single.to_dict(),
            "gain": gain,
        }


def mostly_scored(values: Numbers) -> bool:
    """Return True if a proxy scores more than half of the networks; others are not considered."""
    return bool(np.isfinite(values).mean() > 0.5)


def mean_rank(utilities: Mapping[str, Numbers], members: Sequence[str]) -> Numbers:
    """Return the mean over members of each network's rank, as a share; networks without a score rank lowest."""
    mean: Numbers = np.mean([_shares(utilities[name]) for name in members], axis=0)
    return mean


def _shares(values: Numbers) -> Numbers:
    return ranks(np.nan_to_num(values, nan=-np.inf)) / len(values)


def choose_members(utilities: Mapping[str, Numbers], truth: Numbers, *, limit: int = LARGEST) -> list[str]:
    """Choose proxies greedily by the Spearman correlation of their mean rank, until none improves it."""
    shares = {name: _shares(values) for name, values in utilities.items()}
    chosen: list[str] = []
    together = np.zeros_like(truth)
    reached = -math.inf
    while len(chosen) < limit:
        rest = [name for name in shares if name not in chosen]
        best, name = max(
            ((_correlation(together + shares[name], truth), name) for name in rest), default=(-math.inf, "")
        )
        if best <= reached:
            break
        chosen.append(name)
        together = together + shares[name]
        reached = best
    return chosen


def judge_ensemble(
    utilities: Mapping[str, Numbers],
    truth: Numbers,
    *,
    groups: Groups | None = None,
    seed: int = 0,
    resamples: int | None = None,
) -> JudgedEnsemble | None:
    """Choose an ensemble on one half and test it on the other; groups are not split.

    Returns None if there are too few networks, or no proxies to choose from.
    """
    groups = np.arange(len(truth)) if groups is None else groups
    known = np.flatnonzero(np.isfinite(truth))
    shuffled = np.random.default_rng(derive(seed, "halves")).permutation(np.unique(groups[known]))
    in_first = np.isin(groups[known], shuffled[: len(shuffled) // 2])
    first, second = known[in_first], known[~in_first]
    fit = {name: values for name, values in utilities.items() if mostly_scored(values[known])}
    if min(len(first), len(second)) < FEWEST or not fit:
        return None
    members = choose_members({name: values[first] for name, values in fit.items()}, truth[first])
    judged = {name: values[second] for name, values in fit.items()}
    held_out = truth[second]

    def quality(values: Numbers) -> RankQuality:
        return rank_quality(values, held_out, groups=groups[second], seed=seed, resamples=resamples)

    alone = {name: quality(values) for name, values in judged.items()}
    defined = {name: found for name, found in alone.items() if found.estimates}
    if not members or not defined:
        return None
    best = max(defined, key=lambda name: defined[name].estimates["spearman"].value)
    together = mean_rank(judged, members)
    return JudgedEnsemble(
        members=tuple(members),
        networks=len(second),
        quality=quality(together),
        all_members=quality(mean_rank(judged, list(judged))),
        best_single=best,
        single=defined[best],
        gain=difference(together, judged[best], held_out, groups=groups[second], seed=seed, resamples=resamples),
    )


def _correlation(values: Numbers, truth: Numbers) -> float:
    found = spearman(values, truth)
    return found if np.isfinite(found) else -math.inf
