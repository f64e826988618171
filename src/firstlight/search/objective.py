"""What a search maximizes, and what a network may cost."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from firstlight.options import Limits
from firstlight.proxies.base import NetworkScore
from firstlight.proxies.ensembles import Criterion, Ensemble, utilities


@dataclass(frozen=True)
class Objective:
    """What a search maximizes.

    Attributes:
        by: The proxy or ensemble. Its direction does not matter: utilities are such that higher is better.
        limits: What a network may cost.
        costs: The costs that are minimized besides.
    """

    by: Criterion
    limits: Limits = Limits()
    costs: tuple[str, ...] = ()

    def utility(self, network: NetworkScore) -> float | None:
        """Return the utility of a network alone: None by an ensemble, which ranks all networks of a pool."""
        return None if isinstance(self.by, Ensemble) else utilities(self.by, [network])[0]


@dataclass(frozen=True)
class Candidate:
    """A scored network.

    Attributes:
        network: Its scores and costs.
        utility: Higher is better; None without a score, and by an ensemble, which ranks all networks of a pool.
    """

    network: NetworkScore
    utility: float | None


def best_first(by: Criterion, networks: Iterable[NetworkScore]) -> list[Candidate]:
    """Return networks in the order of their utility, and those without a score last.

    The text decides between equals, so that the order does not depend on that of arrival.
    """
    pool = sorted(networks, key=lambda network: network.architecture)
    candidates = map(Candidate, pool, utilities(by, pool))
    return sorted(candidates, key=lambda c: math.inf if c.utility is None else -c.utility)
