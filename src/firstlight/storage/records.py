"""What the store holds, as values."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import Any

from firstlight.probe.cost import Cost


@dataclass(frozen=True)
class ScoreKey:
    """Everything that a score depends on."""

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
    """Everything that the accuracy of a trained network depends on."""

    space: str
    skeleton: str
    architecture: str
    data: str
    recipe: str
    seed: int
    revision: int


@dataclass(frozen=True)
class Trial:
    """One network looked at in a run: what it costs, how well it did (None: no score, or none yet), and when.

    The cost is None of one that could not be built: it has no score, either.
    """

    architecture: str
    cost: Cost | None
    utility: float | None
    elapsed: float
    expensive_costs: dict[str, float] = field(default_factory=dict)  # those that not every run asks for

    def amount(self, cost: str) -> float:
        """How much it costs; infinitely much if it could not be built."""
        return float(self.expensive_costs[cost] if cost in self.expensive_costs else getattr(self.cost, cost, math.inf))

    def to_dict(self) -> dict[str, Any]:
        costs = None if self.cost is None else asdict(self.cost) | self.expensive_costs
        return {"architecture": self.architecture, "utility": self.utility, "cost": costs, "elapsed": self.elapsed}


@dataclass(frozen=True)
class Run:
    id: int
    settings: dict[str, Any]
    version: str
    started: str
    finished: str | None
    result: dict[str, Any] | None
