"""The networks that a search has scored: kept small, and ranked anew as often as an algorithm likes."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from firstlight.proxies.base import NetworkScore
from firstlight.proxies.ensembles import Criterion, Ensemble, members, worths


class Pool:
    """Texts, and how good each network is by every member of the criterion.

    Nothing else is kept, so that a search may score hundreds of thousands. An ensemble judges all of them together:
    every network that joins may change what the others are worth, and moves those that it beats up by one rank.
    """

    def __init__(self, by: Criterion) -> None:
        self.by = by
        self._places: dict[str, int] = {}
        # a row for each member, so that what is compared lies together
        self._worths = np.empty((len(members(by)), 64))
        self._ranks = np.empty_like(self._worths)

    def __len__(self) -> int:
        return len(self._places)

    @property
    def texts(self) -> list[str]:
        """In the order in which they came."""
        return list(self._places)

    @property
    def worths(self) -> NDArray[np.float64]:
        """One row for each network, one column for each member: higher is better, -inf without a score."""
        return self._worths[:, : len(self)].T

    def add(self, network: NetworkScore) -> None:
        worth = worths(self.by, [network])[0]
        known = self._places.get(network.architecture)
        if known is None:
            self._join(network.architecture, worth)
        elif not np.array_equal(self._worths[:, known], worth):
            from scipy.stats import rankdata  # slow to import, and hardly ever needed

            self._worths[:, known] = worth
            self._ranks[:, : len(self)] = rankdata(self._worths[:, : len(self)], axis=1)
        self.__dict__.pop("merits", None)

    def _join(self, text: str, worth: NDArray[np.float64]) -> None:
        """Ranks are those of `scipy.stats.rankdata`: from 1, and equals share the mean of theirs."""
        count = len(self)
        if count == self._worths.shape[1]:
            self._worths, self._ranks = (
                np.concatenate([array, np.empty_like(array)], axis=1) for array in (self._worths, self._ranks)
            )
        if isinstance(self.by, Ensemble):
            others = self._worths[:, :count]
            equal, above = others == worth[:, None], others > worth[:, None]
            self._ranks[:, :count] += above + 0.5 * equal
            self._ranks[:, count] = count - above.sum(axis=1) - equal.sum(axis=1) / 2 + 1
        self._worths[:, count] = worth
        self._places[text] = count

    @functools.cached_property
    def merits(self) -> NDArray[np.float64]:
        """How good each network is, in the order of `texts`: higher is better, -inf without any score."""
        if not isinstance(self.by, Ensemble):
            return self._worths[0, : len(self)].copy()
        found = self.by.aggregate(self._ranks[:, : len(self)].T / max(len(self), 1))
        return np.where((self.worths > -math.inf).any(axis=1), found, -math.inf)

    def utility(self, text: str) -> float | None:
        """How good one network is; None without any score."""
        return _or_none(self.merits[self._places[text]])

    def merits_of(self, texts: Iterable[str]) -> NDArray[np.float64]:
        return self.merits[[self._places[text] for text in texts]]

    def best(self, count: int | None = None) -> list[str]:
        """The best ones in order, and those without a score last; of equals, that with the smaller text comes first.

        So the order does not depend on that of arrival.
        """
        count = len(self) if count is None else min(count, len(self))
        if not count:
            return []
        least = np.partition(self.merits, len(self) - count)[len(self) - count]
        texts = self.texts
        places = np.flatnonzero(self.merits >= least)
        return [texts[place] for place in sorted(places, key=lambda p: (-self.merits[p], texts[p]))[:count]]

    def utilities(self) -> dict[str, float | None]:
        return dict(zip(self._places, map(_or_none, self.merits), strict=True))


def _or_none(merit: float) -> float | None:
    return float(merit) if merit > -math.inf else None
