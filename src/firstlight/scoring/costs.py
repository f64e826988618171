"""What networks cost, as far as a search asks: counted, measured here, or looked up."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable
from dataclasses import asdict
from typing import Literal, Protocol

from firstlight.core.errors import MissingExtraError, SettingError, StoreError, UnknownNameError
from firstlight.options import CHEAP, UNITS
from firstlight.proxies.base import Score
from firstlight.spaces.base import Architecture
from firstlight.spaces.in_space import Surroundings


class LatencySource(Protocol):
    """Where milliseconds for one input come from."""

    measures: bool  # rather than looks up

    def milliseconds(self, architecture: Architecture) -> float: ...


class Costs:
    """Each amount is found out when it is asked for: the dear ones only for networks that pass by the others.

    Nothing but a latency that is measured needs a network with weights. `failure` says of the first network that could
    not be built or run which it was, and why.
    """

    def __init__(self, setting: Surroundings, latency: LatencySource | None = None) -> None:
        self._setting = setting
        self._latency = latency
        self._found = functools.lru_cache(maxsize=1024)(self._find)
        self.failure = ""

    @property
    def measures_latency(self) -> bool:
        return self._latency is not None and self._latency.measures

    def amount(self, architecture: Architecture, name: str) -> float:
        """How much a network costs of what `UNITS` names; infinitely much if it cannot be built or run."""
        if name not in UNITS:
            raise UnknownNameError("cost", name, UNITS)
        kind = "counted" if name in CHEAP else "latency" if name == "latency" else "footprint"
        return self._found(architecture, kind).get(name, math.inf)

    def amounts(self, architecture: Architecture, names: Iterable[str]) -> dict[str, float]:
        return {name: self.amount(architecture, name) for name in names}

    def _find(self, architecture: Architecture, kind: Literal["counted", "footprint", "latency"]) -> dict[str, float]:
        """What becomes known together; nothing of a network that cannot be built or run."""
        space, skeleton = self._setting.space, self._setting.skeleton
        try:
            if kind == "latency":
                assert self._latency is not None  # whoever asks for a latency says where it comes from
                return {"latency": self._latency.milliseconds(architecture)}
            return asdict(
                space.cost(architecture, skeleton) if kind == "counted" else space.footprint(architecture, skeleton)
            )
        except (MissingExtraError, SettingError, StoreError):  # which would meet every network
            raise
        except Exception as error:  # whatever a space of the user's own does
            self.failure = self.failure or f"{architecture}: {Score.of_error(error).note}"
            return {}


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
