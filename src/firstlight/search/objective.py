"""What a search maximises, and what a network may cost."""

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
        """Of each limited cost the least and the most, the cheapest to find out first."""
        found = {name: (getattr(self, f"min_{name}", None), getattr(self, f"max_{name}")) for name in UNITS}
        return {name: bounds for name, bounds in found.items() if bounds != (None, None)}

    def excess(self, amount: Callable[[str], float]) -> float:
        """By which share the cost that is furthest out of bounds is so; 0 for a network within the limits.

        What is dear to find out is asked for one after the other, as long as everything before it is within bounds.
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
        if found == math.inf:  # it cannot be built or run, or nobody knows how it does
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


def parse_limits(**limits: str | float | None) -> Limits:
    """Limits as people write them, by the names of `Limits`; units of memory and latency may be left out."""
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
