"""Which few proxies to ask together: chosen on one half of the networks, judged on the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from firstlight.evaluate.statistics import (
    FEWEST,
    RESAMPLES,
    Estimate,
    Numbers,
    RankQuality,
    difference,
    rank_quality,
    ranks,
    spearman,
)
from firstlight.seeds import derive

LARGEST = 4


@dataclass(frozen=True)
class JudgedEnsemble:
    """Members chosen on one half of the networks; how their mean rank and each proxy alone do on the other.

    `best_single` is the proxy that does best there, which nobody could have known before; `gain` is the ensemble's lead
    over it.
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
        """As `firstlight rank --by` takes it."""
        return f"rank_mean({','.join(self.members)})"

    def as_json(self) -> dict[str, Any]:
        gain = None if self.gain is None else {"value": self.gain.value, "ci": [self.gain.low, self.gain.high]}
        return {
            "members": list(self.members),
            "ensemble": self.text,
            "networks": self.networks,
            "judged": self.quality.as_json(),
            "all_proxies": self.all_members.as_json(),
            "best_single": self.best_single,
            "single": self.single.as_json(),
            "gain": gain,
        }


def mean_rank(utilities: Mapping[str, Numbers], members: Sequence[str]) -> Numbers:
    """The mean over members of each network's rank, as a share; networks without a score rank lowest."""
    columns = [ranks(np.nan_to_num(utilities[name], nan=-np.inf)) / len(utilities[name]) for name in members]
    mean: Numbers = np.mean(columns, axis=0)
    return mean


def choose_members(utilities: Mapping[str, Numbers], truth: Numbers, *, limit: int = LARGEST) -> list[str]:
    """One after the other, the proxy that lifts the Spearman correlation of the mean rank most; until none does."""
    chosen: list[str] = []
    reached = -1.0
    while len(chosen) < limit:
        rest = [name for name in utilities if name not in chosen]
        scored = [(_correlation(mean_rank(utilities, [*chosen, name]), truth), name) for name in rest]
        best, name = max(scored, default=(-1.0, ""))
        if best <= reached:
            break
        chosen.append(name)
        reached = best
    return chosen


def judge_ensemble(
    utilities: Mapping[str, Numbers], truth: Numbers, *, seed: int = 0, resamples: int = RESAMPLES
) -> JudgedEnsemble | None:
    """None if there are too few networks to halve, or nothing to choose from."""
    known = np.isfinite(truth)
    order = np.random.default_rng(derive(seed, "halves")).permutation(np.flatnonzero(known))
    first, second = order[: len(order) // 2], order[len(order) // 2 :]
    fit = {name: values for name, values in utilities.items() if np.isfinite(values[order]).sum() > len(order) / 2}
    if len(first) < FEWEST or not fit:
        return None
    members = choose_members({name: values[first] for name, values in fit.items()}, truth[first])
    judged = {name: values[second] for name, values in fit.items()}
    held_out = truth[second]
    alone = {name: rank_quality(values, held_out, seed=seed, resamples=resamples) for name, values in judged.items()}
    defined = {name: found for name, found in alone.items() if found.estimates}
    if not members or not defined:
        return None
    best = max(defined, key=lambda name: defined[name].estimates["spearman"].value)
    together = mean_rank(judged, members)
    return JudgedEnsemble(
        members=tuple(members),
        networks=len(second),
        quality=rank_quality(together, held_out, seed=seed, resamples=resamples),
        all_members=rank_quality(mean_rank(judged, list(judged)), held_out, seed=seed, resamples=resamples),
        best_single=best,
        single=defined[best],
        gain=difference(together, judged[best], held_out, seed=seed, resamples=resamples),
    )


def _correlation(values: Numbers, truth: Numbers) -> float:
    found = spearman(values, truth)
    return found if np.isfinite(found) else -1.0
