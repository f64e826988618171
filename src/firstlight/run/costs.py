"""What networks cost, as far as a search asks: counted, measured here, or looked up."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Protocol

from firstlight.errors import UnknownNameError
from firstlight.run.in_space import Surroundings
from firstlight.spaces import Architecture

# each with its unit, the cheapest to find out first
UNITS = {
    "params": "parameters",
    "macs": "MACs",
    "activations": "activations",
    "memory": "bytes of memory",
    "latency": "ms of latency",
}
# known of every network without so much as a look at it
CHEAP = ("params", "macs")


class LatencySource(Protocol):
    """Where milliseconds for one input come from."""

    measures: bool  # rather than looks up

    def milliseconds(self, architecture: Architecture) -> float: ...


class Costs:
    """Each amount is found out when it is asked for: the dear ones only for networks that pass by the others.

    Nothing but a latency that is measured needs a network with weights.
    """

    def __init__(self, setting: Surroundings, latency: LatencySource | None = None) -> None:
        self._setting = setting
        self._latency = latency
        self._counted = functools.lru_cache(maxsize=1024)(self._count)
        self._footprint = functools.lru_cache(maxsize=1024)(self._measure_footprint)

    @property
    def measures_latency(self) -> bool:
        return self._latency is not None and self._latency.measures

    def amount(self, architecture: Architecture, name: str) -> float:
        """How much a network costs of what `UNITS` names."""
        if name in CHEAP:
            return int(getattr(self._counted(architecture), name))
        if name in ("activations", "memory"):
            return int(getattr(self._footprint(architecture), name))
        if name == "latency":
            assert self._latency is not None  # whoever asks for a latency says where it comes from
            return self._latency.milliseconds(architecture)
        raise UnknownNameError("cost", name, UNITS)

    def amounts(self, architecture: Architecture, names: Iterable[str]) -> dict[str, float]:
        return {name: self.amount(architecture, name) for name in names}

    def _count(self, architecture: Architecture) -> object:
        return self._setting.space.cost(architecture, self._setting.skeleton)

    def _measure_footprint(self, architecture: Architecture) -> object:
        return self._setting.space.footprint(architecture, self._setting.skeleton)


def read_costs(names: Iterable[str]) -> tuple[str, ...]:
    """Names of costs as given, each once."""
    found = tuple(dict.fromkeys(name.strip() for name in names))
    for name in found:
        if name not in UNITS:
            raise UnknownNameError("cost", name, UNITS)
    return found


def written(name: str, amount: float) -> str:
    """An amount with its unit."""
    return f"{amount:.3g} {UNITS[name]}" if name == "latency" else f"{amount:,.0f} {UNITS[name]}"
