"""What a search maximizes, and what a network may cost."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass

from firstlight.core.amounts import in_question, parse_amount
from firstlight.core.errors import LimitError, SettingError
from firstlight.proxies.base import NetworkScore
from firstlight.proxies.ensembles import Criterion, Ensemble, utilities
from firstlight.scoring.costs import CHEAP, UNITS


@dataclass(frozen=True)
class Limits:
    """The largest and the smallest cost that a network may have; None means no limit."""

    max_params: int | None = None
    max_macs: int | None = None
    min_params: int | None = None
    min_macs: int | None = None
    max_activations: int | None = None
    max_memory: int | None = None
    max_latency: float | None = None

    def __post_init__(self) -> None:
        for name, (least, most) in self.bounds.items():
            if least is not None and most is not None and least > most:
                raise LimitError(f"No network has at least {least:,} and at most {most:,} {UNITS[name]}.")

    @functools.cached_property
    def bounds(self) -> dict[str, tuple[float | None, float | None]]:
        """The least and the most of each limited cost, the cheapest to find out first."""
        found = {name: (getattr(self, f"min_{name}", None), getattr(self, f"max_{name}")) for name in UNITS}
        return {name: bounds for name, bounds in found.items() if bounds != (None, None)}

    def excess(self, amount: Callable[[str], float]) -> float:
        """Return by which share of its limit the worst cost is out of bounds; 0 for a network within the limits.

        Args:
            amount: Returns the amount of a cost by its name. Expensive costs are asked for one by one, as long as
                everything before them is within bounds.
        """
        worst = max((self._excess(name, amount) for name in CHEAP if name in self.bounds), default=0.0)
        for name in self.bounds:
            if worst or name in CHEAP:
                continue
            worst = self._excess(name, amount)
        return worst

    def _excess(self, name: str, amount: Callable[[str], float]) -> float:
        least, most = self.bounds[name]
        found = amount(name)
        if found == math.inf:  # it cannot be built or run, or its cost is unknown
            return math.inf
        if most is not None and found > most:
            return (found - most) / max(most, 1e-9)
        return (least - found) / least if least is not None and found < least else 0.0

    def to_dict(self) -> dict[str, float]:
        return {name: limit for name, limit in asdict(self).items() if limit is not None}

    def __str__(self) -> str:
        words = [
            f"{word} {limit:,} {UNITS[name]}"
            for name, bounds in self.bounds.items()
            for word, limit in zip(("at least", "at most"), bounds, strict=True)
            if limit is not None
        ]
        return " and ".join(words) or "no limits"


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


def parse_limits(**limits: str | float | None) -> Limits:
    """Read limits as people write them, by the names of `Limits`. Units of memory and latency may be left out."""
    amounts = {
        name: parse_amount(limit, unit="B" if name == "max_memory" else "", name=name)
        for name, limit in limits.items()
        if name != "max_latency"
    }
    return Limits(**amounts, max_latency=_milliseconds(limits.get("max_latency")))


def _milliseconds(text: str | float | None) -> float | None:
    if text is None:
        return None
    if isinstance(text, (int, float)) and math.isfinite(text) and text > 0:
        return float(text)
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(?:ms)?\s*", str(text))
    if not match or not float(match[1]):
        raise SettingError(
            f"{in_question('max_latency')}{text!r} is not a latency. Write milliseconds, such as 5 or 2.5ms."
        )
    return float(match[1])
