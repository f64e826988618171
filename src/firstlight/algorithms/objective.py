"""What a search maximises, and what a network may cost."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

from firstlight.algorithms.ensembles import Criterion, Ensemble, utilities
from firstlight.cost import Cost
from firstlight.errors import LimitError, SettingError
from firstlight.run.scoring import NetworkScore

_SUFFIXES = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}


@dataclass(frozen=True)
class Limits:
    """The largest and the smallest cost that a network may have; None means no limit."""

    max_params: int | None = None
    max_macs: int | None = None
    min_params: int | None = None
    min_macs: int | None = None

    def __post_init__(self) -> None:
        for name, (least, most) in self._bounds.items():
            if least is not None and most is not None and least > most:
                raise LimitError(f"No network has at least {least:,} and at most {most:,} {name}.")

    @property
    def _bounds(self) -> dict[str, tuple[int | None, int | None]]:
        return {"parameters": (self.min_params, self.max_params), "MACs": (self.min_macs, self.max_macs)}

    def allow(self, cost: Cost) -> bool:
        amounts = zip((cost.params, cost.macs), self._bounds.values(), strict=True)
        return all(
            (least is None or amount >= least) and (most is None or amount <= most) for amount, (least, most) in amounts
        )

    def __str__(self) -> str:
        words = [
            f"{word} {limit:,} {name}"
            for name, bounds in self._bounds.items()
            for word, limit in zip(("at least", "at most"), bounds, strict=True)
            if limit is not None
        ]
        return " and ".join(words) or "no limits"


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
