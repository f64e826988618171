"""What a search algorithm sees: a space to draw from, a way to score, and a budget. Nothing of stores or executors."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from firstlight.algorithms.objective import Objective
from firstlight.errors import LimitError
from firstlight.run.scoring import NetworkScore, ScoreService
from firstlight.spaces import Architecture, Space

# How many draws in a row may bring nothing new before the space counts as exhausted
PATIENCE = 20_000


@dataclass(frozen=True)
class Candidate:
    """A scored network, and how good it is: higher is better, minus infinity if it has no score."""

    network: NetworkScore
    utility: float


class Problem:
    """`budget` is the number of networks that may be scored; `watch` is told of each one."""

    def __init__(
        self,
        service: ScoreService,
        objective: Objective,
        rng: random.Random,
        budget: int,
        watch: Callable[[Candidate], None] = lambda candidate: None,
    ) -> None:
        self.rng = rng
        self.objective = objective
        self.budget = budget
        self.best: Candidate | None = None
        self.scored = 0
        self._service = service
        self._watch = watch

    @property
    def space(self) -> Space[Any]:
        return self._service.setting.space

    @property
    def remaining(self) -> int:
        return self.budget - self.scored

    def fits(self, architecture: Architecture) -> bool:
        return self.objective.limits.allow(self.space.cost(architecture, self._service.setting.skeleton))

    def score(self, architectures: Iterable[Architecture]) -> Iterator[Candidate]:
        """Score different architectures, as many as the budget still allows, as they become known."""
        texts = (str(architecture) for architecture, _ in zip(architectures, range(self.remaining), strict=False))
        for network in self._service.scores(texts):
            candidate = Candidate(network, self.objective.utility(network))
            self.scored += 1
            # ties go to the earlier text, so that the order of arrival does not decide
            if self.best is None or _rank(candidate) < _rank(self.best):
                self.best = candidate
            self._watch(candidate)
            yield candidate

    def distinct_samples(self) -> Iterator[Architecture]:
        """Random architectures within the limits, no two of which compute the same function."""
        seen: set[Architecture] = set()
        smallest: dict[str, int] = {}
        misses = 0
        while misses < PATIENCE:
            misses += 1
            architecture = self.space.canonical(self.space.sample(self.rng))
            if architecture in seen:
                continue
            seen.add(architecture)
            if self.fits(architecture):
                misses = 0
                smallest.clear()
                yield architecture
            elif self.objective.limits and not self.scored:
                cost = self.space.cost(architecture, self._service.setting.skeleton)
                for name, amount in (("parameters", cost.params), ("MACs", cost.macs)):
                    smallest[name] = min(amount, smallest.get(name, amount))
        if smallest and not self.scored:
            found = " and ".join(f"{amount:,} {name}" for name, amount in smallest.items())
            raise LimitError(
                f"No network of {self.space.name!r} met the limits ({self.objective.limits}) in {PATIENCE:,} draws. "
                f"The smallest seen had {found}; raise the limits or choose a smaller skeleton."
            )


def _rank(candidate: Candidate) -> tuple[float, str]:
    return -candidate.utility if not math.isnan(candidate.utility) else math.inf, candidate.network.architecture
