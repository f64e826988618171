"""What a search maximises, and what a network may cost."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from firstlight.options import Limits
from firstlight.proxies.base import NetworkScore
from firstlight.proxies.ensembles import Criterion, Ensemble, utilities


@dataclass(frozen=True)
class Objective:
    """A proxy or an ensemble, oriented so that more is better, under limits; and costs that are to be low besides."""

    by: Criterion
    limits: Limits = Limits()
    costs: tuple[str, ...] = ()  # what is to be low besides

    def utility(self, network: NetworkScore) -> float | None:
        """What can be said of the network alone: nothing by an ensemble, which judges all networks of a pool."""
        return None if isinstance(self.by, Ensemble) else utilities(self.by, [network])[0]


@dataclass(frozen=True)
class Candidate:
    """A scored network, and how good it is: higher is better, None if it has no score or none yet."""

    network: NetworkScore
    utility: float | None


def best_first(by: Criterion, networks: Iterable[NetworkScore]) -> list[Candidate]:
    """The pool in order of merit, and those without a score last.

    Their text decides between equals, so that the order of arrival does not.
    """
    pool = sorted(networks, key=lambda network: network.architecture)
    candidates = map(Candidate, pool, utilities(by, pool))
    return sorted(candidates, key=lambda c: math.inf if c.utility is None else -c.utility)
