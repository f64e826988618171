"""The networks that a search has scored: kept small, and ranked anew as often as an algorithm likes."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from firstlight.algorithms.ensembles import Criterion, judge, members, worths
from firstlight.run.scoring import NetworkScore


class Pool:
    """Texts, and how good each network is by every member of the criterion.

    Nothing else is kept, so that a search may score hundreds of thousands. An ensemble judges all of them together:
    every network that joins may change what the others are worth.
    """

    def __init__(self, by: Criterion) -> None:
        self.by = by
        self._places: dict[str, int] = {}
        self._worths = np.empty((64, len(members(by))))

    def __len__(self) -> int:
        return len(self._places)

    @property
    def texts(self) -> list[str]:
        """In the order in which they came."""
        return list(self._places)

    @property
    def worths(self) -> NDArray[np.float64]:
        """One row for each network, one column for each member: higher is better, -inf without a score."""
        return self._worths[: len(self)]

    def add(self, network: NetworkScore) -> None:
        place = self._places.setdefault(network.architecture, len(self))
        if place == len(self._worths):
            self._worths = np.concatenate([self._worths, np.empty_like(self._worths)])
        self._worths[place] = worths(self.by, [network])[0]
        self.__dict__.pop("merits", None)

    @functools.cached_property
    def merits(self) -> NDArray[np.float64]:
        """How good each network is, in the order of `texts`: higher is better, -inf without any score."""
        return judge(self.by, self.worths)

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
