"""What a search maximises, and what a network may cost."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

from firstlight.algorithms.ensembles import Criterion, Ensemble, utilities
from firstlight.cost import Cost
from firstlight.errors import SettingError
from firstlight.run.scoring import NetworkScore

_SUFFIXES = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}


@dataclass(frozen=True)
class Limits:
    """The largest cost a network may have; None means no limit."""

    max_params: int | None = None
    max_macs: int | None = None

    def allow(self, cost: Cost) -> bool:
        return (self.max_params is None or cost.params <= self.max_params) and (
            self.max_macs is None or cost.macs <= self.max_macs
        )

    def __str__(self) -> str:
        limits = {"parameters": self.max_params, "MACs": self.max_macs}
        return (
            " and ".join(f"at most {limit:,} {name}" for name, limit in limits.items() if limit is not None)
            or "no limits"
        )


@dataclass(frozen=True)
class Objective:
    """A proxy or an ensemble, oriented so that more is better, under limits."""

    by: Criterion
    limits: Limits = Limits()

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


def parse_amount(text: str | float | None) -> int | None:
    """A count as people write it: `850000`, `1.0M`, `450k`, `1.2G`."""
    if text is None:
        return None
    written = str(int(text)) if isinstance(text, (int, float)) and math.isfinite(text) else str(text)
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?(?:e\d\d?)?)\s*([kmg]?)\s*", written.lower())
    if not match:
        raise SettingError(f"{text!r} is not an amount. Write a number such as 850000, 450k, 1.0M or 1.2G.")
    return round(Decimal(match[1]) * _SUFFIXES[match[2]])
