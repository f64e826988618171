"""The cost of networks: counted, measured on this machine, or looked up."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable
from dataclasses import asdict
from typing import Literal, Protocol

from firstlight.core.errors import MissingExtraError, SettingError, StoreError, UnknownNameError
from firstlight.options import FLOAT32, INT8, UNITS
from firstlight.probe.deployment import count_flash, count_ram
from firstlight.proxies.base import Score
from firstlight.spaces.base import Architecture
from firstlight.spaces.in_space import Surroundings

Kind = Literal["counted", "footprint", "deployed", "latency"]
# What is computed together
_FOUND_WITH: dict[str, Kind] = {
    "params": "counted",
    "macs": "counted",
    "activations": "footprint",
    "memory": "footprint",
    "flash": "deployed",
    "ram": "deployed",
    "latency": "latency",
}


class LatencySource(Protocol):
    """A source of latencies: milliseconds for one input."""

    measures: bool  # False if latencies are looked up

    def milliseconds(self, architecture: Architecture) -> float: ...


class Costs:
    """The costs of networks, computed on demand, so that expensive ones are computed only where they are needed.

    Only measured latencies need a network with weights. `failure` names the first network that could not be built or
    run, with the reason. Flash and RAM are those of networks with the given precision.
    """

    def __init__(self, setting: Surroundings, latency: LatencySource | None = None, precision: str = FLOAT32) -> None:
        self._setting = setting
        self._latency = latency
        self._int8 = precision == INT8
        self._found = functools.lru_cache(maxsize=1024)(self._find)
        self.failure = ""

    @property
    def measures_latency(self) -> bool:
        return self._latency is not None and self._latency.measures

    def amount(self, architecture: Architecture, name: str) -> float:
        """Return one cost of a network, by its name in `UNITS`; infinity if the network cannot be built or run."""
        if name not in UNITS:
            raise UnknownNameError("cost", name, UNITS)
        return self._found(architecture, _FOUND_WITH[name]).get(name, math.inf)

    def amounts(self, architecture: Architecture, names: Iterable[str]) -> dict[str, float]:
        return {name: self.amount(architecture, name) for name in names}

    def _find(self, architecture: Architecture, kind: Kind) -> dict[str, float]:
        """Return the costs that are computed together; none if the network cannot be built or run."""
        space, skeleton = self._setting.space, self._setting.skeleton
        try:
            if kind == "latency":
                assert self._latency is not None  # a limit on latency comes with a source
                return {"latency": self._latency.milliseconds(architecture)}
            if kind == "deployed":
                graph = space.graph(architecture, skeleton)
                return {"flash": count_flash(graph, int8=self._int8), "ram": count_ram(graph, int8=self._int8)}
            return asdict(
                space.cost(architecture, skeleton) if kind == "counted" else space.footprint(architecture, skeleton)
            )
        except (MissingExtraError, SettingError, StoreError):  # they concern all networks
            raise
        except Exception as error:  # the user's own space may raise anything
            self.failure = self.failure or f"{architecture}: {Score.of_error(error).note}"
            return {}


def read_costs(names: Iterable[str]) -> tuple[str, ...]:
    """Return the names of costs without duplicates; raises `UnknownNameError` for other names."""
    found = tuple(dict.fromkeys(name.strip() for name in names))
    for name in found:
        if name not in UNITS:
            raise UnknownNameError("cost", name, UNITS)
    return found


def written(name: str, amount: float) -> str:
    """Return an amount with its unit."""
    return f"{amount:.3g} {UNITS[name]}" if name == "latency" else f"{amount:,.0f} {UNITS[name]}"
