"""The records of the store."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import Any

from firstlight.probe.cost import Cost


@dataclass(frozen=True)
class ScoreKey:
    """Everything that a score depends on: the key under which it is stored."""

    space: str
    skeleton: str
    architecture: str
    proxy: str
    revision: int
    input: str
    seed: int

    def as_tuple(self) -> tuple[str | int, ...]:
        return self.space, self.skeleton, self.architecture, self.proxy, self.revision, self.input, self.seed


@dataclass(frozen=True)
class EvaluationKey:
    """Everything that the accuracy of a trained network depends on: the key under which it is stored."""

    space: str
    skeleton: str
    architecture: str
    data: str
    recipe: str
    seed: int
    revision: int


@dataclass(frozen=True)
class Trial:
    """A network that a run has scored.

    Attributes:
        architecture: The text of the architecture.
        cost: The cost; None if the network could not be built. It then has no score either.
        utility: What the search maximizes; None without a score.
        elapsed: Seconds from the start of the run.
        expensive_costs: Costs that not every run needs, such as memory and latency.
    """

    architecture: str
    cost: Cost | None
    utility: float | None
    elapsed: float
    expensive_costs: dict[str, float] = field(default_factory=dict)

    def amount(self, cost: str) -> float:
        """Return a cost by name; infinity if the network could not be built."""
        return float(self.expensive_costs[cost] if cost in self.expensive_costs else getattr(self.cost, cost, math.inf))

    def to_dict(self) -> dict[str, Any]:
        costs = None if self.cost is None else asdict(self.cost) | self.expensive_costs
        return {"architecture": self.architecture, "utility": self.utility, "cost": costs, "elapsed": self.elapsed}


@dataclass(frozen=True)
class Run:
    """A search.

    Attributes:
        id: The number of the run in its store.
        settings: What was asked for.
        version: The version of Firstlight that started it.
        started: When it started, in UTC.
        finished: When it finished; None if it did not.
        result: The result so far; None if there is none.
    """

    id: int
    settings: dict[str, Any]
    version: str
    started: str
    finished: str | None
    result: dict[str, Any] | None
