"""The pool: the networks that a search has scored, ranked again whenever an algorithm asks."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from firstlight.proxies.base import NetworkScore
from firstlight.proxies.ensembles import Criterion, Ensemble, member_utilities, members


class Pool:
    """The texts of all scored networks, and their utility by every member of the criterion.

    Nothing else is kept, so that a search may score hundreds of thousands. An ensemble ranks all of them together:
    every network that joins may change the utility of the others.

    Attributes:
        by: The proxy or ensemble.
    """

    def __init__(self, by: Criterion) -> None:
        self.by = by
        self._places: dict[str, int] = {}
        # a row for each member, so that what is compared is contiguous
        self._by_member = np.empty((len(members(by)), 64))
        self._ranks = np.empty_like(self._by_member)

    def __len__(self) -> int:
        return len(self._places)

    def __contains__(self, text: object) -> bool:
        return text in self._places

    @property
    def texts(self) -> list[str]:
        """The texts of the architectures, in the order in which they were scored."""
        return list(self._places)

    @property
    def member_utilities(self) -> NDArray[np.float64]:
        """A row for each network and a column for each member: higher is better, -inf without a score."""
        return self._by_member[:, : len(self)].T

    def add(self, network: NetworkScore) -> None:
        """Add a scored network, or replace its scores."""
        utilities = member_utilities(self.by, [network])[0]
        known = self._places.get(network.architecture)
        if known is None:
            self._join(network.architecture, utilities)
        elif not np.array_equal(self._by_member[:, known], utilities):
            from scipy.stats import rankdata  # slow to import, and hardly ever needed

            self._by_member[:, known] = utilities
            self._ranks[:, : len(self)] = rankdata(self._by_member[:, : len(self)], axis=1)
        self.__dict__.pop("_utilities", None)

    def _join(self, text: str, utilities: NDArray[np.float64]) -> None:
        """Ranks are those of `scipy.stats.rankdata`: from 1, and equals share the mean of theirs."""
        count = len(self)
        if count == self._by_member.shape[1]:
            self._by_member, self._ranks = (
                np.concatenate([array, np.empty_like(array)], axis=1) for array in (self._by_member, self._ranks)
            )
        if isinstance(self.by, Ensemble):
            others = self._by_member[:, :count]
            equal, above = others == utilities[:, None], others > utilities[:, None]
            self._ranks[:, :count] += above + 0.5 * equal
            self._ranks[:, count] = count - above.sum(axis=1) - equal.sum(axis=1) / 2 + 1
        self._by_member[:, count] = utilities
        self._places[text] = count

    @functools.cached_property
    def _utilities(self) -> NDArray[np.float64]:
        """The utility of each network, in the order of `texts`: higher is better, -inf without any score."""
        if not isinstance(self.by, Ensemble):
            return self._by_member[0, : len(self)].copy()
        found = self.by.aggregate(self._ranks[:, : len(self)].T / max(len(self), 1))
        return np.where((self.member_utilities > -math.inf).any(axis=1), found, -math.inf)

    def utility(self, text: str) -> float | None:
        """Return the utility of a network; None without any score."""
        return _or_none(self._utilities[self._places[text]])

    def utilities_of(self, texts: Iterable[str]) -> NDArray[np.float64]:
        """Return the utility of some networks; -inf without any score."""
        return self._utilities[[self._places[text] for text in texts]]

    def best(self, count: int | None = None) -> list[str]:
        """Return the texts of the `count` best networks, best first and those without a score last; by default of all.

        The text decides between equals, so that the order does not depend on that of arrival.
        """
        count = len(self) if count is None else min(count, len(self))
        if not count:
            return []
        least = np.partition(self._utilities, len(self) - count)[len(self) - count]
        texts = self.texts
        places = np.flatnonzero(self._utilities >= least)
        return [texts[place] for place in sorted(places, key=lambda p: (-self._utilities[p], texts[p]))[:count]]

    def utilities(self) -> dict[str, float | None]:
        """Return the utility of every network by its text; None without any score."""
        return dict(zip(self._places, map(_or_none, self._utilities), strict=True))


def _or_none(utility: float) -> float | None:
    return float(utility) if utility > -math.inf else None
