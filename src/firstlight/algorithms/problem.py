"""What a search algorithm sees: a space to draw from, a way to score, and a budget. Nothing of stores or executors."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from firstlight.algorithms.ensembles import Ensemble, utilities
from firstlight.algorithms.objective import Candidate, Objective, best_first
from firstlight.algorithms.source import Source
from firstlight.errors import LimitError
from firstlight.run.scoring import NetworkScore
from firstlight.spaces import Architecture, Space

# Up to this size a space is gone through in random order instead of being sampled
SMALL_SPACE = 100_000
# How many draws in a row may bring nothing new before a space counts as exhausted
PATIENCE = 20_000


class Problem:
    """`budget` is the number of networks that may be scored; `watch` is told of each one.

    All that were scored are remembered, because an ensemble judges them together: `ranked` and `best` ask it anew.
    """

    def __init__(
        self,
        service: Source,
        objective: Objective,
        rng: random.Random,
        budget: int,
        watch: Callable[[Candidate], None] = lambda candidate: None,
    ) -> None:
        self.rng = rng
        self.objective = objective
        self.budget = budget
        self.scored = 0
        self._pool: dict[str, NetworkScore] = {}
        self._service = service
        self._watch = watch

    @property
    def space(self) -> Space[Any]:
        return self._service.setting.space

    @property
    def remaining(self) -> int:
        return self.budget - self.scored

    def score(self, architectures: Iterable[Architecture]) -> Iterator[Candidate]:
        """Score different architectures, as many as the budget still allows, as they become known."""
        texts = (str(architecture) for _, architecture in zip(range(self.remaining), architectures, strict=False))
        for network in self._service.scores(texts):
            candidate = Candidate(network, self.objective.utility(network))
            self.scored += 1
            self._pool[network.architecture] = network
            self._watch(candidate)
            yield candidate

    def score_all(self, architectures: Iterable[Architecture]) -> list[Candidate]:
        """The same in the order asked, which does not depend on how many workers there are; each one once."""
        asked = list(itertools.islice(architectures, self.remaining))
        found = {candidate.network.architecture: candidate for candidate in self.score(asked)}
        return [found[text] for text in dict.fromkeys(map(str, asked)) if text in found]

    def allows(self, architecture: Architecture) -> bool:
        """Whether the network keeps within the limits, which is known without building it."""
        cost = self.space.cost(architecture, self._service.setting.skeleton)
        return self.objective.limits.allow(cost) and self.space.customary(architecture)

    def best_of(self, candidates: Sequence[Candidate]) -> Candidate:
        """The best of some that were scored; an ensemble judges them among all."""
        merits = self.merits()
        return max(candidates, key=lambda candidate: merits[candidate.network.architecture])

    def worth(self, candidate: Candidate) -> float | None:
        """How good one that was scored is: higher is better, None without a score. An ensemble judges it among all."""
        if candidate.utility is not None or not isinstance(self.objective.by, Ensemble):
            return candidate.utility
        found = self.merits()[candidate.network.architecture]
        return found if math.isfinite(found) else None

    def merits(self) -> dict[str, float]:
        """How good each network scored so far is, by its text: higher is better, and lowest without a score."""
        pool = list(self._pool.values())
        known = utilities(self.objective.by, pool)
        return {
            network.architecture: -math.inf if utility is None else utility
            for network, utility in zip(pool, known, strict=True)
        }

    def ranked(self) -> list[Candidate]:
        """All networks scored so far, best first."""
        return best_first(self.objective.by, self._pool.values())

    @property
    def best(self) -> Candidate | None:
        return next(iter(self.ranked()), None)

    def distinct_samples(self) -> Iterator[Architecture]:
        """Random architectures within the limits, no two of which compute the same function."""
        seen: set[Architecture] = set()
        smallest: dict[str, int] = {}
        found = False
        misses = 0
        patience = math.inf if self._is_small() else PATIENCE
        for architecture in map(self.space.canonical, self._draws()):
            misses += 1
            if misses > patience:
                break
            if architecture in seen:
                continue
            seen.add(architecture)
            cost = self.space.cost(architecture, self._service.setting.skeleton)
            if self.objective.limits.allow(cost):
                found, misses = True, 0
                yield architecture
            for name, amount in (("parameters", cost.params), ("MACs", cost.macs)):
                smallest[name] = min(amount, smallest.get(name, amount))
        if not found:
            least = " and ".join(f"{amount:,} {name}" for name, amount in smallest.items())
            raise LimitError(
                f"No network of {self.space.name!r} was found to meet the limits ({self.objective.limits}) among "
                f"{len(seen):,} different ones. The smallest had {least}; raise the limits or take a smaller skeleton."
            )

    def _draws(self) -> Iterator[Architecture]:
        """A small space once through in random order, so that nothing is missed; a large one at random without end."""
        if self._is_small():
            everything = list(self.space)
            self.rng.shuffle(everything)
            yield from everything
            return
        while True:
            yield self.space.sample(self.rng)

    def _is_small(self) -> bool:
        try:
            return len(self.space) <= SMALL_SPACE
        except (TypeError, OverflowError):  # the space cannot be counted, or is too large for it
            return False
